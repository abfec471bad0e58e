//! A kind of machine: the node that decides, and what lies on which of its NUMA nodes.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use device_manager::{DeviceId, Inventory, Question, Reply};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Amounts, Overhead, Pod, ResourceName, Unit};
use topology_admission::{Ledger, Node, Placed, Placement};
use topology_model::{CpuTable, KubeletView, NodeId};

use crate::claims::{ClaimSite, Claiming, Claims, CpuDriver, Held, HostClaims};

/// What device plugins answer in the middle of an admission.
pub trait Plugins: Sync {
    /// The answer to a question.
    fn answer(&self, question: &Question) -> Reply;
}

/// No device plugin: a given inventory asks nothing, and every other question fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPlugins;

impl Plugins for NoPlugins {
    fn answer(&self, _: &Question) -> Reply {
        Reply::unavailable()
    }
}

/// A kind of machine. Amounts are CPUs, bytes and devices.
pub struct Host<'a> {
    /// Who decides.
    pub(crate) node: &'a Node,
    /// By whose managers is counted what a pod asks for and what the machine has: those of `node`, or where CPUs are claimed the
    /// CPU manager in whose place the CPU driver is.
    measured: &'a Node,
    pub(crate) plugins: &'a dyn Plugins,
    pub(crate) empty: Ledger,
    /// All devices, claimed or not.
    inventory: Inventory,
    /// What pods claim here; `None`: device plugins offer everything.
    pub(crate) claims: Option<HostClaims<'a>>,
    /// CPUs that containers can have for themselves, by position of their NUMA node.
    near: Vec<CpuSet>,
    /// What has a place and is managed: `cpu`, then memory and huge pages, then devices.
    pub(crate) resources: Arc<[ResourceName]>,
    /// How many of `resources` are not devices.
    first_device: usize,
    /// By device resource: the nodes that each healthy device is near to.
    devices: Vec<BTreeMap<DeviceId, NodeMask>>,
    /// What an empty machine can give, by resource and NUMA node, resource after resource.
    pub(crate) capacity: Arc<[u64]>,
    /// Devices that are near no node, by resource.
    anywhere: Vec<u64>,
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("node", &self.node)
            .field("resources", &self.resources)
            .finish_non_exhaustive()
    }
}

impl<'a> Host<'a> {
    /// Machines with the CPUs of `cpus`, on which `node` decides, and these devices.
    pub fn new(node: &'a Node, cpus: &CpuTable, inventory: Inventory, plugins: &'a dyn Plugins) -> Self {
        let empty = node.empty_ledger().with_inventory(inventory.clone());
        let ids: Vec<NodeId> = node.nodes().ids().collect();
        let own = |id: &NodeId| cpus.cpus_in_node(*id).cloned().unwrap_or_default();
        let near = match node.cpus() {
            Some(policy) => ids.iter().map(|id| &own(id) - policy.reserved()).collect(),
            None => Vec::new(),
        };
        let mut resources: Vec<ResourceName> =
            node.cpus().map(|_| ResourceName::new("cpu")).into_iter().collect();
        if let Some(policy) = node.memory() {
            let has_any = |name: &&ResourceName| policy.allocatable().any(|(_, own, _)| own == *name);
            // Memory is the last by name, and what people look for first.
            resources.extend(policy.resources().iter().rev().filter(has_any).cloned());
        }
        let first_device = resources.len();
        let mut devices: Vec<BTreeMap<DeviceId, NodeMask>> = Vec::new();
        for entry in empty.inventory().allocatable() {
            if resources.get(first_device..).is_some_and(|known| known.last() != Some(&entry.resource)) {
                resources.push(entry.resource.clone());
                devices.push(BTreeMap::new());
            }
            let node = entry.node.and_then(|id| node.nodes().index_of(id));
            let mask = node.map_or(NodeMask::EMPTY, NodeMask::single);
            if let Some(of) = devices.last_mut() {
                let nodes = of.entry(entry.device).or_insert(NodeMask::EMPTY);
                *nodes |= mask;
            }
        }
        let anywhere = devices.iter().map(|of| of.values().filter(|nodes| nodes.is_empty()).count() as u64);
        let anywhere = core::iter::repeat_n(0, first_device).chain(anywhere).collect();
        let mut host = Self {
            node,
            measured: node,
            plugins,
            empty,
            inventory,
            claims: None,
            near,
            resources: resources.into(),
            first_device,
            devices,
            capacity: Arc::default(),
            anywhere,
        };
        let mut capacity = vec![0; host.resources.len() * host.numa()];
        host.measure(&host.empty, None, &mut capacity);
        host.capacity = capacity.into();
        host
    }

