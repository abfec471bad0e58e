//! Which devices every container holds.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use pod_spec::{ContainerName, PodUid, ResourceName, Role};
use smallvec::{SmallVec, smallvec};
use topology_model::NodeId;

use crate::device::{DeviceId, Topology};
use crate::device_ids::DeviceIds;
use crate::inventory::{Inventory, Stock};
use crate::question::AllocateReply;

/// By container and resource.
type OfPod = Vec<Entry>;
type ByResource = BTreeMap<ResourceName, Arc<DeviceIds>>;

/// The devices of each container, those that are not to be given out, and those of finished init containers that
/// later containers of the same pod take first. A value: cheap to clone, every change gives the next one.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    /// No pod is here without an entry.
    held: Arc<BTreeMap<PodUid, Arc<OfPod>>>,
    /// Usually the union of `held`; not where a failure left devices blocked.
    taken: Arc<ByResource>,
    /// Of the pod that was served last; forgotten when another is.
    reusable: Option<(PodUid, Arc<ByResource>)>,
    sums: Sums,
}

/// Whether what is taken is what pods hold, each device by one of them: then what a dead pod held can be taken off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Sums {
    /// It is.
    #[default]
    Add,
    /// A failure has left devices blocked, or what was stored is odd: it has to be summed up anew.
    MayNotAdd,
}

impl PartialEq for Holdings {
    fn eq(&self, other: &Self) -> bool {
        self.held == other.held && self.taken == other.taken && self.reusable == other.reusable
    }
}

impl Eq for Holdings {}

/// One resource of one container.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    container: ContainerName,
    resource: ResourceName,
    held: Held,
}

impl Entry {
    fn cmp_key(&self, container: &ContainerName, resource: &ResourceName) -> Ordering {
        self.container.cmp(container).then_with(|| self.resource.cmp(resource))
    }
}

/// What a container holds of one resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// In order of nodes. Mostly one device on one node.
    by_node: SmallVec<[(HeldOn, SmallVec<[DeviceId; 1]>); 1]>,
    /// What the plugin answered when it gave them out; empty if there is no plugin.
    pub reply: AllocateReply,
}

/// Under which node a device was recorded. The kubelet writes -1 for the first, so a device that lists node -1 is
/// recorded there too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HeldOn {
    /// Under none.
    NoNode,
    /// Under a node that it listed at that time.
    Node(NodeId),
}

impl From<NodeId> for HeldOn {
    fn from(id: NodeId) -> Self {
        if id == NodeId(-1) { Self::NoNode } else { Self::Node(id) }
    }
}

impl HeldOn {
    /// The node's id as the kubelet writes it.
    #[must_use]
    pub const fn id(self) -> NodeId {
        match self {
            Self::NoNode => NodeId(-1),
            Self::Node(id) => id,
        }
    }
}

impl Held {
    /// As it was stored: the devices under each node, and the plugin's answer.
    pub fn new(by_node: impl IntoIterator<Item = (HeldOn, Vec<DeviceId>)>, reply: AllocateReply) -> Self {
        // Of a node that is there twice the last list counts.
        let by_node: BTreeMap<HeldOn, Vec<DeviceId>> = by_node.into_iter().collect();
        Self { by_node: by_node.into_iter().map(|(node, ids)| (node, ids.into())).collect(), reply }
    }

    /// Records each device under each node that it lists now (twice if it lists it twice), or under none.
    pub(crate) fn record(stock: &Stock, devices: &DeviceIds, reply: AllocateReply) -> Self {
        let mut held = Self { by_node: SmallVec::new(), reply };
        for id in devices {
            match stock.topology(id) {
                Topology::Nodes(nodes) if !nodes.is_empty() => {
                    nodes.iter().for_each(|node| held.add((*node).into(), id));
                }
                _ => held.add(HeldOn::NoNode, id),
            }
        }
        held
    }

    fn add(&mut self, node: HeldOn, id: &DeviceId) {
        match self.by_node.binary_search_by_key(&node, |(node, _)| *node) {
            Ok(at) => self.by_node[at].1.push(id.clone()),
            Err(at) => self.by_node.insert(at, (node, smallvec![id.clone()])),
        }
    }

