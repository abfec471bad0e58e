//! What devices there are, and the life of the plugins that say so.
//!
//! The kubelet keeps three things apart, and so does this: the plugin's *endpoint* (is it there, since when not),
//! the last *list* of its devices, and two sets of ids, healthy and unhealthy. A resource is *registered* while it
//! has the healthy set, be it empty. They part ways when a plugin comes and goes: a plugin that has registered and
//! not yet listed has an endpoint only; one that went away has all its ids in the unhealthy set, though the list
//! still says healthy; after the grace period both sets are gone and the list stays.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use pod_spec::ResourceName;
use topology_model::Nodes;

use crate::budget::OverBudget;
use crate::device::{Device, DeviceId, Topology};
use crate::list::DeviceList;
use crate::question::PluginError;

/// How long a resource whose plugin has gone away keeps its capacity.
pub const GRACE_PERIOD: Duration = Duration::from_mins(5);

/// A moment, as the time since any fixed beginning that the caller chose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Moment(pub Duration);

/// What a plugin wants to be asked, from `GetDevicePluginOptions`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PluginOptions {
    /// `GetPreferredAllocation` before devices are chosen.
    pub preferred_allocation: bool,
    /// `PreStartContainer` before a container starts.
    pub pre_start: bool,
}

/// Where the devices of a resource come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// A given inventory, without a plugin that is asked. Never goes away.
    Given,
    /// Only the checkpoint of a kubelet that runs names them: their NUMA nodes and their health are not known.
    /// No plugin is asked, and they never go away.
    Checkpoint,
    /// A plugin.
    Plugin {
        /// What it wants to be asked; `None` from a restart until it registers again: then it is asked less.
        options: Option<PluginOptions>,
        /// Whether it is there.
        life: Life,
    },
}

/// Whether a plugin is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It is.
    Running,
    /// Not since then.
    Stopped(Moment),
}

/// All devices of a node, by resource. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inventory {
    nodes: Nodes,
    resources: BTreeMap<ResourceName, Arc<Stock>>,
}

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stock {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) list: DeviceList,
    /// Why the list is empty, where the plugin listed more than there is room for.
    refused: Option<OverBudget>,
    sets: Sets,
    /// Since when its plugin is gone and has listed nothing: since a restart, or since it went away.
    late: Option<Moment>,
}

/// Which of the two sets of ids there are, empty or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Sets {
    /// None: never listed, or forgotten.
    #[default]
    None,
    /// The unhealthy one, empty: the plugin went away before it listed anything.
    UnhealthyOnly,
    /// Both.
    Both,
}

/// Devices of a resource by number, as the kubelet writes them into the node's status.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capacity {
    /// Healthy and unhealthy ones. A device that was listed twice, healthy and not, counts twice, as in the kubelet.
    pub capacity: BTreeMap<ResourceName, u64>,
    /// Healthy ones. No entry for a plugin that came and went without a list.
    pub allocatable: BTreeMap<ResourceName, u64>,
    /// Resources that were forgotten just now; their capacity on the node becomes 0. If there are any, the state
    /// is to be stored.
    pub forgotten: Vec<ResourceName>,
}

impl Inventory {
    /// A machine with those NUMA nodes and no devices.
    #[must_use]
    pub const fn new(nodes: Nodes) -> Self {
        Self { nodes, resources: BTreeMap::new() }
    }

    /// With these devices, without a plugin that is asked about them. Replaces what there was of the resource.
    #[must_use]
    pub fn with(
        mut self,
        resource: impl Into<ResourceName>,
        devices: impl IntoIterator<Item = Device>,
    ) -> Self {
        self.give(&resource.into(), Endpoint::Given, devices);
        self
    }

    /// With these devices, of which a kubelet's checkpoint names the ids. Replaces what there was of the resource.
    #[must_use]
    pub fn with_unlisted(
        mut self,
        resource: impl Into<ResourceName>,
        devices: impl IntoIterator<Item = Device>,
    ) -> Self {
        self.give(&resource.into(), Endpoint::Checkpoint, devices);
        self
    }

    fn give(
        &mut self,
        resource: &ResourceName,
        endpoint: Endpoint,
        devices: impl IntoIterator<Item = Device>,
    ) {
        self.set_endpoint(resource, endpoint);
        self.list(resource, devices);
    }

    /// The same devices on a machine with other nodes.
    #[must_use]
    pub fn on(&self, nodes: Nodes) -> Self {
        let moved = |stock: &Arc<Stock>| Stock { list: stock.list.on(&nodes), ..Stock::clone(stock) };
        let resources =
            self.resources.iter().map(|(name, stock)| (name.clone(), Arc::new(moved(stock)))).collect();
        Self { nodes, resources }
    }

