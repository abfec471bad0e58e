//! Rules that a pod chooses by annotations, where the option `podPolicy.allow` lets it.
//!
//! `topolet.dev/policy` and `topolet.dev/scope` take the place of the node's policy and scope for this pod
//! alone. `topolet.dev/cpu: exclusive` gives each of its containers, and `exclusive:app,worker` gives these, as
//! many exclusive CPUs as its limit says. Such a container counts with its limit where the requests of all pods
//! are added up: no other pod can use these CPUs. Its memory is not bound, as for all pods that are not
//! Guaranteed.
//!
//! A kubelet ignores the annotations. [`Node::kubelet_again`] says what one would make of the pod after a restart.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use node_config::{DeviceLinks, OwnOptions, Placement, PodChoice, PodPolicy, Scope, TopologyPolicyName};
use pod_spec::{Container, ContainerName, Pod, Wishes};
use topology_policy::KubeletPolicy;

use crate::attempt::{Rules, Verdict};
use crate::ledger::Ledger;
use crate::node::Node;
use crate::node::choice_error::ChoiceError;

/// What a pod has chosen for itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// The policy; `None`: the node's.
    pub policy: Option<KubeletPolicy>,
    /// The scope; `None`: the node's.
    pub scope: Option<Scope>,
    /// Containers that get exclusive CPUs whatever the QoS class.
    pub exclusive: BTreeSet<ContainerName>,
}

/// What a kubelet with the node's configuration makes of a pod when it starts from the node's files.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KubeletAgain {
    /// It admits the pod.
    Admits,
    /// It refuses the pod, for this reason.
    Refuses(crate::Reason),
}

impl Node {
    /// What `pod` chooses; nothing where annotations are ignored.
    ///
    /// # Errors
    /// An annotation that refuses the pod: the first by name.
    pub fn chosen(&self, pod: &Pod) -> Result<Chosen, ChoiceError> {
        let allowed = self.options.pod_policy;
        let mut chosen = Chosen::default();
        if !allowed.is_on() {
            return Ok(chosen);
        }
        for (name, value) in pod.constraints.wishes.iter() {
            match name {
                "policy" => chosen.policy = Some(policy(allowed, value)?),
                "scope" => chosen.scope = Some(scope(allowed, value)?),
                "cpu" => chosen.exclusive = self.exclusive(allowed, pod, value)?,
                // These are for who moves pods and for schedulers, and change no decision.
                Wishes::MOVE | Wishes::ALIGN_CLAIMS => {}
                _ => return Err(ChoiceError::Unknown { name: name.to_owned(), value: value.to_owned() }),
            }
        }
        Ok(chosen)
    }

    /// The rules by which `pod` is decided on: the node's where it chooses none, or none that are allowed.
    #[must_use]
    pub fn rules_of(&self, pod: &Pod) -> Rules {
        let own = self.rules();
        let chosen = self.chosen(pod).unwrap_or_default();
        Rules { policy: chosen.policy.unwrap_or(own.policy), scope: chosen.scope.unwrap_or(own.scope) }
    }

