//! How many copies of one pod fit a node.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use device_manager::Replies;
use k8s_quantity::{Format, Quantity};
use kubelet_fates::Kubelet;
use pod_spec::{Pod, PodUid, ResourceList, ResourceName};
use topology_admission::{Ledger, Node, Reason, Stale, Verdict};

/// How many copies of a pod fit, and why not one more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// How many were admitted.
    pub fit: usize,
    /// Why the next one was not.
    pub limit: Limit,
    /// The resources of which the node has not enough for the next one, each by itself: a copy that asks for the least of all
    /// others is refused as well. Empty: only together they do not fit, or no resource limits.
    pub limited_by: Vec<ResourceName>,
}

/// Why one more copy of a pod does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Limit {
    /// It would preempt a copy that runs.
    Preempts,
    /// It is refused, for this reason of the kubelet.
    Refused(Reason),
    /// The device plugin of this resource would have to be asked.
    NeedsPlugin(ResourceName),
    /// The kubelet does not simply admit it; what happens instead.
    Fate(String),
    /// The ledger is not the one that the attempt was made against.
    Stale(Stale),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preempts => f.write_str("it would end one of the others"),
            Self::Refused(reason) => reason.fmt(f),
            Self::NeedsPlugin(resource) => write!(f, "no device plugin answers for {resource}"),
            Self::Fate(fate) => f.write_str(fate),
            Self::Stale(stale) => stale.fmt(f),
        }
    }
}

/// Admits copies of `pod` to the node, one after the other, until one does not fit.
///
/// ```
/// use node_config::KubeletConfiguration;
/// use node_simulation::{Limit, capacity};
/// use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
/// use topology_admission::{Node, Reason};
/// use topology_model::{KubeletView, MachineInfo};
///
/// let machine: MachineInfo = "pack:2 [numa(memory=4GiB)] core:4 pu:1".parse()?;
/// let config = KubeletConfiguration {
///     cpu_manager_policy: Some("static".into()),
///     reserved_system_cpus: Some("0".into()),
///     topology_manager_policy: Some("single-numa-node".into()),
///     ..KubeletConfiguration::default()
/// };
/// let node = Node::start(&KubeletView::new(&machine)?, &config)?;
/// let limits: ResourceList = [("cpu".into(), "2".parse()?), ("memory".into(), "1Gi".parse()?)].into();
/// let app = Container { name: "app".into(), role: Role::App, requests: limits.clone(), limits };
/// let pod = Pod::new("default", "web", vec![app]).with_defaults(PodLevelResources::Count);
///
/// let found = capacity(&node, node.empty_ledger(), &pod);
/// assert_eq!((found.fit, found.limit), (3, Limit::Refused(Reason::TopologyAffinity)));
/// assert_eq!(found.limited_by, ["cpu".into()], "node 1 has memory for two more");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn capacity(node: &Node, mut ledger: Ledger, pod: &Pod) -> Capacity {
    let mut fit = 0;
    loop {
        let copy = Pod {
            uid: PodUid::new(&format!("{}-{fit}", pod.uid)),
            name: format!("{}-{fit}", pod.name),
            ..pod.clone()
        };
        let attempt = node.admission(&ledger, &copy).attempt();
        if let Some(limit) = limit(node, &ledger, &copy, &attempt.verdict) {
            return Capacity { fit, limit, limited_by: limited_by(node, &ledger, &copy) };
        }
        match ledger.commit(attempt) {
            Ok(after) => ledger = after,
            Err(stale) => return Capacity { fit, limit: Limit::Stale(stale), limited_by: Vec::new() },
        }
        fit += 1;
    }
}

/// Why a pod is not simply admitted beside the others; `None`: it is.
fn limit(node: &Node, ledger: &Ledger, pod: &Pod, verdict: &Verdict) -> Option<Limit> {
    match verdict {
        Verdict::Admitted(placement) => {
            let fate = Kubelet::of(node).and_then(|own| own.fate(ledger, pod, &Replies::new()));
            let fate = fate.filter(|fate| !fate.is_waited_for()).map(|fate| Limit::Fate(fate.to_string()));
            fate.or_else(|| (!placement.preempted.is_empty()).then_some(Limit::Preempts))
        }
        Verdict::Refused(refused) => Some(Limit::Refused(refused.reason.clone())),
        Verdict::NeedsPlugin(question) => Some(Limit::NeedsPlugin(question.resource().clone())),
    }
}

/// The resources that keep a pod from fitting, each by itself.
fn limited_by(node: &Node, ledger: &Ledger, pod: &Pod) -> Vec<ResourceName> {
    let mut names = BTreeSet::new();
    changed(pod, |list| names.extend(list.keys().cloned()));
    let fits = |pod: &Pod| limit(node, ledger, pod, &node.admission(ledger, pod).attempt().verdict).is_none();
    let limits = |name: &ResourceName| {
        let rest = changed(pod, |list| least_but(list, Some(name)));
        !fits(&rest)
    };
    let least = changed(pod, |list| least_but(list, None));
    // A resource that is used up leaves no room for the least of it.
    let is_used_up = |name: &ResourceName| fits(&changed(&least, |list| drop(list.remove(name))));
    let is_limit: &dyn Fn(&ResourceName) -> bool = if fits(&least) { &limits } else { &is_used_up };
    names.into_iter().filter(|name| is_limit(name)).collect()
}

/// The pod after a change of each of its lists of amounts.
fn changed(pod: &Pod, mut change: impl FnMut(&mut ResourceList)) -> Pod {
    let mut pod = pod.clone();
    for container in &mut *pod.containers {
        change(&mut container.requests);
        change(&mut container.limits);
    }
    if let Some(resources) = &mut pod.resources {
        change(&mut resources.requests);
        change(&mut resources.limits);
    }
    pod
}

/// Leaves the least of all resources but one: CPU and memory keep the pod in its class, the others are not asked for.
fn least_but(list: &mut ResourceList, kept: Option<&ResourceName>) {
    list.retain(|name, amount| {
        if Some(name) == kept || amount.is_zero() {
            return true;
        }
        match name.as_str() {
            "cpu" => *amount = Quantity::from_milli(1, Format::DecimalSi),
            "memory" => *amount = Quantity::from_units(1, Format::DecimalSi),
            _ => return false,
        }
        true
    });
}