    /// The devices under each node, in order of nodes; one on several nodes is there several times.
    pub fn by_node(&self) -> impl Iterator<Item = (HeldOn, &[DeviceId])> {
        self.by_node.iter().map(|(node, ids)| (*node, ids.as_slice()))
    }

    /// Each device once, in byte order.
    #[must_use]
    pub fn devices(&self) -> DeviceIds {
        self.ids().cloned().collect()
    }

    /// How many devices these are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self.by_node.as_slice() {
            // Devices that list one node, as nearly all do.
            [(_, ids)] if ids.is_sorted_by(|one, next| one < next) => ids.len(),
            _ => self.devices().len(),
        }
    }

    /// One device for each node that it is recorded under.
    fn ids(&self) -> impl Iterator<Item = &DeviceId> {
        self.by_node.iter().flat_map(|(_, ids)| ids)
    }
}

impl Holdings {
    /// Holdings as they were stored.
    pub fn new(held: impl IntoIterator<Item = (PodUid, ContainerName, ResourceName, Held)>) -> Self {
        let mut holdings = Self::default();
        for (pod, container, resource, held) in held {
            holdings.hold(&pod, &container, &resource, held);
        }
        holdings.recompute();
        holdings
    }

    /// What a container holds of a resource; `None` if it has been given nothing of it.
    #[must_use]
    pub fn held(&self, pod: &PodUid, container: &ContainerName, resource: &ResourceName) -> Option<&Held> {
        let of = self.held.get(pod)?;
        let at = of.binary_search_by(|entry| entry.cmp_key(container, resource)).ok()?;
        Some(&of[at].held)
    }

