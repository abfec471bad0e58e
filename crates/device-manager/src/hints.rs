//! Where a unit's devices could come from.
//!
//! The kubelet lists every set of those nodes that have devices of the resource ([`DeviceHintNodes`]: of all
//! nodes, before 1.36): a set will do if enough free devices list one of its nodes, and if each device that the
//! pod has left over from init containers does. More nodes never have fewer devices, so that is one open
//! family: inside the nodes with devices, meeting each left-over device, with enough in sum. Preferred are sets
//! as small as *all* devices allow, held or free, healthy or not; so there may be an answer without a preferred
//! set. Devices that list no known node never count, even if they would be enough.
//!
//! Where no device lists a node of the machine but some list others, all nodes of the machine are looked at, and
//! none has a device: impossible, unless nothing is asked.
//!
//! A resource that is asked in the amount 0 has an answer too: any node that has a device.

use alloc::vec;
use alloc::vec::Vec;

use kubelet_release::DeviceHintNodes;
use numa_bitmask::NodeMask;
use pod_spec::{Amounts, Pod, ResourceName, Unit};
use topology_hint::{Answers, Solution};

use crate::device::DeviceId;
use crate::device_ids::DeviceIds;
use crate::inventory::{Inventory, Stock};
use crate::links::{Choices, Chosen};
use crate::list::Entry;
use crate::{Devices, Holdings};

/// Counts for so many distinct places are kept without allocation; no machine's devices have more.
const PLACES: usize = 64;

