//! How many copies of one pod fit a node.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;

use device_manager::Replies;
use kubelet_fates::Kubelet;
use pod_spec::{Pod, PodUid, ResourceName};
use topology_admission::{Ledger, Node, Reason, Stale, Verdict};

/// How many copies of a pod fit, and why not one more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// How many were admitted.
    pub fit: usize,
    /// Why the next one was not.
    pub limit: Limit,
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
            Self::NeedsPlugin(resource) => write!(f, "nobody answers for {resource}"),
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
/// use topology_admission::{Compat, Node, Reason};
/// use topology_model::{KubeletView, MachineInfo};
///
/// let machine: MachineInfo = "pack:2 [numa(memory=4GiB)] core:4 pu:1".parse()?;
/// let config = KubeletConfiguration {
///     cpu_manager_policy: Some("static".into()),
///     reserved_system_cpus: Some("0".into()),
///     topology_manager_policy: Some("single-numa-node".into()),
///     ..KubeletConfiguration::default()
/// };
/// let node = Node::start(&KubeletView::new(&machine)?, &config, None, Compat::default())?;
/// let limits: ResourceList = [("cpu".into(), "2".parse()?), ("memory".into(), "1Gi".parse()?)].into();
/// let app = Container { name: "app".into(), role: Role::App, requests: limits.clone(), limits };
/// let pod = Pod::new("default", "web", vec![app]).with_defaults(PodLevelResources::Count);
///
/// let found = capacity(&node, node.empty_ledger(), &pod);
/// assert_eq!((found.fit, found.limit), (3, Limit::Refused(Reason::TopologyAffinity)));
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
        let fate = Kubelet::of(node).and_then(|own| own.fate(&ledger, &copy, &Replies::new()));
        let fate = fate.filter(|fate| !fate.is_waited_for());
        let limit = match &attempt.verdict {
            Verdict::Admitted(_) if let Some(fate) = fate => Some(Limit::Fate(fate.to_string())),
            Verdict::Admitted(placement) if placement.preempted.is_empty() => None,
            Verdict::Admitted(_) => Some(Limit::Preempts),
            Verdict::Refused(refused) => Some(Limit::Refused(refused.reason.clone())),
            Verdict::NeedsPlugin(question) => Some(Limit::NeedsPlugin(question.resource().clone())),
        };
        if let Some(limit) = limit {
            return Capacity { fit, limit };
        }
        match ledger.commit(attempt) {
            Ok(after) => ledger = after,
            Err(stale) => return Capacity { fit, limit: Limit::Stale(stale) },
        }
        fit += 1;
    }
}
