//! Whether anything can happen at all, from a few numbers: what most pods on most nodes are spared of is not replayed.

use node_config::parse_bool;
use pod_spec::{Pod, ResourceName};
use topology_admission::Ledger;

use crate::known::Kubelet;
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

/// The most that can be walked through for the pod.
fn most(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod) -> Work {
    let (view, nodes) = (kubelet.view, kubelet.view.nodes().len());
    let all = sets(nodes);
    let mut most = Work::default();
    for container in &pod.containers {
        let is_device = |resource: &&ResourceName| ledger.inventory().is_registered(resource);
        let devices = container.limits.keys().filter(is_device).count();
        let managers =
            usize::from(kubelet.node.cpus().is_some()) + usize::from(kubelet.node.memory().is_some());
        most.cpus += all * count(view.cpus().num_cpus());
        most.memory += 2.0 * all;
        most.memory_nodes += 2.0 * all * count(nodes);
        most.devices += container
            .limits
            .keys()
            .filter(is_device)
            .map(|own| all * count(ledger.inventory().devices(own).count()))
            .sum::<f64>();
        most.combinations += libm::pow(all + 1.0, count(devices + managers));
    }
    most
}