/// What a unit can draw on.
#[derive(Clone, Copy)]
enum Supply<'a> {
    /// Devices that it holds already, and nothing else; listed or not, healthy or not.
    Own(&'a DeviceIds),
    /// Healthy devices that are not taken, and what the pod's init containers have left. A device that is both
    /// counts twice, as in the kubelet.
    Free { taken: Option<&'a DeviceIds>, reusable: Option<&'a DeviceIds>, on: Option<Chosen<'a>> },
}

impl Devices {
    /// The devices that `unit` asks for, by resource: limits, rounded up to whole devices; of a pod its effective
    /// ones. Resources without devices are left out.
    pub fn asked<'a>(
        self,
        inventory: &'a Inventory,
        held: &'a Holdings,
        unit: Unit<'a>,
    ) -> impl Iterator<Item = (ResourceName, u64)> + use<'a> {
        asked_of(inventory, held, unit).map(|(resource, count, _)| (resource, count))
    }

    /// Pushes an answer for each device resource that `unit` asks for, in order of name: no opinion if no device of
    /// it lists a node or only those that are held do ([`Endpoint::Checkpoint`](crate::Endpoint::Checkpoint)), impossible if too few are free or it holds another number than it asks for, else a family.
    ///
    /// The kubelet collects dead pods first: see [`Holdings::retain`].
    pub fn hints(self, inventory: &Inventory, held: &Holdings, unit: Unit<'_>, answers: &mut Answers) {
        self.hints_on(inventory, held, unit, None, answers);
    }

    /// The same where devices that the unit does not have yet may only be those of links that have been chosen.
    pub fn hints_on(
        self,
        inventory: &Inventory,
        held: &Holdings,
        unit: Unit<'_>,
        links: Option<Choices<'_>>,
        answers: &mut Answers,
    ) {
        for (resource, count, stock) in asked_of(inventory, held, unit) {
            match stock.filter(|stock| stock.list.is_aligned()) {
                None => answers.push_no_opinion(resource),
                Some(stock) => {
                    let on = links.and_then(|links| links.of(&resource));
                    self.unit_hints(inventory, (stock, on), held, unit, (resource, count), answers);
                }
            }
        }
    }

    /// For each device resource that `unit` asks for, the nodes of which the kubelet looks at every set to answer
    /// [`hints`](Self::hints). Left out are those that it answers before: no device of the resource lists a node, too
    /// few are free, or the unit holds another number than it asks for.
    pub fn walked<'a>(
        self,
        inventory: &'a Inventory,
        held: &'a Holdings,
        unit: Unit<'a>,
    ) -> impl Iterator<Item = (ResourceName, NodeMask)> + use<'a> {
        asked_of(inventory, held, unit).filter_map(move |(resource, count, stock)| {
            let stock = stock.filter(|stock| stock.list.is_aligned() && !stock.are_nodes_unknown())?;
            let own = held_by(held, unit, &resource);
            let supply = supply(held, unit, &resource, &own, None);
            let free = supply.count(stock, &mut vec![0; stock.list.places().len()]).free;
            supply.allows(stock, count, free).then(|| (resource, self.within(inventory, stock)))
        })
    }

    /// The nodes of which every set may be an answer.
    fn within(self, inventory: &Inventory, stock: &Stock) -> NodeMask {
        let with_devices = stock.list.nodes();
        match self.hint_nodes {
            DeviceHintNodes::WithDevices if !with_devices.is_empty() => with_devices,
            DeviceHintNodes::WithDevices | DeviceHintNodes::OfMachine => inventory.nodes().all(),
        }
    }

    fn unit_hints(
        self,
        inventory: &Inventory,
        (stock, on): (&Stock, Option<Chosen<'_>>),
        held: &Holdings,
        unit: Unit<'_>,
        (resource, count): (ResourceName, u64),
        answers: &mut Answers,
    ) {
        let own = held_by(held, unit, &resource);
        let supply = supply(held, unit, &resource, &own, on);
        self.push(inventory, stock, supply, (resource, count), answers);
    }

    fn push(
        self,
        inventory: &Inventory,
        stock: &Stock,
        supply: Supply<'_>,
        (resource, count): (ResourceName, u64),
        answers: &mut Answers,
    ) {
        let within = self.within(inventory, stock);
        let left_over = supply.left_over(stock);
        let reused = left_over.clone().count() as u64;
        let needed = count.saturating_sub(reused);

        let places = stock.list.places();
        let (mut few, mut many) = ([0; PLACES], Vec::new());
        let counts = if let Some(few) = few.get_mut(..places.len()) {
            few
        } else {
            many.resize(places.len(), 0);
            many.as_mut_slice()
        };
        let Available { free, near: found } = supply.count(stock, counts);
        let is_allowed = supply.allows(stock, count, free);
        if is_allowed && stock.are_nodes_unknown() {
            answers.push_no_opinion(resource);
            return;
        }
        if !is_allowed || within.is_empty() || found < needed || left_over.clone().any(NodeMask::is_empty) {
            answers.push_impossible(resource);
            return;
        }
        let must =
            left_over.clone().filter(|mask| mask.len() == 1).fold(NodeMask::EMPTY, |all, mask| all | mask);
        let size = stock.list.narrowest(count).unwrap_or(Solution::Exact(within.len()));
        let mut family = answers.push_family(resource);
        family.open(within).must(must).preferred_solution(size);
        for mask in left_over.filter(|mask| mask.len() > 1) {
            family.touch(mask);
        }
        let supplies = places.iter().copied().zip(counts.iter().copied());
        family.need(needed, supplies.filter(|(mask, count)| !mask.is_empty() && *count > 0));
    }
}

/// [`Devices::asked`], and what there is of each.
fn asked_of<'a>(
    inventory: &'a Inventory,
    held: &'a Holdings,
    unit: Unit<'a>,
) -> impl Iterator<Item = (ResourceName, u64, Option<&'a Stock>)> + use<'a> {
    let (container, pod) = match unit {
        Unit::Container(_, container) => (Some(&container.limits), None),
        Unit::Pod(pod) => (None, Some(pod.containers_amounts(Amounts::Limits))),
    };
    let limits = container.into_iter().flatten().map(|(resource, limit)| (resource.clone(), limit.value()));
    let effective = pod.into_iter().flatten().map(|(resource, limit)| (resource, limit.value()));
    limits.chain(effective).filter_map(|(resource, count)| {
        let stock = inventory.stock(&resource);
        held.is_device_of(stock, &resource).then(|| (resource, whole(count), stock))
    })
}

/// A count of devices; a negative amount counts as 0.
fn whole(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// The devices that `unit` holds.
fn held_by(held: &Holdings, unit: Unit<'_>, resource: &ResourceName) -> DeviceIds {
    match unit {
        Unit::Container(pod, container) => {
            held.held(&pod.uid, &container.name, resource).map(crate::Held::devices).unwrap_or_default()
        }
        Unit::Pod(pod) => held_by_pod(held, pod, resource),
    }
}

/// What `unit` can draw on; `own` are the devices that it holds.
fn supply<'a>(
    held: &'a Holdings,
    unit: Unit<'_>,
    resource: &ResourceName,
    own: &'a DeviceIds,
    on: Option<Chosen<'a>>,
) -> Supply<'a> {
    if !own.is_empty() {
        return Supply::Own(own);
    }
    let reusable = match unit {
        Unit::Container(pod, _) => held.reusable(&pod.uid, resource),
        Unit::Pod(_) => None,
    };
    Supply::Free { taken: held.taken(resource), reusable, on }
}