    /// All that one container holds, by resource.
    pub fn of_container(
        &self,
        pod: &PodUid,
        container: &ContainerName,
    ) -> impl Iterator<Item = (&ResourceName, &Held)> + use<'_> {
        entries_of(self.held.get(pod), container).iter().map(|entry| (&entry.resource, &entry.held))
    }

    /// All that one pod holds, by container and resource.
    pub fn of_pod(
        &self,
        pod: &PodUid,
    ) -> impl Iterator<Item = (&ContainerName, &ResourceName, &Held)> + use<'_> {
        let entries = self.held.get(pod).into_iter().flat_map(|of| of.iter());
        entries.map(|Entry { container, resource, held }| (container, resource, held))
    }

    /// Everything, by pod, container and resource.
    pub fn iter(&self) -> impl Iterator<Item = (&PodUid, &ContainerName, &ResourceName, &Held)> {
        self.pods().flat_map(|pod| {
            self.of_pod(pod).map(move |(container, resource, held)| (pod, container, resource, held))
        })
    }

    /// The pods that hold something, in order of UID.
    pub fn pods(&self) -> impl Iterator<Item = &PodUid> {
        self.held.keys()
    }

    /// Whether the pod holds anything.
    #[must_use]
    pub fn has_pod(&self, pod: &PodUid) -> bool {
        self.held.contains_key(pod)
    }

    /// The devices of a resource that are not given out: held, or blocked after a failure. `None` if no
    /// container holds any of the resource and none has tried to since the last recomputation.
    #[must_use]
    pub fn taken(&self, resource: &ResourceName) -> Option<&DeviceIds> {
        self.taken.get(resource).map(AsRef::as_ref)
    }

    /// [`Holdings::taken`] of every resource that has it, by name.
    pub fn all_taken(&self) -> impl Iterator<Item = (&ResourceName, &DeviceIds)> {
        self.taken.iter().map(|(resource, ids)| (resource, ids.as_ref()))
    }

    /// The pod that was served last, and what finished init containers of it have left, by resource.
    #[must_use]
    pub fn all_reusable(&self) -> Option<(&PodUid, impl Iterator<Item = (&ResourceName, &DeviceIds)>)> {
        let (pod, left) = self.reusable.as_ref()?;
        Some((pod, left.iter().map(|(resource, ids)| (resource, ids.as_ref()))))
    }

    /// What finished init containers of the pod have left of a resource.
    #[must_use]
    pub fn reusable(&self, pod: &PodUid, resource: &ResourceName) -> Option<&DeviceIds> {
        let (_, left) = self.reusable.as_ref().filter(|(owner, _)| owner == pod)?;
        left.get(resource).map(AsRef::as_ref)
    }

    /// The first pod, in order of UID, that holds a device of that id, of whatever resource. In the kubelet any
    /// one of them.
    #[must_use]
    pub fn holder(&self, id: &DeviceId) -> Option<&PodUid> {
        let holds = |held: &Held| held.ids().any(|own| own == id);
        self.iter().find(|(_, _, _, held)| holds(held)).map(|(pod, ..)| pod)
    }

    /// The pod that holds a device of a resource: ids are those of a resource, other plugins may use them too. Kubelets
    /// up to v1.36 look for them [everywhere](Self::holder).
    #[must_use]
    pub fn holder_of(&self, resource: &ResourceName, id: &DeviceId) -> Option<&PodUid> {
        let holds = |held: &Held| held.ids().any(|own| own == id);
        self.iter().find(|(_, _, of, held)| *of == resource && holds(held)).map(|(pod, ..)| pod)
    }

    /// Whether limits on the resource are for devices: it is registered, or devices of it are taken.
    #[must_use]
    pub fn is_device(&self, inventory: &Inventory, resource: &ResourceName) -> bool {
        self.is_device_of(inventory.stock(resource), resource)
    }

    /// The same with what there is of it.
    pub(crate) fn is_device_of(&self, stock: Option<&Stock>, resource: &ResourceName) -> bool {
        stock.is_some_and(Stock::is_registered) || self.taken.contains_key(resource)
    }

    /// The holdings without one pod. Nothing changes if it holds nothing; else devices that a failure left blocked
    /// are free again too.
    #[must_use]
    pub fn release(&self, pod: &PodUid) -> Self {
        let mut after = self.clone();
        if self.has_pod(pod) {
            after.remove(core::slice::from_ref(pod));
        }
        after
    }

    /// The holdings of those pods that `keep` says yes to: what becomes of dead pods. If any goes, devices that a
    /// failure left blocked are free again too.
    #[must_use]
    pub fn retain(&self, keep: impl FnMut(&PodUid) -> bool) -> Self {
        let mut after = self.clone();
        after.collect(keep);
        after
    }

    /// The same in place.
    pub(crate) fn collect(&mut self, mut keep: impl FnMut(&PodUid) -> bool) {
        let dead: Vec<PodUid> = self.held.keys().filter(|pod| !keep(pod)).cloned().collect();
        self.remove(&dead);
    }

    fn remove(&mut self, dead: &[PodUid]) {
        if dead.is_empty() {
            return;
        }
        let (held, taken) = (Arc::make_mut(&mut self.held), Arc::make_mut(&mut self.taken));
        for of in dead.iter().filter_map(|pod| held.remove(pod)) {
            for entry in &*of {
                if let Some(ids) = taken.get_mut(&entry.resource) {
                    *Arc::make_mut(ids) -= &entry.held.devices();
                }
            }
        }
        match self.sums {
            Sums::Add => taken.retain(|_, ids| !ids.is_empty()),
            Sums::MayNotAdd => self.recompute(),
        }
    }

    /// What a state file has of them: who holds which devices.
    #[must_use]
    pub fn stored(&self) -> Self {
        let held = Arc::clone(&self.held);
        Self { held, taken: Arc::default(), reusable: None, sums: Sums::MayNotAdd }
    }

    /// The same, as they were before a container was given any of a resource that is not among `before`.
    #[must_use]
    pub fn stored_before(&self, pod: &PodUid, container: &ContainerName, before: &[ResourceName]) -> Self {
        let mut stored = self.stored();
        let is_new = |entry: &Entry| entry.container == *container && !before.contains(&entry.resource);
        if self.held.get(pod).is_some_and(|of| of.iter().any(is_new)) {
            let held = Arc::make_mut(&mut stored.held);
            let of = held.get_mut(pod).map(Arc::make_mut).map(|of| {
                of.retain(|entry| !is_new(entry));
                of.is_empty()
            });
            if of == Some(true) {
                held.remove(pod);
            }
        }
        stored
    }

    /// The holdings of a state file after a start.
    #[must_use]
    pub fn started(&self) -> Self {
        let mut started = self.stored();
        started.recompute();
        started
    }

    /// Devices that a failure left blocked are free again: what is taken is what is held.
    pub(crate) fn recompute(&mut self) {
        let mut all = BTreeMap::<ResourceName, Vec<DeviceId>>::new();
        self.sums = Sums::Add;
        for of in self.held.values() {
            let mut own = BTreeMap::<&ResourceName, DeviceIds>::new();
            for entry in &**of {
                own.entry(&entry.resource).or_default().extend(entry.held.ids().cloned());
            }
            for (resource, own) in own {
                if own.is_empty() {
                    self.sums = Sums::MayNotAdd;
                }
                all.entry(resource.clone()).or_default().extend(own);
            }
        }
        let mut taken = ByResource::new();
        for (resource, ids) in all {
            let count = ids.len();
            let ids: DeviceIds = ids.into_iter().collect();
            if ids.len() < count {
                self.sums = Sums::MayNotAdd;
            }
            taken.insert(resource, Arc::new(ids));
        }
        self.taken = Arc::new(taken);
    }

    /// A failure may have left devices blocked.
    pub(crate) fn may_be_blocked(&mut self) {
        self.sums = Sums::MayNotAdd;
    }

    pub(crate) fn hold(
        &mut self,
        pod: &PodUid,
        container: &ContainerName,
        resource: &ResourceName,
        held: Held,
    ) {
        let of = Arc::make_mut(Arc::make_mut(&mut self.held).entry(pod.clone()).or_default());
        match of.binary_search_by(|entry| entry.cmp_key(container, resource)) {
            Ok(at) => of[at].held = held,
            Err(at) => {
                let (container, resource) = (container.clone(), resource.clone());
                of.insert(at, Entry { container, resource, held });
            }
        }
    }

    /// `ids`, if any, are not given out any more; the resource counts as one of devices from now on.
    pub(crate) fn take(&mut self, resource: &ResourceName, ids: DeviceIds) {
        if ids.is_empty() && self.taken.contains_key(resource) {
            return;
        }
        let taken = Arc::make_mut(&mut self.taken).entry(resource.clone()).or_default();
        if !ids.is_empty() {
            Arc::make_mut(taken).extend(ids);
        }
    }

    /// `pod` is being served: what other pods could reuse is forgotten.
    pub(crate) fn begin(&mut self, pod: &PodUid) {
        if self.reusable.as_ref().is_none_or(|(owner, _)| owner != pod) {
            self.reusable = Some((pod.clone(), Arc::default()));
        }
    }

    /// A container of the pod that is being served has all it asked for: init containers leave theirs to later
    /// ones, the others keep theirs.
    pub(crate) fn served(&mut self, pod: &PodUid, container: &ContainerName, role: Role) {
        let own = entries_of(self.held.get(pod), container);
        let Some((_, left)) = self.reusable.as_mut().filter(|_| !own.is_empty()) else { return };
        let left = Arc::make_mut(left);
        for Entry { resource, held, .. } in own {
            let left = left.entry(resource.clone()).or_default();
            match role {
                Role::Init => Arc::make_mut(left).extend(held.devices()),
                Role::Sidecar | Role::App if left.is_empty() => {}
                Role::Sidecar | Role::App => *Arc::make_mut(left) -= &held.devices(),
            }
        }
    }
}

/// The entries of one container.
fn entries_of<'a>(of: Option<&'a Arc<OfPod>>, container: &ContainerName) -> &'a [Entry] {
    let of = of.map_or(&[][..], |of| of.as_slice());
    let from = of.partition_point(|entry| entry.container < *container);
    let rest = &of[from..];
    &rest[..rest.partition_point(|entry| entry.container == *container)]
}
