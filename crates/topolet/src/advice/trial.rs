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

/// Tries pods under `config`; nothing is refused where a kubelet does not start with it.
pub(super) fn refused(config: &KubeletConfiguration, view: &KubeletView) -> Refused {
    let mut refused = Refused::new();
    for (cpus, answer) in answers(config, view) {
        if let Err(reason) = answer {
            refused.entry(reason).or_default().push(cpus);
        }
    }
    refused
}

/// Why no ordinary pod is admitted, if none is and the node has room for some.
pub(super) fn admits_nothing(config: &KubeletConfiguration, view: &KubeletView) -> Option<String> {
    let mut first = None;
    for (_, answer) in answers(config, view) {
        first = first.or(Some(answer.err()?));
    }
    let reason = first?;
    Some(format!(
        "no Guaranteed pod of 1 to 8 CPUs and 1Gi is ever admitted, even on an empty node: {reason}"
    ))
}

/// The answer to each ordinary pod that fits the node in sum, one after the other.
fn answers(
    config: &KubeletConfiguration,
    view: &KubeletView,
) -> impl Iterator<Item = (u8, Result<(), String>)> {
    let unpinned = KubeletConfiguration {
        cpu_manager_policy: None,
        cpu_manager_policy_options: BTreeMap::new(),
        memory_manager_policy: None,
        topology_manager_policy: None,
        topology_manager_policy_options: BTreeMap::new(),
        ..config.clone()
    };
    let start = |config: &KubeletConfiguration| Node::start(view, config, None, Compat::KUBELET).ok();
    let nodes = start(config).zip(start(&unpinned));
    nodes.into_iter().flat_map(|(node, unpinned)| {
        CPUS.filter_map(move |cpus| {
            let pod = pod(cpus)?;
            answer(&unpinned, &pod).ok()?;
            Some((cpus, answer(&node, &pod)))
        })
    })
}

/// What the user of a configuration has to know: which ordinary pods never run.
pub(crate) fn notes(config: &KubeletConfiguration, view: &KubeletView) -> Vec<String> {
    let note = |(reason, cpus): (String, Vec<u8>)| {
        let numbers: Vec<String> = cpus.iter().map(u8::to_string).collect();
        format!(
            "Guaranteed pods of {} CPUs and 1Gi never run here, even on an empty node: {reason}",
            numbers.join(", ")
        )
    };
    refused(config, view).into_iter().map(note).collect()
}

fn answer(node: &Node, pod: &Pod) -> Result<(), String> {
    let attempt = node.attempt(&node.empty_ledger(), pod, &Replies::default());
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