    /// The machine's NUMA nodes.
    #[must_use]
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Where a resource's devices come from; `None`: no plugin, or forgotten after the grace period.
    #[must_use]
    pub fn endpoint(&self, resource: &ResourceName) -> Option<Endpoint> {
        self.stock(resource)?.endpoint
    }

    /// A plugin has registered (again), or is known to have been there before a restart. Its devices stay as they
    /// are until it lists them.
    pub fn set_endpoint(&mut self, resource: &ResourceName, endpoint: Endpoint) {
        self.stock_mut(resource).endpoint = Some(endpoint);
    }

    /// What is known of a resource after a restart: that it was there. It has no devices until its plugin is back.
    pub fn remember(&mut self, resource: &ResourceName, now: Moment) {
        let endpoint = Endpoint::Plugin { options: None, life: Life::Stopped(now) };
        *self.stock_mut(resource) =
            Stock { endpoint: Some(endpoint), sets: Sets::Both, late: Some(now), ..Stock::default() };
    }

    /// A plugin's list has arrived: it replaces the one before, devices in use included. Of an id that is listed
    /// twice the last entry counts, but it stays in the set of the first.
    ///
    /// Returns the devices whose health has changed, and those that were not listed before: the pods that hold
    /// one of them need a new status.
    pub fn list(
        &mut self,
        resource: &ResourceName,
        devices: impl IntoIterator<Item = Device>,
    ) -> Vec<DeviceId> {
        let list = DeviceList::new(devices, &self.nodes);
        let before = self.stock(resource);
        let changed = list.changed_since(before.map_or(&DeviceList::default(), |stock| &stock.list));
        let endpoint = before.and_then(|stock| stock.endpoint);
        self.resources.insert(
            resource.clone(),
            Arc::new(Stock { endpoint, list, refused: None, sets: Sets::Both, late: None }),
        );
        changed
    }

    /// A plugin has listed more than there is room for: it counts as listing nothing, until its next list.
    ///
    /// Returns what [`list`](Self::list) does.
    pub fn refuse_list(&mut self, resource: &ResourceName, why: OverBudget) -> Vec<DeviceId> {
        let changed = self.list(resource, []);
        self.stock_mut(resource).refused = Some(why);
        changed
    }

    /// Why the last list of a resource counts as empty; `None` if it does not.
    #[must_use]
    pub fn refused_list(&self, resource: &ResourceName) -> Option<OverBudget> {
        self.stock(resource)?.refused
    }

    /// A plugin has gone away, or its stream has ended: its healthy devices become unhealthy, and the grace period
    /// begins (anew). Nothing happens to a resource without endpoint, or with a given one.
    pub fn disconnect(&mut self, resource: &ResourceName, now: Moment) {
        let Some(Endpoint::Plugin { options, .. }) = self.endpoint(resource) else { return };
        let stock = self.stock_mut(resource);
        stock.endpoint = Some(Endpoint::Plugin { options, life: Life::Stopped(now) });
        stock.list.lose();
        stock.refused = None;
        stock.late = stock.late.or(Some(now));
        if stock.sets == Sets::None {
            stock.sets = Sets::UnhealthyOnly;
        }
    }

    /// How many devices there are; forgets the resources whose plugin has been gone for longer than
    /// [`GRACE_PERIOD`]. Nothing is forgotten anywhere else.
    pub fn capacity(&mut self, now: Moment) -> Capacity {
        let mut result = Capacity::default();
        for (resource, stock) in &mut self.resources {
            if stock.sets == Sets::None {
                continue;
            }
            if stock.has_expired(now) {
                result.forgotten.push(resource.clone());
                let stock = Arc::make_mut(stock);
                stock.endpoint = None;
                stock.sets = Sets::None;
                stock.late = None;
                stock.list.forget();
                continue;
            }
            let healthy = stock.list.healthy().count() as u64;
            let unhealthy = stock.list.unhealthy().count() as u64;
            result.capacity.insert(resource.clone(), healthy + unhealthy);
            if stock.is_registered() {
                result.allocatable.insert(resource.clone(), healthy);
            }
        }
        result
    }

    /// Drops the lists of forgotten resources that are not `held`. Returns whether there were any. No status
    /// needs their devices any more: a plugin that registers again lists them anew.
    pub fn drop_forgotten(&mut self, held: impl Fn(&ResourceName) -> bool) -> bool {
        let before = self.resources.len();
        let is_forgotten = |stock: &Stock| stock.sets == Sets::None && stock.endpoint.is_none();
        self.resources.retain(|resource, stock| !is_forgotten(stock) || held(resource));
        self.resources.len() < before
    }

