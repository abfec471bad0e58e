//! Pods that ask for something else.
//!
//! A candidate says for some resources how much the refused unit may ask for. It becomes a pod by lowering what its
//! containers ask for: of a single one its amount, of several the largest first, so that few lines of a manifest change.
//! A container that asks for whole CPUs, and so gets exclusive ones, keeps asking for whole ones where one is left to it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use k8s_quantity::{Format, Quantity};
use numa_bitmask::NodeMask;
use pod_spec::{
    Container, ContainerName, Pod, PodLevelResources, QosClass, ResourceList, ResourceName, Role,
};
use topology_hint::Hint;

use crate::attempt::Placement;
use crate::attempt::not_linked::NotLinked;
use crate::attempt::refusal::Cause;
use crate::attempt::trace::{RowKind, UnitName, UnitTrace};
use crate::explain::change::{Asks, Change};
use crate::explain::explanation::WouldFit;
use crate::explain::other_node::page_size;
use crate::explain::trial::{MOST_OF_A_KIND, Trial};

/// Whether a change asks for no more than another one does with this amount.
fn is_kept_by(known: &Asks, asks: &[Asks]) -> bool {
    let is_same = |ask: &&Asks| ask.container == known.container && ask.resource == known.resource;
    asks.iter().find(is_same).is_some_and(|ask| ask.fits <= known.fits)
}

/// Whether no container is on more NUMA nodes than it needs.
pub(crate) fn is_aligned(placement: &Placement) -> bool {
    placement.containers.iter().all(|placed| placed.hint.is_none_or(Hint::is_preferred))
}

/// What a unit may ask for, by resource, beside what it asks for.
type Room = BTreeMap<ResourceName, Lower>;

/// One of these.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Lower {
    asked: Quantity,
    fits: Quantity,
    counted: Counted,
}

/// Whose requests add up to what is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counted {
    /// Of all containers: the sum that the kubelet compares with what the node has.
    Every,
    /// Of those that a manager allocates to. The CPU manager passes over parts of CPUs.
    Allocated,
}

