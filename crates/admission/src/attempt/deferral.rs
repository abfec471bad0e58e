//! Pods that wait for device plugins which are not back yet, where the option `devices.deferSeconds` has them wait.
//!
//! A kubelet refuses such a pod at once, and nothing brings it back. Here it waits if the plugins are all that it lacks:
//! without its requests for their devices it would be admitted. It waits until one of the plugins has been gone for longer
//! than the option says, and is then decided on as a kubelet does. No more pods wait than the node runs: one more is refused as by a
//! kubelet, and its message says why it does not wait.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use device_manager::{Moment, Replies};
use k8s_quantity::Quantity;
use pod_spec::{Container, Pod, ResourceName};

use crate::attempt::Verdict;
use crate::attempt::refusal::Refused;
use crate::ledger::Ledger;
use crate::node::Node;

/// What a deferred pod waits for; shown as a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deferral {
    /// The resources whose plugins are not back, by name; at least one.
    pub resources: Vec<ResourceName>,
    /// When it waits no longer.
    pub until: Moment,
}

impl Deferral {
    /// The reason in the place of one of the kubelet's, which has none.
    pub const REASON: &str = "DevicePluginNotReady";

    /// How much longer it waits.
    #[must_use]
    pub fn left(&self, now: Moment) -> Duration {
        self.until.0.saturating_sub(now.0)
    }
}

impl fmt::Display for Deferral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plugin, is) = if self.resources.len() == 1 { ("plugin", "is") } else { ("plugins", "are") };
        write!(f, "the device {plugin} of ")?;
        for (at, resource) in self.resources.iter().enumerate() {
            write!(f, "{}{resource}", if at == 0 { "" } else { " and " })?;
        }
        write!(
            f,
            " {is} not back yet; the pod is decided on when devices are listed, or after devices.deferSeconds"
        )
    }
}

impl Node {
    /// How long pods wait for a plugin; zero: they do not.
    #[must_use]
    pub const fn defers_for(&self) -> Duration {
        self.options.defer
    }

    /// Until when a resource's plugin is waited for; `None`: it is there, or has been gone for too long.
    #[must_use]
    pub fn waits_for(&self, ledger: &Ledger, resource: &ResourceName, now: Moment) -> Option<Moment> {
        let Moment(since) = ledger.inventory().late_since(resource)?;
        let until = Moment(since.saturating_add(self.options.defer));
        (now < until).then_some(until)
    }

    /// How many pods wait for plugins at most: as many as the node runs (`maxPods`).
    #[must_use]
    pub fn most_deferred(&self) -> usize {
        let pods = self.allocatable.get("pods").map_or(0, Quantity::value);
        usize::try_from(pods).unwrap_or(0)
    }

    /// What a pod that was refused beside what `ledger` holds waits for, where `waiting` other pods wait.
    ///
    /// # Errors
    /// It does not wait. Its refusal, which says so if there are too many other pods that wait.
    pub fn defer(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        refused: Refused,
        now: Moment,
        waiting: usize,
    ) -> Result<Deferral, Box<Refused>> {
        match self.deferral(ledger, pod, replies, now) {
            None => Err(Box::new(refused)),
            Some(deferral) if waiting < self.most_deferred() => Ok(deferral),
            Some(_) => {
                let message = format!(
                    "{}; the pod cannot wait for the device plugin: {waiting} pods wait already, as many as maxPods allows",
                    refused.message
                );
                Err(Box::new(Refused { message, ..refused }))
            }
        }
    }

    /// What a pod that was refused beside what `ledger` holds waits for; `None`: it does not wait.
    #[must_use]
    pub fn deferral(&self, ledger: &Ledger, pod: &Pod, replies: &Replies, now: Moment) -> Option<Deferral> {
        if self.options.defer.is_zero() {
            return None;
        }
        let asked = pod.containers.iter().flat_map(|container| &container.limits);
        let late = asked
            .filter(|(_, limit)| limit.value() > 0)
            .filter_map(|(resource, _)| Some((resource.clone(), self.waits_for(ledger, resource, now)?)));
        let mut late: Vec<(ResourceName, Moment)> = late.collect();
        late.sort_unstable();
        late.dedup();
        let until = late.iter().map(|(_, until)| *until).min()?;
        let resources: Vec<ResourceName> = late.into_iter().map(|(resource, _)| resource).collect();
        let without = Arc::new(self.classified(without(pod, &resources)));
        match self.verdict_under(self.rules_of(pod), ledger.clone(), &without, replies) {
            Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => Some(Deferral { resources, until }),
            Verdict::Refused(_) => None,
        }
    }
}

/// The pod without its requests for these.
fn without(pod: &Pod, resources: &[ResourceName]) -> Pod {
    let mut pod = pod.clone();
    let is_kept = |resource: &ResourceName| !resources.contains(resource);
    pod.containers = pod
        .containers
        .iter()
        .map(|container| {
            let mut container = Container::clone(container);
            container.limits.retain(|resource, _| is_kept(resource));
            container.requests.retain(|resource, _| is_kept(resource));
            container
        })
        .collect();
    pod
}
