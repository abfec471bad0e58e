//! The static policy of one machine.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use k8s_quantity::hugepage_resource_name;
use kubelet_release::EmptyMemoryRequest;
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::ResourceName;
use topology_model::{HugePages, NodeId, NodeMemory, Nodes};

use crate::books::Books;
use crate::{Amounts, Config, ConfigError, Holdings, PodLevel, Readmission, UnevenGroup, WrappedTables};

/// The static policy of one machine: immutable, to be asked again and again.
#[derive(Clone, Debug)]
pub struct Static {
    pub(crate) nodes: Nodes,
    /// Those on which memory may be booked.
    pub(crate) usable: NodeMask,
    /// `memory` and every size of huge pages that some node has, by name.
    pub(crate) resources: Arc<[ResourceName]>,
    /// By node and resource, node after node; `None` where a node has no pages of that size, not even zero.
    tables: Vec<Option<Installed>>,
    /// By resource.
    pub(crate) supplies: Vec<Supply>,
    pub(crate) pod_level: PodLevel,
    pub(crate) readmission: Readmission,
    pub(crate) uneven_group: UnevenGroup,
    pub(crate) empty_request: EmptyMemoryRequest,
}

/// What a node has of a resource, booked or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Installed {
    pub(crate) total: u64,
    pub(crate) system_reserved: u64,
    pub(crate) allocatable: u64,
}

/// A resource over all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Supply {
    /// The nodes that have some, the richest first, each with what they and those before them have together.
    pub(crate) richest: Vec<(NodeIndex, u128)>,
    /// Whether sums over nodes pass 64 bits, and so wrap in the kubelet: it then accepts some node sets and
    /// refuses larger ones.
    pub(crate) wraps: bool,
}

impl Static {
    /// The policy for a machine whose nodes are `nodes` and have `memory`; nodes that `memory` does not list have
    /// none.
    pub fn new(nodes: &Nodes, memory: &[NodeMemory], config: &Config) -> Result<Self, ConfigError> {
        let reserved = config.reserved.amounts(nodes, &config.node_allocatable)?;
        let kept = |node: NodeId, resource: &ResourceName| {
            reserved.get(&(node, resource.clone())).copied().unwrap_or(0)
        };
        let sizes: BTreeSet<_> = memory.iter().flat_map(|node| &node.hugepages).map(name_of).collect();
        let resources: Arc<[ResourceName]> = sizes.into_iter().chain([ResourceName::new("memory")]).collect();
        let memory_at = resources.len() - 1;

        let mut tables = vec![None; nodes.len() * resources.len()];
        for (at, id) in nodes.iter() {
            let row = &mut tables[at.get() * resources.len()..][..resources.len()];
            let node = memory.iter().find(|node| node.id == id);
            let mut pages = 0_u64;
            for size in node.into_iter().flat_map(|node| &node.hugepages) {
                let total = size.num_pages.wrapping_mul(size.page_size_kib).wrapping_mul(1024);
                pages = pages.wrapping_add(total);
                let name = name_of(size);
                let Ok(at) = resources[..memory_at].binary_search(&name) else { continue };
                row[at] = Some(Installed::new(total, kept(id, &name), 0, config.wrapped_tables));
            }
            let total = node.map_or(0, |node| node.memory);
            let kept = kept(id, &resources[memory_at]);
            row[memory_at] = Some(Installed::new(total, kept, pages, config.wrapped_tables));
        }
        let mut policy = Self {
            nodes: nodes.clone(),
            usable: nodes.all(),
            resources,
            tables,
            supplies: Vec::new(),
            pod_level: config.pod_level,
            readmission: config.readmission,
            uneven_group: config.uneven_group,
            empty_request: config.empty_request,
        };
        policy.count_supplies();
        Ok(policy)
    }

    /// The same policy, booking on `nodes` alone: so memory of devices, or behind a link, is kept for those who ask
    /// for it by other means. What is booked elsewhere stays.
    #[must_use]
    pub fn within(mut self, nodes: NodeMask) -> Self {
        self.usable = nodes & self.nodes.all();
        self.count_supplies();
        self
    }