fn held_by_pod(held: &Holdings, pod: &Pod, resource: &ResourceName) -> DeviceIds {
    let mut own = DeviceIds::new();
    for (_, _, held) in held.of_pod(&pod.uid).filter(|(_, other, _)| *other == resource) {
        own.extend(held.devices());
    }
    own
}

/// What a supply has.
struct Available {
    /// Devices, left-over ones apart.
    free: u64,
    /// Those of them that are near a known node.
    near: u64,
}

impl<'a> Supply<'a> {
    /// Adds to each place's count the devices that can be drawn on there.
    fn count(self, stock: &Stock, counts: &mut [u64]) -> Available {
        let mut found = Available { free: 0, near: 0 };
        let mut add = |entry: &Entry| {
            found.free += 1;
            if !entry.mask.is_empty() {
                counts[entry.place] += 1;
                found.near += 1;
            }
        };
        match self {
            Self::Free { on: Some(on), .. } => self.visit(stock, |entry| {
                if on.allows(&entry.device.id) {
                    add(entry);
                }
            }),
            Self::Own(_) | Self::Free { on: None, .. } => self.visit(stock, add),
        }
        found
    }

    /// Whether there are enough devices at all, wherever they are. `free` is how many listed ones can be drawn on.
    fn allows(self, stock: &Stock, count: u64, free: u64) -> bool {
        match self {
            Self::Own(own) => own.len() as u64 == count,
            Self::Free { taken, reusable, .. } => {
                let is_free = |id: &DeviceId| {
                    stock.list.is_healthy(id) && !taken.is_some_and(|taken| taken.contains(id))
                };
                let more = reusable.into_iter().flatten().filter(|id| !is_free(id)).count() as u64;
                free + more >= count
            }
        }
    }

    /// Every listed device that can be drawn on, left-over ones apart.
    fn visit(self, stock: &Stock, mut visit: impl FnMut(&Entry)) {
        let ids = match self {
            Self::Own(own) => Some(own),
            Self::Free { taken, .. } => taken,
        };
        let none_taken = matches!(self, Self::Free { .. }) && ids.is_none_or(DeviceIds::is_empty);
        if none_taken {
            stock.list.healthy().for_each(visit);
            return;
        }
        let mut ids = ids.map(DeviceIds::walk).unwrap_or_default();
        for entry in stock.list.entries() {
            let mut is_named = || ids.contains(&entry.device.id);
            let counts = match self {
                Self::Own(_) => is_named(),
                Self::Free { .. } => entry.standing.healthy && !is_named(),
            };
            if counts {
                visit(entry);
            }
        }
    }

    /// The known nodes of each left-over device that says where it is; empty if it says so of no known one.
    fn left_over(self, stock: &'a Stock) -> impl Iterator<Item = NodeMask> + Clone + use<'a> {
        let reusable = match self {
            Self::Own(_) => None,
            Self::Free { reusable, .. } => reusable,
        };
        let listed = reusable.into_iter().flatten().filter_map(|id| stock.list.get(id));
        listed.filter(|entry| entry.device.topology != crate::Topology::Absent).map(|entry| entry.mask)
    }
}