    /// Since when the plugin of a resource is gone and has listed nothing: since the restart after which it has
    /// not come back, or since it went away. `None`: it is there, or none is known.
    #[must_use]
    pub fn late_since(&self, resource: &ResourceName) -> Option<Moment> {
        self.stock(resource)?.late
    }

    /// The registered resources, by name.
    pub fn registered(&self) -> impl Iterator<Item = &ResourceName> {
        self.resources.iter().filter(|(_, stock)| stock.is_registered()).map(|(name, _)| name)
    }

    /// Whether a plugin serves a registered resource: an admission may have to ask it.
    #[must_use]
    pub fn has_plugins(&self) -> bool {
        let has_plugin = |resource| matches!(self.endpoint(resource), Some(Endpoint::Plugin { .. }));
        self.registered().any(has_plugin)
    }

    /// Whether the resource has a set of healthy devices, be it empty.
    #[must_use]
    pub fn is_registered(&self, resource: &ResourceName) -> bool {
        self.stock(resource).is_some_and(Stock::is_registered)
    }

    /// The healthy devices of a resource, in byte order.
    pub fn healthy(&self, resource: &ResourceName) -> impl Iterator<Item = &DeviceId> {
        let list = self.stock(resource).map(|stock| &stock.list);
        list.into_iter().flat_map(DeviceList::healthy).map(|entry| &entry.device.id)
    }

    /// The resources with a set of unhealthy devices, and these: every registered one, and those whose plugin went
    /// away before it listed anything.
    pub fn unhealthy(&self) -> impl Iterator<Item = (&ResourceName, impl Iterator<Item = &DeviceId>)> {
        let known = self.resources.iter().filter(|(_, stock)| stock.sets != Sets::None);
        known.map(|(name, stock)| (name, stock.list.unhealthy().map(|entry| &entry.device.id)))
    }

    /// The resources that have, or had, an endpoint or a list.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceName> {
        self.resources.keys()
    }

    /// The devices of a resource as last listed, in byte order of ids; healthy or not, and kept after the plugin
    /// has gone.
    pub fn devices(&self, resource: &ResourceName) -> impl Iterator<Item = &Device> {
        let list = self.stock(resource).map(|stock| &stock.list);
        list.into_iter().flat_map(DeviceList::entries).map(|entry| &entry.device)
    }

    /// A device as last listed; `None` if it is not in the list.
    #[must_use]
    pub fn device(&self, resource: &ResourceName, id: &DeviceId) -> Option<&Device> {
        self.stock(resource)?.list.get(id).map(|entry| &entry.device)
    }

    pub(crate) fn stock(&self, resource: &ResourceName) -> Option<&Stock> {
        self.resources.get(resource).map(AsRef::as_ref)
    }

    fn stock_mut(&mut self, resource: &ResourceName) -> &mut Stock {
        Arc::make_mut(self.resources.entry(resource.clone()).or_default())
    }
}

impl Stock {
    pub(crate) fn is_registered(&self) -> bool {
        self.sets == Sets::Both
    }

    /// Whether a device without a NUMA node may be near one all the same.
    pub(crate) fn are_nodes_unknown(&self) -> bool {
        self.endpoint == Some(Endpoint::Checkpoint)
    }

    fn has_expired(&self, now: Moment) -> bool {
        match self.endpoint {
            None => true,
            Some(Endpoint::Plugin { life: Life::Stopped(since), .. }) => {
                now.0.saturating_sub(since.0) > GRACE_PERIOD
            }
            Some(Endpoint::Given | Endpoint::Checkpoint | Endpoint::Plugin { .. }) => false,
        }
    }

    /// Where a device is, as far as the list says.
    pub(crate) fn topology(&self, id: &DeviceId) -> &Topology {
        self.list.topology(id).unwrap_or(&Topology::Absent)
    }
}

impl Endpoint {
    /// Whether its plugin can be called; a stopped one cannot.
    pub(crate) fn check(self, resource: &ResourceName) -> Result<(), PluginError> {
        match self {
            Self::Plugin { life: Life::Stopped(_), .. } => Err(PluginError::Stopped(resource.clone())),
            Self::Given | Self::Checkpoint | Self::Plugin { .. } => Ok(()),
        }
    }

    pub(crate) fn options(self) -> PluginOptions {
        match self {
            Self::Plugin { options, .. } => options.unwrap_or_default(),
            Self::Given | Self::Checkpoint => PluginOptions::default(),
        }
    }
}