    /// The holdings of a node on which nothing runs.
    #[must_use]
    pub fn initial(&self) -> Holdings {
        let free = |table: &Option<Installed>| Amounts {
            reserved: 0,
            free: table.map_or(0, |table| table.allocatable),
        };
        let amounts = self.tables.iter().map(free).collect();
        Holdings::unbooked(Books::unbooked(Arc::clone(&self.resources), self.nodes.len(), amounts))
    }

    /// `memory` and every size of huge pages that some node has, by name.
    #[must_use]
    pub fn resources(&self) -> &[ResourceName] {
        &self.resources
    }

    /// What can be booked on each node when nothing is, zeros left out: by node and resource name, in bytes.
    pub fn allocatable(&self) -> impl Iterator<Item = (NodeIndex, &ResourceName, u64)> {
        let tables = self.nodes.all().iter().flat_map(|node| {
            self.resources.iter().enumerate().map(move |(at, resource)| (node, at, resource))
        });
        tables
            .map(|(node, at, resource)| (node, resource, self.allocatable_on(node, at)))
            .filter(|(_, _, bytes)| *bytes != 0)
    }

    /// What of each node is kept for the system, zeros left out: by node and resource name, in bytes.
    pub fn reserved(&self) -> impl Iterator<Item = (NodeIndex, &ResourceName, u64)> {
        let tables = self.nodes.all().iter().flat_map(|node| {
            self.resources.iter().enumerate().map(move |(at, resource)| (node, at, resource))
        });
        tables.filter_map(|(node, at, resource)| {
            let bytes = self.installed(node, at)?.system_reserved;
            (bytes != 0).then_some((node, resource, bytes))
        })
    }

    /// The position of a resource; `None` if no node has it.
    pub(crate) fn position(&self, resource: &str) -> Option<usize> {
        self.resources.binary_search_by(|known| known.as_str().cmp(resource)).ok()
    }

    /// What a node has of the resource at position `at`; `None` if it does not have it at all.
    pub(crate) fn installed(&self, node: NodeIndex, at: usize) -> Option<Installed> {
        *self.tables.get(node.get() * self.resources.len() + at)?
    }

    pub(crate) fn installed_mut(&mut self, node: NodeIndex, at: usize) -> Option<&mut Installed> {
        self.tables.get_mut(node.get() * self.resources.len() + at)?.as_mut()
    }

    pub(crate) fn allocatable_on(&self, node: NodeIndex, at: usize) -> u64 {
        self.installed(node, at).map_or(0, |table| table.allocatable)
    }

    pub(crate) fn count_supplies(&mut self) {
        self.supplies = (0..self.resources.len()).map(|at| self.supply(at)).collect();
    }

    fn supply(&self, at: usize) -> Supply {
        let on = |node| (node, self.allocatable_on(node, at));
        let mut richest: Vec<_> = self.usable.iter().map(on).filter(|(_, bytes)| *bytes > 0).collect();
        richest.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
        let mut sum = 0;
        let add = |(node, bytes)| {
            sum += u128::from(bytes);
            (node, sum)
        };
        let richest = richest.into_iter().map(add).collect();
        Supply { richest, wraps: u64::try_from(sum).is_err() }
    }

    /// All NUMA nodes.
    pub(crate) fn all(&self) -> NodeMask {
        self.nodes.all()
    }
}

impl Installed {
    /// `pages` are bytes in huge pages, which are taken from what is allocatable whether reserved or not.
    fn new(total: u64, system_reserved: u64, pages: u64, wrapped: WrappedTables) -> Self {
        let allocatable = match wrapped {
            WrappedTables::Wrap => total.wrapping_sub(system_reserved).wrapping_sub(pages),
            WrappedTables::Empty => total.saturating_sub(system_reserved).saturating_sub(pages),
        };
        Self { total, system_reserved, allocatable }
    }
}

fn name_of(pages: &HugePages) -> ResourceName {
    ResourceName::new(&hugepage_resource_name(pages.page_size_kib))
}