    /// The same machines, on which pods claim devices. `node` decides on all else: where the CPU driver gives out the CPUs, its
    /// CPU manager has policy `none`, and the one that the host was made with counts how many CPUs a pod claims.
    #[must_use]
    pub fn claiming(
        mut self,
        claims: &'a Claims,
        node: &'a Node,
        view: &KubeletView,
        driver: Option<CpuDriver>,
    ) -> Self {
        let plugins: Vec<ResourceName> = self
            .inventory
            .resources()
            .filter(|resource| !claims.resources.contains(*resource))
            .cloned()
            .collect();
        let left = plugins.iter().fold(Inventory::new(self.node.nodes().clone()), |left, resource| {
            let devices: Vec<device_manager::Device> = self.inventory.devices(resource).cloned().collect();
            left.with(resource.clone(), devices)
        });
        self.claims = Some(HostClaims::new(claims, self.measured, &self.inventory, view, driver));
        self.node = node;
        self.empty = node.empty_ledger().with_inventory(left);
        self
    }

    /// A pod as it is sent to the machine: with claims where it claims its devices.
    pub(crate) fn sent<'p>(&self, pod: &'p Pod) -> Cow<'p, Pod> {
        match &self.claims {
            Some(claims) => Cow::Owned(claims.claiming(pod).pod),
            None => Cow::Borrowed(pod),
        }
    }

    /// The claims of a machine on which nothing runs, for pods of these kinds.
    pub(crate) fn claim_site(&self, kinds: &[Claiming]) -> Option<ClaimSite> {
        Some(self.claims.as_ref()?.site(kinds))
    }

    /// All devices of a resource that can be given out, claimed or not; `None`: the machine knows none of that name.
    pub(crate) fn healthy(&self, resource: &ResourceName) -> Option<usize> {
        self.inventory.is_registered(resource).then(|| self.inventory.healthy(resource).count())
    }

    /// How many pods the machine takes.
    pub(crate) fn most_pods(&self) -> i64 {
        self.node.allocatable().get("pods").map_or(i64::MAX, k8s_quantity::Quantity::value)
    }

    /// How many NUMA nodes the machine has.
    pub(crate) fn numa(&self) -> usize {
        self.node.nodes().len()
    }

    /// What is free beside what `ledger` holds, by resource and NUMA node.
    pub(crate) fn measure(&self, ledger: &Ledger, claims: Option<&ClaimSite>, free: &mut [u64]) {
        let numa = self.numa();
        for (at, resource) in self.resources.iter().enumerate() {
            let Some(row) = free.get_mut(at * numa..(at + 1) * numa) else { continue };
            if at >= self.first_device {
                self.measure_devices(ledger, claims, at, row);
            } else if resource.as_str() == "cpu" {
                for (cell, near) in row.iter_mut().zip(&self.near) {
                    let free = match (ledger.cpus(), claims) {
                        (Some(held), _) => held.shared().intersection_len(near),
                        (None, Some(claims)) => near.len() - claims.cpus().intersection_len(near),
                        (None, None) => 0,
                    };
                    *cell = free as u64;
                }
            } else if let Some(held) = ledger.memory() {
                for (cell, node) in row.iter_mut().zip(self.node.nodes().all().iter()) {
                    *cell = held.amounts(node, resource).free;
                }
            }
        }
    }

    /// A device that is near several nodes is free on each of them.
    fn measure_devices(&self, ledger: &Ledger, claims: Option<&ClaimSite>, at: usize, row: &mut [u64]) {
        let (Some(resource), Some(devices)) =
            (self.resources.get(at), self.devices.get(at - self.first_device))
        else {
            return;
        };
        row.fill(0);
        let taken = ledger.devices().taken(resource);
        for (id, nodes) in devices {
            let is_claimed = claims.is_some_and(|claims| claims.is_taken(resource, id));
            if is_claimed || taken.is_some_and(|taken| taken.contains(id)) {
                continue;
            }
            for node in *nodes {
                if let Some(cell) = row.get_mut(node.get()) {
                    *cell += 1;
                }
            }
        }
    }

    /// What of a unit has to have a place: by resource. Devices that are near no node are not counted.
    pub(crate) fn demand(&self, unit: Unit<'_>) -> Vec<u64> {
        let mut demand = vec![0; self.resources.len()];
        let mut set = |resource: &str, amount: u64| {
            if let Some(at) = self.resources.iter().position(|own| own.as_str() == resource)
                && let (Some(cell), Some(anywhere)) = (demand.get_mut(at), self.anywhere.get(at))
            {
                *cell = amount.saturating_sub(*anywhere);
            }
        };
        if let Some(count) = self.measured.cpus().and_then(|policy| policy.asked(unit)) {
            set("cpu", count as u64);
        }
        if let Some(Ok(request)) = self.measured.memory().map(|policy| policy.asked(unit)) {
            for (resource, bytes) in request.iter() {
                set(resource.as_str(), bytes);
            }
        }
        let limits = match unit {
            Unit::Container(_, container) => container.limits.clone(),
            Unit::Pod(pod) => {
                pod.effective(Amounts::Limits, self.measured.pod_level().counts(), Overhead::LeftOut)
            }
        };
        for resource in self.resources.iter().skip(self.first_device) {
            if let Some(amount) = limits.get(resource.as_str()) {
                set(resource.as_str(), u64::try_from(amount.value()).unwrap_or(0));
            }
        }
        demand
    }

    /// The NUMA nodes on which a pod holds something, by claims too; empty if it holds nothing that has a place.
    pub(crate) fn places(&self, placement: &Placement, claimed: Option<&Held>) -> NodeMask {
        let mut places = NodeMask::EMPTY;
        for placed in &placement.containers {
            places |= self.cpu_places(placed).unwrap_or(NodeMask::EMPTY);
            if let Some(granted) = &placed.memory {
                places |= memory_places(granted);
            }
            let each =
                placed.devices.iter().flat_map(|(resource, ids)| ids.iter().map(move |id| (resource, id)));
            places = each
                .filter_map(|(resource, id)| self.device_place(resource, id))
                .fold(places, NodeMask::with);
        }
        if let Some(held) = claimed {
            places |= self.near(&held.cpus);
            let each = held.devices.iter().filter_map(|(resource, id)| self.device_place(resource, id));
            places = each.fold(places, NodeMask::with);
        }
        places
    }

    /// The NUMA nodes of a container's exclusive CPUs; `None`: it has none.
    pub(crate) fn cpu_places(&self, placed: &Placed) -> Option<NodeMask> {
        Some(self.near(placed.cpus.as_ref()?.exclusive()?))
    }

    fn near(&self, cpus: &CpuSet) -> NodeMask {
        let holds = |(_, near): &(usize, &CpuSet)| !near.is_disjoint(cpus);
        let nodes = self.near.iter().enumerate().filter(holds);
        nodes.filter_map(|(at, _)| NodeIndex::new(at).ok()).fold(NodeMask::EMPTY, NodeMask::with)
    }

    /// The NUMA node of a device; `None` for one that is near several, which needs none of them in particular, or near none.
    pub(crate) fn device_place(&self, resource: &ResourceName, id: &DeviceId) -> Option<NodeIndex> {
        let at = self.resources.iter().skip(self.first_device).position(|own| own == resource)?;
        let nodes = self.devices.get(at)?.get(id)?;
        if nodes.len() == 1 { nodes.into_iter().next() } else { None }
    }
}

fn memory_places(granted: &memory_manager::Granted) -> NodeMask {
    match granted {
        memory_manager::Granted::Blocks(blocks) => {
            let booked = blocks.iter().filter(|block| block.size > 0);
            booked.fold(NodeMask::EMPTY, |nodes, block| nodes | block.nodes.mask())
        }
        memory_manager::Granted::NotPinned(_) => NodeMask::EMPTY,
    }
}