    fn exclusive(
        &self,
        allowed: PodPolicy,
        pod: &Pod,
        value: &str,
    ) -> Result<BTreeSet<ContainerName>, ChoiceError> {
        let (word, names) = match value.split_once(':') {
            Some((word, names)) => (word, Some(names)),
            None => (value, None),
        };
        let choice = PodChoice::ExclusiveCpus;
        if word != choice.value() || !allowed.allows(choice) {
            return Err(not_allowed(allowed, choice.field(), value));
        }
        if self.cpus.is_none() {
            return Err(ChoiceError::NoCpuManager { value: value.to_owned() });
        }
        if pod.has_pod_level_resources() {
            return Err(ChoiceError::PodLevel { value: value.to_owned() });
        }
        let containers: Vec<&Container> = match names {
            None => pod.containers.iter().collect(),
            Some(names) => names
                .split(',')
                .map(|name| {
                    pod.containers.iter().find(|container| container.name.as_str() == name).ok_or_else(|| {
                        ChoiceError::NoContainer { value: value.to_owned(), container: name.to_owned() }
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        let checked = containers.into_iter().map(|container| {
            let limit = container.limits.get("cpu");
            if limit.is_some_and(is_whole) {
                return Ok(container.name.clone());
            }
            let (container, limit) = (container.name.clone(), limit.cloned());
            Err(ChoiceError::NotWhole { value: value.to_owned(), container, limit })
        });
        checked.collect()
    }

    /// The pod as its managers see it: containers with exclusive CPUs that it has chosen request their limit.
    #[must_use]
    pub fn with_chosen<'p>(&self, pod: &'p Pod) -> Cow<'p, Pod> {
        match self.chosen(pod) {
            Ok(chosen) if !chosen.exclusive.is_empty() => Cow::Owned(self.classified(pod.clone())),
            Ok(_) | Err(_) => Cow::Borrowed(pod),
        }
    }

    /// The pod with its QoS class, which every manager would work out anew for every container, and with the exclusive
    /// CPUs that it has chosen.
    pub(crate) fn classified(&self, mut pod: Pod) -> Pod {
        pod.status_qos = Some(pod.qos_class(self.pod_rules));
        let exclusive = self.chosen(&pod).unwrap_or_default().exclusive;
        // The containers are shared with the pod that was cloned, until one is changed.
        if exclusive.is_empty() {
            return pod;
        }
        let mut written = core::mem::take(&mut pod.constraints.exclusive);
        for container in pod.containers.iter_mut().filter(|container| exclusive.contains(&container.name)) {
            let request = written.remove(&container.name);
            let request = request.unwrap_or_else(|| container.requests.get("cpu").cloned());
            if let Some(limit) = container.limits.get("cpu").cloned() {
                container.requests.insert("cpu".into(), limit);
            }
            pod.constraints.exclusive.insert(container.name.clone(), request);
        }
        pod
    }

    /// A pod that was classified, as it was written.
    pub(crate) fn as_written(mut pod: Pod) -> Pod {
        let written = core::mem::take(&mut pod.constraints.exclusive);
        for container in &mut pod.containers {
            match written.get(&container.name) {
                Some(Some(request)) => drop(container.requests.insert("cpu".into(), request.clone())),
                Some(None) => drop(container.requests.remove("cpu")),
                None => {}
            }
        }
        pod
    }

    /// What a kubelet with this configuration, which ignores the annotations, makes of an admitted pod when it starts
    /// from what `after` holds; `None` if the pod has chosen nothing, or a plugin decides.
    #[must_use]
    pub fn kubelet_again(&self, after: &Ledger, pod: &Pod) -> Option<KubeletAgain> {
        if self.chosen(pod).ok()? == Chosen::default() {
            return None;
        }
        let (pod_policy, placement) = (PodPolicy::default(), Placement::default());
        let options = OwnOptions {
            pod_policy,
            placement,
            device_links: DeviceLinks::default(),
            ..self.options.clone()
        };
        let kubelet = Self { options, links: None, ..self.clone() };
        match kubelet.admission(after, pod).attempt().verdict {
            Verdict::Admitted(_) => Some(KubeletAgain::Admits),
            Verdict::Refused(refused) => Some(KubeletAgain::Refuses(refused.reason)),
            Verdict::NeedsPlugin(_) => None,
        }
    }
}

/// A positive number of whole CPUs.
fn is_whole(limit: &Quantity) -> bool {
    limit.value() > 0 && limit.value().checked_mul(1000) == Some(limit.milli_value())
}

fn not_allowed(allowed: PodPolicy, name: &'static str, value: &str) -> ChoiceError {
    ChoiceError::NotAllowed { name, value: value.to_owned(), allowed: allowed.values(name).collect() }
}

fn policy(allowed: PodPolicy, value: &str) -> Result<KubeletPolicy, ChoiceError> {
    let named = TopologyPolicyName::from_name(value);
    let named = named.filter(|policy| allowed.allows(PodChoice::Policy(*policy)));
    named.map(crate::node::by_name).ok_or_else(|| not_allowed(allowed, "policy", value))
}

fn scope(allowed: PodPolicy, value: &str) -> Result<Scope, ChoiceError> {
    let named = Scope::from_name(value).filter(|scope| allowed.allows(PodChoice::Scope(*scope)));
    named.ok_or_else(|| not_allowed(allowed, "scope", value))
}
