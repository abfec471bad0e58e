//! An ordinary pod: Guaranteed, with one container, and with 1Gi of memory or an eighth of the machine's where that is less.

use alloc::vec;

use k8s_quantity::{Format, Quantity};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use topology_model::{KubeletView, NodeMemory};

const MEBI: i64 = 1 << 20;
/// Bytes that an ordinary pod asks for on a large machine.
const MEMORY: i64 = 1 << 30;

/// What an ordinary pod asks for beside CPUs: 1Gi, or an eighth of what the machine has beside huge pages.
#[must_use]
pub fn memory_of_pod(view: &KubeletView) -> Quantity {
    let all = view.node_memory().iter().map(NodeMemory::beside_hugepages);
    let all = all.fold(0, u64::saturating_add).min(view.memory_capacity());
    let eighth = i64::try_from(all / 8).unwrap_or(i64::MAX) / MEBI * MEBI;
    Quantity::from_units(eighth.clamp(MEBI, MEMORY), Format::BinarySi)
}

/// A Guaranteed pod of one container.
pub(crate) fn pod(name: &str, cpus: impl Into<i64>, memory: &Quantity) -> Pod {
    let limits: ResourceList = [
        ("cpu".into(), Quantity::from_units(cpus.into(), Format::DecimalSi)),
        ("memory".into(), memory.clone()),
    ]
    .into();
    let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
    Pod::new("default", name, vec![container]).with_defaults(PodLevelResources::Count)
}
