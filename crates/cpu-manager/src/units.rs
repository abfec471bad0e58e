//! The units of a machine, largest to smallest, and the orders in which the kubelet lists them.
//!
//! Everything is a list of positions into the units of one kind; positions ascend with ids, so that "ties by id"
//! are ties by position. A list is ordered by free CPUs of the *whole* unit and is not de-duplicated: where a NUMA
//! node spans sockets, a socket is listed once for each of its nodes, as upstream.

use alloc::vec::Vec;

use cpuset::{CpuId, CpuSet};
use smallvec::SmallVec;
use topology_model::CpuTable;

/// The machine as the allocator sees it.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    pub(crate) all: CpuSet,
    pub(crate) nodes: Vec<Unit>,
    pub(crate) sockets: Vec<Unit>,
    pub(crate) caches: Vec<Unit>,
    pub(crate) cores: Vec<Unit>,
    nodes_of_socket: Vec<Vec<Inner>>,
    sockets_of_node: Vec<Vec<Inner>>,
    caches_of_node: Vec<Vec<Inner>>,
    cores_of_node: Vec<Vec<Inner>>,
    cores_of_socket: Vec<Vec<Inner>>,
    cores_of_cache: Vec<Vec<Inner>>,
    /// Averages of the machine, rounded down; not what each unit has.
    pub(crate) cpus_per_core: usize,
    pub(crate) cpus_per_socket: usize,
    pub(crate) cpus_per_cache: usize,
    pub(crate) hierarchy: Hierarchy,
}

/// One node, socket, cache group or core.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) cpus: CpuSet,
    pub(crate) size: usize,
    /// The same if they are few, as of a core: counting them one by one is quicker.
    few: Vec<CpuId>,
}

/// A unit that has a CPU in another one.
#[derive(Clone, Copy, Debug)]
struct Inner {
    at: usize,
    lies: Lies,
}

/// How a unit lies in another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lies {
    /// With all of its CPUs.
    Inside,
    /// With some.
    Across,
}

/// Units of one kind in the kubelet's order. On the stack as long as a container's CPUs are looked for on a node or two.
pub(crate) type Order = SmallVec<[Listed; 32]>;

/// A unit that has a free CPU. Those with fewer come first, then those with the lower position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Listed {
    /// CPUs of the whole unit that are free.
    pub(crate) free: usize,
    /// Its position.
    pub(crate) at: usize,
}

/// Up to how many CPUs are few.
const FEW: usize = 8;

/// Which of the two large units is the smaller one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hierarchy {
    /// Nodes are in sockets, or are the same: at least as many sockets as nodes.
    NodesFirst,
    /// Sockets hold several nodes.
    SocketsFirst,
}

impl Unit {
    fn new(cpus: &CpuSet) -> Self {
        let size = cpus.len();
        let few = if size <= FEW { cpus.iter().collect() } else { Vec::new() };
        Self { size, cpus: cpus.clone(), few }
    }

    pub(crate) fn free(&self, free: &CpuSet) -> usize {
        if self.size <= FEW {
            self.few.iter().filter(|cpu| free.contains(**cpu)).count()
        } else {
            self.cpus.intersection_len(free)
        }
    }

    /// Whether a free CPU of this unit is in `outer`.
    pub(crate) fn has_free_in(&self, outer: &Self, free: &CpuSet) -> bool {
        self.cpus.iter().any(|cpu| free.contains(cpu) && outer.cpus.contains(cpu))
    }
}

impl Units {
    pub(crate) fn new(cpus: &CpuTable) -> Self {
        let nodes: Vec<_> = cpus.nodes().map(|(_, cpus)| Unit::new(cpus)).collect();
        let sockets: Vec<_> = cpus.sockets().map(|(_, cpus)| Unit::new(cpus)).collect();
        let caches: Vec<_> = cpus.caches().map(|(_, cpus)| Unit::new(cpus)).collect();
        let cores: Vec<_> = cpus.cores().map(|(_, cpus)| Unit::new(cpus)).collect();
        let hierarchy = if cpus.num_sockets() >= cpus.num_nodes() {
            Hierarchy::NodesFirst
        } else {
            Hierarchy::SocketsFirst
        };
        Self {
            all: cpus.all().clone(),
            nodes_of_socket: meeting(&sockets, &nodes),
            sockets_of_node: meeting(&nodes, &sockets),
            caches_of_node: meeting(&nodes, &caches),
            cores_of_node: meeting(&nodes, &cores),
            cores_of_socket: meeting(&sockets, &cores),
            cores_of_cache: meeting(&caches, &cores),
            nodes,
            sockets,
            caches,
            cores,
            cpus_per_core: cpus.cpus_per_core(),
            cpus_per_socket: cpus.cpus_per_socket(),
            cpus_per_cache: cpus.cpus_per_cache(),
            hierarchy,
        }
    }

