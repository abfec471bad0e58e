//! Whether anything can happen in place of an answer, from a few numbers: most pods on most nodes need no replay.

use alloc::collections::BTreeSet;

use node_config::parse_bool;
use pod_spec::{Pod, ResourceName};
use topology_admission::Ledger;

use crate::kubelet::Kubelet;
use crate::sets::{count, has_gaps, is_no_bit, sets};
use crate::work::Work;

/// Whether something can happen in place of an answer, or with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Possible {
    /// Nothing can, but for a pod that fills the node.
    Nothing,
    /// Something may.
    Something,
}

/// Work that takes longer is counted exactly: far less than an answer that is late.
const COUNTED: f64 = 0.3;

impl Possible {
    /// What can happen to `pod`.
    pub(crate) fn of(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod) -> Self {
        let view = kubelet.view;
        let is_odd = view.nodes().ids().any(is_no_bit)
            || has_gaps(view)
            || spreads_whole_cores(kubelet)
            || cores_differ(kubelet)
            || asks_for_pages(pod)
            || most(kubelet, ledger, pod).seconds() > COUNTED;
        if is_odd { Self::Something } else { Self::Nothing }
    }
}

/// Whether `distribute-cpus-across-numa` hands out whole cores.
fn spreads_whole_cores(kubelet: Kubelet<'_>) -> bool {
    let is_on = |option: &str| {
        let value = kubelet.config.cpu_manager_policy_options.get(option);
        value.and_then(|value| parse_bool(value)).unwrap_or(false)
    };
    // Combinations of many nodes take long without whole cores too.
    is_on("distribute-cpus-across-numa") && (is_on("full-pcpus-only") || kubelet.view.nodes().len() > 8)
}

/// Whether a core or a socket has another number of CPUs than they have on average, so that it may be taken for free.
fn cores_differ(kubelet: Kubelet<'_>) -> bool {
    let cpus = kubelet.view.cpus();
    kubelet.node.cpus().is_some()
        && (cpus.cores().any(|(_, core)| core.len() != cpus.cpus_per_core())
            || cpus.sockets().any(|(_, socket)| socket.len() != cpus.cpus_per_socket()))
}

fn asks_for_pages(pod: &Pod) -> bool {
    let is_pages = |resource: &ResourceName| resource.as_str().starts_with("hugepages-");
    let of_containers =
        pod.containers.iter().any(|own| own.requests.keys().chain(own.limits.keys()).any(is_pages));
    of_containers || pod.has_pod_level_resources()
}

/// The most that can be walked through for the pod: as if each container asked for every device that any of them asks for,
/// which under scope `pod` they do together.
fn most(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod) -> Work {
    let (view, nodes) = (kubelet.view, kubelet.view.nodes().len());
    let (all, inventory) = (sets(nodes), ledger.inventory());
    let asked = pod.containers.iter().flat_map(|own| own.limits.keys());
    let devices: BTreeSet<&ResourceName> =
        asked.filter(|resource| inventory.is_registered(resource)).collect();
    let listed: usize = devices.iter().map(|resource| inventory.devices(resource).count()).sum();
    let managers = usize::from(kubelet.node.cpus().is_some()) + usize::from(kubelet.node.memory().is_some());
    // Memory is walked for hints, and once more where it is allocated.
    let memory = 2.0 * all;
    let containers = count(pod.containers.len());
    Work {
        cpus: containers * all * count(view.cpus().num_cpus()),
        memory: containers * memory,
        memory_nodes: containers * memory * count(nodes),
        devices: containers * all * count(listed),
        combinations: containers * libm::pow(all + 1.0, count(devices.len() + managers)),
        shares: 0,
        looks: 0,
    }
}
