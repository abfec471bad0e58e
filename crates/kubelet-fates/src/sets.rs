//! NUMA nodes, and sets of them.

use pod_spec::ResourceName;
use topology_model::{KubeletView, NodeId, NodeMemory};

/// Whether a node lists that kind of memory, be it with nothing.
pub(crate) fn lists(node: &NodeMemory, resource: &ResourceName) -> bool {
    let mut sizes =
        node.hugepages.iter().map(|pages| k8s_quantity::hugepage_resource_name(pages.page_size_kib));
    resource.as_str() == "memory" || sizes.any(|size| size == resource.as_str())
}

/// Whether a distance may be missing: an id that is no column of a row.
pub(crate) fn has_gaps(view: &KubeletView) -> bool {
    let rows = || view.node_memory().iter().filter_map(|node| node.distances.as_ref());
    view.nodes().ids().any(|id| rows().any(|row| usize::try_from(id.0).is_ok_and(|id| id >= row.len())))
}

pub(crate) fn is_no_bit(id: NodeId) -> bool {
    !(0..64).contains(&id.0)
}

pub(crate) fn bit(id: NodeId) -> u64 {
    u32::try_from(id.0).ok().and_then(|id| 1_u64.checked_shl(id)).unwrap_or(0)
}

/// The number of sets of so many nodes, without the empty one.
pub(crate) fn sets(nodes: usize) -> f64 {
    libm::exp2(f64::from(u32::try_from(nodes.min(1000)).unwrap_or(1000))) - 1.0
}

pub(crate) fn count(number: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let number = number as f64;
    number
}
