//! Whether a kubelet starts again on a full node.
//!
//! Guaranteed pods take the CPUs that are not reserved, as far as the kubelet admits them: once one pod as many as it can,
//! and once many pods, the large ones first. Then the kubelet starts from the state that it has written, and admits each
//! pod again beside it.
//!
//! With `strict-cpu-reservation` it is known beforehand: nothing keeps the shared pool from running empty, and no kubelet
//! starts with an empty one.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use k8s_quantity::{Format, Quantity};
use node_config::KubeletConfiguration;
use pod_spec::{ContainerKey, Pod};
use topology_admission::cpu_manager::StateError;
use topology_admission::{Compat, Ledger, Node, RestoreError, RunningPods, SourcesReady, Verdict};
use topology_model::KubeletView;

use crate::hazard::{CPU_OPTIONS, Hazard, POLICY, STRICT, WHOLE_CORES};
use crate::ordinary_pod::pod;

/// What becomes of a full node when its kubelet starts again, where that is not the same.
pub(crate) fn full_node(config: &KubeletConfiguration, view: &KubeletView) -> Option<Hazard> {
    let is_on = |option: &str| {
        let value = config.cpu_manager_policy_options.get(option);
        value.and_then(|value| node_config::parse_bool(value)).unwrap_or(false)
    };
    Some(match not_again(config, view)? {
        NotAgain::NoStart(RestoreError::Crash(uneven)) => Hazard::UnevenGroup(uneven),
        NotAgain::NoStart(error) => {
            let field = if is_on(STRICT) { CPU_OPTIONS } else { "reservedSystemCPUs" };
            Hazard::NoRestart { error: error.to_string(), field }
        }
        NotAgain::Refused(reason) => {
            let field =
                if is_on(WHOLE_CORES) && reason == "SMTAlignmentError" { CPU_OPTIONS } else { POLICY };
            Hazard::RefusedAtRestart { reason, field }
        }
    })
}

/// Why a full node does not come up again as it was.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum NotAgain {
    /// The kubelet does not start.
    NoStart(RestoreError),
    /// It starts and refuses a pod that runs, with this reason.
    Refused(String),
}

/// What the next start on a full node comes to; `None`: every pod keeps what it has, or the configuration does not start.
pub(crate) fn not_again(config: &KubeletConfiguration, view: &KubeletView) -> Option<NotAgain> {
    let node = Node::start_as(view, config, Compat::KUBELET).ok()?;
    let policy = node.cpus()?;
    if !policy.reserved().is_subset(policy.initial().shared()) {
        return Some(NotAgain::NoStart(StateError::EmptySharedPool.into()));
    }
    let cpus = i64::try_from(policy.allocatable().len()).ok()?;
    // So many pods of equal size fill it.
    [1, MOST_PODS].into_iter().find_map(|pods| {
        let (ledger, pods) = filled(&node, cpus, pods);
        start_again(&node, &ledger, &pods).err()
    })
}

/// More pods tell nothing new, and take longer.
const MOST_PODS: i64 = 24;

/// The node with pods of a `parts`-th of the CPUs each, then of ever fewer until no CPU is left that the kubelet gives.
fn filled(node: &Node, cpus: i64, parts: i64) -> (Ledger, Vec<Pod>) {
    let memory = node.allocatable().get("memory").map_or(0, Quantity::value);
    // Some memory is left for those that come last.
    let share = |size: i64| memory / cpus.max(1) / 2 * size;
    let (mut ledger, mut pods) = (node.empty_ledger(), Vec::new());
    let mut size = (cpus + parts - 1) / parts;
    while size > 0 {
        let name = format!("full-{}", pods.len());
        let sizes = [share(size), 1].into_iter().map(|bytes| Quantity::from_units(bytes, Format::BinarySi));
        let candidates = sizes.filter(|memory| !memory.is_zero()).map(|memory| pod(&name, size, &memory));
        let admitted = candidates.into_iter().find_map(|pod| {
            let attempt = node.admission(&ledger, &pod).attempt();
            matches!(attempt.verdict, Verdict::Admitted(_)).then_some((pod, attempt))
        });
        match admitted {
            Some((pod, attempt)) => {
                // It was made against this ledger.
                ledger = ledger.commit(attempt).unwrap_or(ledger);
                pods.push(pod);
            }
            // Pods of few CPUs one by one: some policies take whole cores only.
            None => size = if size > 8 { size / 2 } else { size - 1 },
        }
    }
    (ledger, pods)
}

fn start_again(node: &Node, ledger: &Ledger, pods: &[Pod]) -> Result<(), NotAgain> {
    let containers = |pod: &Pod| pod.containers.iter().map(|own| pod.key(own)).collect::<Vec<ContainerKey>>();
    let running: BTreeSet<ContainerKey> = pods.iter().flat_map(containers).collect();
    let running = RunningPods { admitted: Vec::new(), running, sources: SourcesReady::No };
    let restored = node.restore(node.stored(ledger), running);
    let mut again = restored.map_err(NotAgain::NoStart)?;
    for pod in pods {
        let attempt = node.admission(&again, pod).attempt();
        if let Verdict::Refused(refused) = &attempt.verdict {
            return Err(NotAgain::Refused(refused.reason.to_string()));
        }
        again = again.commit(attempt).unwrap_or(again);
    }
    Ok(())
}