impl Trial<'_> {
    /// The refused unit with what a node set has left, for each that has some of everything; and what the kubelet's
    /// message says there is.
    pub(crate) fn asks_less(&mut self) -> Vec<WouldFit> {
        let mut candidates: Vec<Room> = self.room_by_message().into_iter().collect();
        candidates.extend(self.room_on_links());
        if let Some(unit) = self.unit() {
            for nodes in self.node_sets() {
                candidates.extend(self.room_on(unit, nodes));
            }
        }
        candidates.sort_by_key(cut);
        candidates.dedup();
        let mut found: Vec<WouldFit> = Vec::new();
        for room in candidates {
            let Some((smaller, asks)) = self.lowered(&room) else { continue };
            // A node set can come to the same as one before it, or to less of everything.
            let is_no_better = |known: &WouldFit| match &known.change {
                Change::AskLess(known_asks) => {
                    *known_asks == asks
                        || is_aligned(&known.placement)
                            && known_asks.iter().all(|known| is_kept_by(known, &asks))
                }
                _ => false,
            };
            if found.iter().any(is_no_better) {
                continue;
            }
            found.extend(self.attempt_pod(smaller).with(Change::AskLess(asks)));
            if found.len() == MOST_OF_A_KIND {
                break;
            }
        }
        found
    }

    /// The next whole cores above what was asked for.
    pub(crate) fn asks_more(&mut self) -> Option<WouldFit> {
        use cpu_manager::{AllocateError, WholeCoresError};

        let Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotMultiple { requested, per_core })) =
            &self.refused.cause
        else {
            return None;
        };
        let name = self.refused.container.as_ref()?;
        let fits = cpus(requested.checked_next_multiple_of(*per_core)? as u64);
        let mut larger = self.pod.clone();
        let container = larger.containers.iter_mut().find(|container| container.name == *name)?;
        let asks = Vec::from([set(container, &"cpu".into(), fits)?]);
        self.attempt_pod(larger).with(Change::AskMore(asks))
    }

    /// What a unit would have to ask less of to be on `nodes` alone; `None` if it need not, or if there is nothing left
    /// of something.
    fn room_on(&self, unit: &UnitTrace, nodes: NodeMask) -> Option<Room> {
        let mut room = Room::new();
        for row in &unit.resources {
            let Some(amounts) = &row.amounts else { continue };
            let free = amounts.free_on(nodes);
            if free < amounts.asked {
                // No other devices can be had than those that are allocated.
                if row.kind == RowKind::Claims {
                    return None;
                }
                let lower = self.lower(&row.resource, amounts.asked, free)?;
                room.insert(row.resource.clone(), lower);
            }
        }
        (!room.is_empty()).then_some(room)
    }

    /// What links that lack something have.
    fn room_on_links(&self) -> Vec<Room> {
        let links = match &self.refused.cause {
            Cause::NotLinked(not_linked) => match &**not_linked {
                NotLinked::Lacks(lack) => lack.links.as_slice(),
                NotLinked::Elsewhere { .. } => &[],
            },
            _ => &[],
        };
        let rooms = links.iter().filter_map(|link| {
            let short = link.has.iter().filter(|room| room.free < room.needed);
            let lower = short.map(|room| {
                Some((room.resource.clone(), self.lower(&room.resource, room.needed, room.free)?))
            });
            lower.collect::<Option<Room>>()
        });
        rooms.collect()
    }

    /// An amount that people write: whole cores where they are required, whole pages, whole mebibytes, or gibibytes
    /// where there are many.
    fn lower(&self, resource: &ResourceName, asked: u64, free: u64) -> Option<Lower> {
        const MEBIBYTE: u64 = 1 << 20;
        const GIBIBYTE: u64 = 1 << 30;
        let step = match resource.as_str() {
            "cpu" => self.granularity(),
            "memory" if free >= 16 * GIBIBYTE => GIBIBYTE,
            "memory" if free >= MEBIBYTE => MEBIBYTE,
            _ => page_size(resource),
        };
        let fits = free - free % step;
        let counted = Counted::Allocated;
        (fits > 0).then(|| Lower { asked: amount(resource, asked), fits: amount(resource, fits), counted })
    }

    /// Only Guaranteed containers get exclusive CPUs, and only of a static CPU manager.
    fn step(&self, resource: &ResourceName) -> Step {
        let is_exclusive = resource.as_str() == "cpu"
            && self.node.cpus.is_some()
            && self.classified.status_qos == Some(QosClass::Guaranteed);
        if is_exclusive { Step::WholeCpus(self.granularity()) } else { Step::Any }
    }

    fn granularity(&self) -> u64 {
        self.node.cpus.as_ref().map_or(1, cpu_manager::Static::granularity) as u64
    }

    /// What the refusal itself says there is.
    fn room_by_message(&self) -> Option<Room> {
        use cpu_manager::{AllocateError, TakeError, WholeCoresError};

        let of_cpus = |asked: usize, free: usize| {
            let lower = self.lower(&"cpu".into(), asked as u64, free as u64)?;
            (lower.fits < lower.asked).then(|| Room::from([("cpu".into(), lower)]))
        };
        match &self.refused.cause {
            Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotMultiple { requested, .. })) => {
                of_cpus(*requested, *requested)
            }
            Cause::Cpus(AllocateError::WholeCores(WholeCoresError::NotEnough {
                requested,
                available,
                ..
            })) => of_cpus(*requested, *available),
            // What is requested there can be the rest of what the unit asks for, beside what it has on its NUMA nodes.
            Cause::Cpus(AllocateError::Take(TakeError::NotEnough { requested, available })) => {
                let rows = self.unit().into_iter().flat_map(|unit| &unit.resources);
                let row =
                    rows.filter(|row| row.resource.as_str() == "cpu").find_map(|row| row.amounts.as_ref());
                let asked = row.and_then(|row| usize::try_from(row.asked).ok()).unwrap_or(*requested);
                of_cpus(asked, asked.saturating_sub(requested.saturating_sub(*available)))
            }
            Cause::Shortage(shortages) => {
                let less = shortages.iter().map(|shortage| {
                    let free = u64::try_from(shortage.capacity.saturating_sub(shortage.used)).ok()?;
                    let asked = u64::try_from(shortage.requested).ok()?;
                    let lower = match shortage.resource.as_str() {
                        "pods" => return None,
                        "cpu" => self.lower_milli(asked, free)?,
                        _ => self.lower(&shortage.resource, asked, free)?,
                    };
                    Some((shortage.resource.clone(), Lower { counted: Counted::Every, ..lower }))
                });
                less.collect()
            }
            _ => None,
        }
    }

    /// Thousandths of CPUs. Only a container that asks for whole CPUs may get exclusive ones.
    fn lower_milli(&self, asked: u64, free: u64) -> Option<Lower> {
        if asked.is_multiple_of(1000) && free >= 1000 * self.granularity() {
            return self.lower(&"cpu".into(), asked / 1000, free / 1000);
        }
        let milli =
            |milli: u64| Quantity::from_milli(i64::try_from(milli).unwrap_or(i64::MAX), Format::DecimalSi);
        (free > 0).then(|| Lower { asked: milli(asked), fits: milli(free), counted: Counted::Every })
    }

    /// The pod that asks for no more than that, and what changes in its manifest.
    fn lowered(&self, room: &Room) -> Option<(Pod, Vec<Asks>)> {
        // Exclusive CPUs that were chosen are asked for by the limit.
        let mut pod = if self.classified.constraints.exclusive.is_empty() {
            self.pod.clone()
        } else {
            Pod::clone(&self.classified)
        };
        let unit = match (&self.refused.cause, self.unit()) {
            // That is about the pod as a whole, whatever was served last.
            (Cause::Shortage(_), _) | (_, None) => self.refused.container.as_ref(),
            (_, Some(UnitTrace { unit: UnitName::Container(name), .. })) => Some(name),
            (_, Some(UnitTrace { unit: UnitName::Pod, .. })) => None,
        };
        let mut asks = Vec::new();
        for (resource, lower) in room {
            let step = self.step(resource);
            if unit.is_none() && self.node.pod_rules.pod_level == PodLevelResources::Count {
                asks.extend(lower_pod_level(&mut pod, resource, &lower.fits, step));
            }
            asks.extend(lower_containers(&mut pod, unit, resource, lower, step)?);
        }
        (!asks.is_empty()).then_some((pod, asks))
    }
}

