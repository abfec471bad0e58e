//! The built-in configuration, and what it reserves.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{KubeletConfiguration, ReservedMemory};
use topology_model::{KubeletView, NodeMemory};

/// The most NUMA nodes that a kubelet accepts by default.
const USUAL_NODES: usize = 8;
/// Bytes of memory that are reserved for the system for each package.
pub(crate) const RESERVED_PER_PACKAGE: i64 = 1 << 30;
/// The part of all reserved memory that the kubelet's default eviction threshold keeps free.
const EVICTION: i64 = 100 << 20;

/// A configuration that pins as much as a kubelet can, made for a machine: policies static, Static and restricted. For
/// each package its first core is reserved, and 1Gi of memory on its
/// first NUMA node with at least four times as much; without any such node memory is not managed.
pub fn pinned(view: &KubeletView) -> KubeletConfiguration {
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        topology_manager_policy: text("restricted"),
        reserved_system_cpus: Some(first_cores(view).to_string()),
        ..KubeletConfiguration::default()
    };
    if view.nodes().len() > USUAL_NODES {
        // A kubelet does not start on such a machine by default.
        let nodes = view.nodes().len().to_string();
        config.topology_manager_policy_options.insert("max-allowable-numa-nodes".to_owned(), nodes);
    }
    let mut kept: BTreeMap<i32, i64> = BTreeMap::new();
    for node in nodes_to_reserve_memory_on(view) {
        *kept.entry(node).or_default() += RESERVED_PER_PACKAGE;
    }
    if !kept.is_empty() {
        let all: i64 = kept.values().sum();
        config.memory_manager_policy = text("Static");
        let amount = |bytes| Quantity::from_units(bytes, Format::BinarySi);
        config.system_reserved.insert("memory".to_owned(), amount(all - EVICTION).to_string());
        config.reserved_memory = kept
            .into_iter()
            .map(|(numa_node, bytes)| ReservedMemory {
                numa_node,
                limits: [("memory".to_owned(), amount(bytes))].into(),
            })
            .collect();
    }
    config
}

/// The first core of each package.
pub(crate) fn first_cores(view: &KubeletView) -> CpuSet {
    let cpus = view.cpus();
    let mut reserved = CpuSet::new();
    for (_, package) in cpus.sockets() {
        if let Some((_, core)) = cpus.cores().find(|(_, core)| core.is_subset(package)) {
            reserved |= core;
        }
    }
    reserved
}

/// A NUMA node for each package: the first of the package with enough memory, otherwise the first of the machine.
pub(crate) fn nodes_to_reserve_memory_on(view: &KubeletView) -> Vec<i32> {
    let has_room = |node: &&NodeMemory| node.beside_hugepages() >= 4 * RESERVED_PER_PACKAGE.unsigned_abs();
    let roomy: Vec<&NodeMemory> = view.node_memory().iter().filter(has_room).collect();
    let packages = view.cpus().sockets().filter_map(|(_, package)| {
        let own = roomy
            .iter()
            .find(|node| view.cpus().cpus_in_node(node.id).is_some_and(|cpus| !cpus.is_disjoint(package)));
        own.or(roomy.first()).and_then(|node| i32::try_from(node.id.0).ok())
    });
    packages.collect()
}
