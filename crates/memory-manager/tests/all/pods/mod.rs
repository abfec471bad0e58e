//! Machines and pods of tests, with amounts in bytes.

use k8s_quantity::{Format, Quantity};
use memory_manager::{Config, Reservation, Reservations, Static, WrappedTables};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceList, ResourceName, Role};
use topology_model::{HugePages, NodeId, NodeMemory, Nodes};

/// What a node has: bytes of memory, and pages of 2Mi.
pub(crate) type Node = (u64, u64);

/// Nodes with the ids 0, 1, …
pub(crate) fn memory(nodes: &[Node]) -> Vec<NodeMemory> {
    let node = |(id, (memory, pages)): (i64, &Node)| NodeMemory {
        id: NodeId(id),
        memory: *memory,
        hugepages: vec![HugePages { page_size_kib: 2048, num_pages: *pages }],
        distances: None,
    };
    (0..).zip(nodes).map(node).collect()
}

/// The policy of a machine, with `kept` bytes of its first node reserved.
pub(crate) fn policy(nodes: &[Node], kept: i64, wrapped_tables: WrappedTables) -> Static {
    let config = Config { wrapped_tables, ..config(kept) };
    let memory = memory(nodes);
    let ids = Nodes::new(memory.iter().map(|node| node.id)).unwrap();
    Static::new(&ids, &memory, &config).unwrap()
}

/// A configuration that keeps `kept` bytes of node 0.
pub(crate) fn config(kept: i64) -> Config {
    let kept = ResourceList::from([("memory".into(), Quantity::from_units(kept, Format::BinarySi))]);
    let reserved = Reservations(vec![Reservation { node: NodeId(0), limits: kept.clone() }]);
    Config { reserved, node_allocatable: kept, ..Config::default() }
}

/// A container with equal requests and limits; a size of huge pages only if asked for.
pub(crate) fn container(name: &str, role: Role, memory: u64, huge: Option<u64>) -> Container {
    let bytes = |bytes: u64| Quantity::from_units(bytes.cast_signed(), Format::BinarySi);
    let mut amounts = ResourceList::from([
        (ResourceName::new("cpu"), bytes(1)),
        (ResourceName::new("memory"), bytes(memory)),
    ]);
    if let Some(huge) = huge {
        amounts.insert(ResourceName::new("hugepages-2Mi"), bytes(huge));
    }
    Container { name: ContainerName::new(name), role, requests: amounts.clone(), limits: amounts }
}

/// A pod whose uid is its name.
pub(crate) fn pod(name: &str, containers: Vec<Container>) -> Pod {
    Pod { uid: PodUid::new(name), ..Pod::new("", name, containers) }
}