/// In which steps a request is lowered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// To what fits.
    Any,
    /// Of whole CPUs to so many or a multiple of them, so that they stay exclusive.
    WholeCpus(u64),
}

impl Step {
    /// The largest amount up to `fits` in place of `now`. `fits` itself where no whole CPU is left.
    fn floor(self, now: &Quantity, fits: &Quantity) -> Quantity {
        let Self::WholeCpus(least) = self else { return fits.clone() };
        let (Ok(now), Ok(most)) = (u64::try_from(now.milli_value()), u64::try_from(fits.milli_value()))
        else {
            return fits.clone();
        };
        let step = [1000 * least, 1000].into_iter().find(|step| now.is_multiple_of(*step));
        match step.map(|step| most - most % step) {
            Some(whole) if whole > 0 && whole < most => cpus(whole / 1000),
            _ => fits.clone(),
        }
    }
}

/// Makes a pod ask for another amount; `None` if it has no such container or resource.
pub(crate) fn ask(pod: &mut Pod, asks: &Asks) -> Option<()> {
    let Asks { container, resource, now, fits } = asks;
    let Some(name) = container else {
        let own = pod.resources.as_mut()?;
        put(&mut own.requests, &mut own.limits, resource, now, fits);
        return Some(());
    };
    let mut all = pod.containers.iter_mut();
    set(all.find(|container| container.name == *name)?, resource, fits.clone()).map(drop)
}

