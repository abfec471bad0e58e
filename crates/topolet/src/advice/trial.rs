//! Ordinary pods, tried on an empty node: what a configuration refuses although there is room.

use std::collections::BTreeMap;

use device_manager::Replies;
use node_config::KubeletConfiguration;
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use topology_admission::{Compat, Node, Verdict};
use topology_model::KubeletView;

/// Numbers of CPUs that an ordinary pod asks for, beside 1Gi of memory.
const CPUS: std::ops::RangeInclusive<u8> = 1..=8;

/// The numbers of CPUs of the ordinary pods that the node holds in sum and refuses all the same, by reason.
pub(super) type Refused = BTreeMap<String, Vec<u8>>;

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
pub(super) fn refused(config: &KubeletConfiguration, view: &KubeletView) -> Refused {
    let mut refused = Refused::new();
    let Some(nodes) = Nodes::start(config, view) else { return refused };
    for (cpus, answer) in nodes.answers() {
        if let Err(reason) = answer {
            refused.entry(reason).or_default().push(cpus);
        }
    }
    refused
}

/// Why no ordinary pod is admitted, if none is and the node has room for some.
pub(super) fn admits_nothing(config: &KubeletConfiguration, view: &KubeletView) -> Option<String> {
    let mut first = None;
    for (_, answer) in Nodes::start(config, view)?.answers() {
        // One that is admitted is enough.
        first = first.or(Some(answer.err()?));
    }
    let reason = first?;
    Some(format!(
        "no Guaranteed pod of 1 to 8 CPUs and 1Gi is ever admitted, even on an empty node: {reason}"
    ))
}

/// What the user of a proposal has to know: that a kubelet does not start with it, or which ordinary pods never run.
pub(crate) fn notes(config: &KubeletConfiguration, view: &KubeletView) -> Vec<String> {
    let fault = config.validate().first().map(ToString::to_string).or_else(|| {
        let started = Node::start(view, config, None, Compat::KUBELET);
        started.err().map(|error| error.to_string())
    });
    if let Some(fault) = fault {
        let why = if view.memory_capacity() == 0 {
            "how much memory this machine has is not known, and counts as none"
        } else {
            "no configuration was found with which it does"
        };
        return vec![format!("a kubelet does not start with this proposal, {why}: {fault}")];
    }
    let mut never = Refused::new();
    let Some(nodes) = Nodes::start(config, view) else { return Vec::new() };
    for cpus in CPUS {
        let reason = answer(&nodes.unpinned, cpus).and_then(|()| answer(&nodes.pinning, cpus)).err();
        // That there are fewer CPUs than are asked for is plain.
        if let Some(reason) = reason.filter(|reason| reason != "OutOfcpu") {
            never.entry(reason).or_default().push(cpus);
        }
    }
    never.into_iter().map(note).collect()
}

fn note((reason, cpus): (String, Vec<u8>)) -> String {
    let numbers: Vec<String> = cpus.iter().map(u8::to_string).collect();
    format!(
        "Guaranteed pods of {} CPUs and 1Gi never run here, even on an empty node: {reason}",
        numbers.join(", ")
    )
}

/// Whether an empty node admits the ordinary pod of so many CPUs, or why not.
fn answer(node: &Node, cpus: u8) -> Result<(), String> {
    let Some(pod) = pod(cpus) else { return Ok(()) };
    let attempt = node.attempt(&node.empty_ledger(), &pod, &Replies::default());
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
