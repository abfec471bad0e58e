//! The built-in configuration, and what it reserves.

use alloc::borrow::ToOwned;
use alloc::string::ToString;

use k8s_quantity::{Format, Quantity};
use node_config::KubeletConfiguration;
use topology_model::KubeletView;

use crate::share::{nodes_to_reserve_memory_on, split, usual_cpus, usual_memory};

/// The most NUMA nodes that a kubelet accepts by default.
const USUAL_NODES: usize = 8;
/// The part of all reserved memory that the kubelet's default eviction threshold keeps free.
const EVICTION: i64 = 100 << 20;

/// A configuration that pins as much as a kubelet can, made for a machine: policies static, Static and restricted. What it
/// reserves is a core and 1Gi of memory for each package, within the bounds that proposals keep; on a machine without a NUMA
/// node of 4Gi memory is not managed.
pub fn pinned(view: &KubeletView) -> KubeletConfiguration {
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        topology_manager_policy: text("restricted"),
        reserved_system_cpus: Some(usual_cpus(view).to_string()),
        ..KubeletConfiguration::default()
    };
    if view.nodes().len() > USUAL_NODES {
        // A kubelet does not start on such a machine by default.
        let nodes = view.nodes().len().to_string();
        config.topology_manager_policy_options.insert("max-allowable-numa-nodes".to_owned(), nodes);
    }
    let nodes = nodes_to_reserve_memory_on(view);
    if !nodes.is_empty() {
        let all = usual_memory(view);
        config.memory_manager_policy = text("Static");
        let kept = Quantity::from_units(all - EVICTION, Format::BinarySi);
        config.system_reserved.insert("memory".to_owned(), kept.to_string());
        config.reserved_memory = split(all, &nodes, view);
    }
    config
}
