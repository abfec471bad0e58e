//! Ordinary pods, tried on an empty node: which of them a configuration refuses although the node has room.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use node_config::KubeletConfiguration;
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use topology_admission::{Compat, Node, Verdict};
use topology_model::KubeletView;

use crate::note::{Note, StartProblem};

/// Numbers of CPUs that an ordinary pod asks for, beside 1Gi of memory.
const CPUS: core::ops::RangeInclusive<u8> = 1..=8;

/// Ordinary pods that the node has room for in sum and refuses, as their numbers of CPUs by reason.
pub(crate) type Refused = BTreeMap<String, Vec<u8>>;

/// A node, and the same node if it pinned nothing.
struct Nodes {
    pinning: Node,
    unpinned: Node,
}

impl Nodes {
    /// `None` where a kubelet does not start with it.
    fn start(config: &KubeletConfiguration, view: &KubeletView) -> Option<Self> {
        let unpinned = KubeletConfiguration {
            cpu_manager_policy: None,
            cpu_manager_policy_options: BTreeMap::new(),
            memory_manager_policy: None,
            topology_manager_policy: None,
            topology_manager_policy_options: BTreeMap::new(),
            ..config.clone()
        };
        let start = |config| Node::start(view, config, None, Compat::KUBELET).ok();
        Some(Self { pinning: start(config)?, unpinned: start(&unpinned)? })
    }

    /// The answer to each ordinary pod that fits in sum, one after the other.
    fn answers(&self) -> impl Iterator<Item = (u8, Result<(), String>)> {
        CPUS.filter(|cpus| answer(&self.unpinned, *cpus).is_ok())
            .map(|cpus| (cpus, answer(&self.pinning, cpus)))
    }
}

/// Tries pods under `config`; nothing is refused where a kubelet does not start with it.
pub(crate) fn refused(config: &KubeletConfiguration, view: &KubeletView) -> Refused {
    let mut refused = Refused::new();
    let Some(nodes) = Nodes::start(config, view) else { return refused };
    for (cpus, answer) in nodes.answers() {
        if let Err(reason) = answer {
            refused.entry(reason).or_default().push(cpus);
        }
    }
    refused
}

/// Why no ordinary pod is admitted, if none is and the node has room for some: the reason of the first refusal.
pub(crate) fn admits_nothing(config: &KubeletConfiguration, view: &KubeletView) -> Option<String> {
    let mut first = None;
    for (_, answer) in Nodes::start(config, view)?.answers() {
        // One that is admitted is enough.
        first = first.or(Some(answer.err()?));
    }
    first
}

/// What the user of a proposal has to know: that a kubelet does not start with it, or which ordinary pods never run.
pub fn notes(config: &KubeletConfiguration, view: &KubeletView) -> Vec<Note> {
    let fault = config.validate().first().map(ToString::to_string).or_else(|| {
        let started = Node::start(view, config, None, Compat::KUBELET);
        started.err().map(|error| error.to_string())
    });
    if let Some(fault) = fault {
        let problem = if view.memory_capacity() == 0 {
            StartProblem::MemoryNotKnown
        } else {
            StartProblem::NothingFound
        };
        return vec![Note::NoStart { problem, fault }];
    }
    let mut never = Refused::new();
    let Some(nodes) = Nodes::start(config, view) else { return Vec::new() };
    for cpus in CPUS {
        let reason = answer(&nodes.unpinned, cpus).and_then(|()| answer(&nodes.pinning, cpus)).err();
        // A machine with too few CPUs needs no note.
        if let Some(reason) = reason.filter(|reason| reason != "OutOfcpu") {
            never.entry(reason).or_default().push(cpus);
        }
    }
    never.into_iter().map(|(reason, cpus)| Note::NeverAdmitted { reason, cpus }).collect()
}

/// Whether an empty node admits the ordinary pod of so many CPUs, or why not.
fn answer(node: &Node, cpus: u8) -> Result<(), String> {
    let Some(pod) = pod(cpus) else { return Ok(()) };
    let attempt = node.admission(&node.empty_ledger(), &pod).attempt();
    match attempt.verdict {
        Verdict::Refused(refused) => Err(refused.reason.to_string()),
        Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => Ok(()),
    }
}

fn pod(cpus: u8) -> Option<Pod> {
    let limits: ResourceList =
        [("cpu".into(), cpus.to_string().parse().ok()?), ("memory".into(), "1Gi".parse().ok()?)].into();
    let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
    Some(Pod::new("default", "ordinary", vec![container]).with_defaults(PodLevelResources::Count))
}