/// Lowers what containers ask for until none of them asks for more than `most`, nor all that run at a time; of these
/// the one that asks for most is lowered first. `None` if a container would be left with nothing.
fn lower_containers(
    pod: &mut Pod,
    unit: Option<&ContainerName>,
    resource: &ResourceName,
    Lower { fits: most, counted, .. }: &Lower,
    step: Step,
) -> Option<Vec<Asks>> {
    let is_counted =
        |asked: &Quantity| *counted == Counted::Every || step == Step::Any || asked.milli_value() % 1000 == 0;
    let is_asking = |container: &Container| {
        unit.is_none_or(|name| container.name == *name) && asked(container, resource).is_some_and(is_counted)
    };
    let (mut first, mut together) = (Vec::new(), Vec::new());
    for container in pod.containers.iter_mut().filter(|container| is_asking(container)) {
        match container.role {
            Role::Init => first.push(container),
            Role::Sidecar | Role::App => together.push(container),
        }
    }
    let mut asks = Vec::new();
    for container in first {
        let own = asked(container, resource)?;
        if own > most {
            let fits = step.floor(own, most);
            asks.push(set(container, resource, fits)?);
        }
    }
    together.sort_by(|a, b| asked(b, resource).cmp(&asked(a, resource)));
    let mut excess = Quantity::from_units(0, most.format());
    for container in &together {
        excess += asked(container, resource)?;
    }
    excess -= most;
    let zero = Quantity::from_units(0, most.format());
    for container in together {
        if excess <= zero {
            break;
        }
        let own = asked(container, resource)?.clone();
        // At least one CPU, page, device or mebibyte is left to it.
        let least = least(resource).min(own.clone());
        let lowered = step.floor(&own, &(&own - &excess).max(least));
        excess -= &(&own - &lowered);
        if lowered < own {
            asks.push(set(container, resource, lowered)?);
        }
    }
    (excess <= zero).then_some(asks)
}

fn lower_pod_level(pod: &mut Pod, resource: &ResourceName, most: &Quantity, step: Step) -> Option<Asks> {
    let own = pod.resources.as_mut()?;
    let now = own.requests.get(resource.as_str()).or_else(|| own.limits.get(resource.as_str()))?.clone();
    if now <= *most {
        return None;
    }
    let fits = step.floor(&now, most);
    put(&mut own.requests, &mut own.limits, resource, &now, &fits);
    Some(Asks { container: None, resource: resource.clone(), now, fits })
}

/// What a container asks for: its request, which is its limit where it has none.
fn asked<'a>(container: &'a Container, resource: &ResourceName) -> Option<&'a Quantity> {
    let asked = container.requests.get(resource.as_str()).or_else(|| container.limits.get(resource.as_str()));
    asked.filter(|asked| !asked.is_zero())
}

/// Makes a container ask for another amount.
fn set(container: &mut Container, resource: &ResourceName, fits: Quantity) -> Option<Asks> {
    let now = asked(container, resource)?.clone();
    put(&mut container.requests, &mut container.limits, resource, &now, &fits);
    Some(Asks { container: Some(container.name.clone()), resource: resource.clone(), now, fits })
}

/// Replaces a request, and the limit where it is the same or would be below.
fn put(
    requests: &mut ResourceList,
    limits: &mut ResourceList,
    resource: &ResourceName,
    now: &Quantity,
    fits: &Quantity,
) {
    if let Some(request) = requests.get_mut(resource.as_str()) {
        request.clone_from(fits);
    }
    if let Some(limit) = limits.get_mut(resource.as_str()).filter(|limit| **limit == *now || **limit < *fits)
    {
        limit.clone_from(fits);
    }
}

/// CPUs and devices by number, memory in bytes.
fn amount(resource: &ResourceName, value: u64) -> Quantity {
    let is_memory = resource.as_str() == "memory" || resource.is_hugepages();
    let format = if is_memory { Format::BinarySi } else { Format::DecimalSi };
    Quantity::from_units(i64::try_from(value).unwrap_or(i64::MAX), format)
}

fn cpus(count: u64) -> Quantity {
    amount(&"cpu".into(), count)
}

/// The smallest amount that is worth asking for.
fn least(resource: &ResourceName) -> Quantity {
    amount(resource, if resource.as_str() == "memory" { 1 << 20 } else { page_size(resource) })
}

/// How much a candidate cuts: how many resources, then the largest part of one that is cut away, in thousandths.
fn cut(room: &Room) -> (usize, i128) {
    let part = |lower: &Lower| {
        let (asked, fits) = (i128::from(lower.asked.milli_value()), i128::from(lower.fits.milli_value()));
        (asked - fits) * 1000 / asked.max(1)
    };
    (room.len(), room.values().map(part).max().unwrap_or(0))
}