    /// The socket that all CPUs of a node are in; `None` if it spans several.
    pub(crate) fn socket_of_node(&self, node: usize) -> Option<usize> {
        match self.sockets_of_node.get(node)?[..] {
            [Inner { at, .. }] => Some(at),
            _ => None,
        }
    }

    pub(crate) fn node_order(&self, free: &CpuSet) -> Order {
        match self.hierarchy {
            Hierarchy::NodesFirst => top(&self.nodes, free),
            Hierarchy::SocketsFirst => {
                nested(&self.sockets, &self.socket_order(free), &self.nodes, &self.nodes_of_socket, free)
            }
        }
    }

    pub(crate) fn socket_order(&self, free: &CpuSet) -> Order {
        match self.hierarchy {
            Hierarchy::NodesFirst => {
                nested(&self.nodes, &self.node_order(free), &self.sockets, &self.sockets_of_node, free)
            }
            Hierarchy::SocketsFirst => top(&self.sockets, free),
        }
    }

    pub(crate) fn cache_order(&self, free: &CpuSet) -> Order {
        nested(&self.nodes, &self.node_order(free), &self.caches, &self.caches_of_node, free)
    }

    /// Whether CPUs of a node can be chosen by their cache.
    pub(crate) fn nodes_have_several_caches(&self) -> bool {
        self.caches_of_node.iter().any(|caches| caches.len() > 1)
    }

    /// The positions of the caches with a CPU on a node, by id.
    pub(crate) fn caches_of_node(&self, node: usize) -> impl Iterator<Item = usize> {
        self.caches_of_node[node].iter().map(|cache| cache.at)
    }

    /// The cores with a CPU in a cache, by id.
    pub(crate) fn cores_of_cache(&self, cache: usize) -> impl Iterator<Item = &Unit> {
        self.cores_of_cache[cache].iter().map(|core| &self.cores[core.at])
    }

    pub(crate) fn core_order(&self, free: &CpuSet) -> Order {
        match self.hierarchy {
            Hierarchy::NodesFirst => {
                nested(&self.sockets, &self.socket_order(free), &self.cores, &self.cores_of_socket, free)
            }
            Hierarchy::SocketsFirst => {
                nested(&self.nodes, &self.node_order(free), &self.cores, &self.cores_of_node, free)
            }
        }
    }
}

/// For each outer unit the inner ones that have a CPU in it.
fn meeting(outer: &[Unit], inner: &[Unit]) -> Vec<Vec<Inner>> {
    let of = |unit: &Unit| {
        let lies = |(at, inner): (usize, &Unit)| {
            let lies = if inner.cpus.is_subset(&unit.cpus) { Lies::Inside } else { Lies::Across };
            (!inner.cpus.is_disjoint(&unit.cpus)).then_some(Inner { at, lies })
        };
        inner.iter().enumerate().filter_map(lies).collect()
    };
    outer.iter().map(of).collect()
}

/// Units with a free CPU.
fn top(units: &[Unit], free: &CpuSet) -> Order {
    let listed = units.iter().enumerate().map(|(at, unit)| Listed { free: unit.free(free), at });
    let mut order: Order = listed.filter(|listed| listed.free > 0).collect();
    order.sort_unstable();
    order
}

/// For each outer unit in `order` the inner ones with a free CPU in it, in their own order.
fn nested(outer: &[Unit], order: &Order, inner: &[Unit], inside: &[Vec<Inner>], free: &CpuSet) -> Order {
    let mut nested = Order::with_capacity(order.iter().map(|out| inside[out.at].len()).sum());
    for out in order {
        let start = nested.len();
        for here in &inside[out.at] {
            let unit = &inner[here.at];
            let listed = Listed { free: unit.free(free), at: here.at };
            if listed.free > 0 && (here.lies == Lies::Inside || unit.has_free_in(&outer[out.at], free)) {
                nested.push(listed);
            }
        }
        nested[start..].sort_unstable();
    }
    nested
}
