//! The mix: for which units a node keeps room. It is given, or it is what the units on the node hold of what has a place, and
//! who could come for its devices.
//!
//! The latter is read off the holdings and not off the pods, so a [lean ledger](Ledger::lean) and one that was restored have
//! the same.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use cpu_manager::Holdings as CpuHoldings;
use k8s_quantity::Quantity;
use memory_manager::{Block, Holdings as MemoryHoldings};
use node_config::{MixUnit, Scope};
use pod_spec::{ContainerName, PodUid, ResourceName, Unit};

use crate::ledger::Ledger;
use crate::node::Node;

/// What one unit takes: exclusive CPUs, bytes that are booked, devices. In order of name, none of them 0.
pub(crate) type Shape = Vec<(ResourceName, u64)>;

/// How often each shape is there.
pub(crate) type Mix = BTreeMap<Shape, u32>;

/// The mix that a configuration gives.
pub(crate) fn given(units: &[MixUnit]) -> Mix {
    let mut mix = Mix::new();
    for MixUnit { count, requests } in units {
        let amount = |amount: &Quantity| u64::try_from(amount.value()).unwrap_or(0);
        let mut shape: Shape =
            requests.iter().map(|(name, asked)| (ResourceName::new(name), amount(asked))).collect();
        shape.retain(|(_, amount)| *amount > 0);
        shape.sort_unstable();
        let own = mix.entry(shape).or_default();
        *own = own.saturating_add(*count);
    }
    mix
}

impl Node {
    /// What `unit` asks for; empty if it runs wherever there is room.
    pub(crate) fn shape(&self, ledger: &Ledger, unit: Unit<'_>) -> Shape {
        let mut shape: Shape = self.devices.asked(ledger.inventory(), ledger.devices(), unit).collect();
        let cpus = self.cpus.as_ref().and_then(|policy| policy.asked(unit));
        shape.extend(cpus.map(|count| (ResourceName::new("cpu"), count as u64)));
        if let Some(Ok(request)) = self.memory.as_ref().map(|policy| policy.asked(unit)) {
            shape.extend(request.iter().map(|(resource, bytes)| (resource.clone(), bytes)));
        }
        shape.retain(|(_, amount)| *amount > 0);
        shape.sort_unstable();
        shape
    }
}

/// Adds those whom nobody has seen: for each resource of devices one unit of one device, with as many CPUs and as much memory
/// as the units of the mix have on the average. Devices that nobody holds are there for somebody, and who is refused for want
/// of them is never in the mix.
pub(crate) fn add_device_users<'r>(mix: &mut Mix, devices: impl Iterator<Item = &'r ResourceName>) {
    let units: u64 = mix.values().map(|count| u64::from(*count)).sum();
    let mean = |resource: &str| {
        let amounts = mix.iter().map(|(shape, count)| {
            let own =
                shape.iter().find(|(name, _)| name.as_str() == resource).map_or(0, |(_, amount)| *amount);
            u128::from(own) * u128::from(*count)
        });
        u64::try_from(amounts.sum::<u128>().div_ceil(u128::from(units.max(1)))).unwrap_or(u64::MAX)
    };
    let beside = [("cpu", mean("cpu")), ("memory", mean("memory"))];
    for device in devices {
        let beside = beside.iter().filter(|(_, amount)| *amount > 0);
        let mut shape: Shape = beside.map(|(name, amount)| (ResourceName::new(name), *amount)).collect();
        shape.push((device.clone(), 1));
        shape.sort_unstable();
        *mix.entry(shape).or_default() += 1;
    }
}

/// What each unit of the ledger holds: each container, or under scope `pod` all of a pod together. Pods that hold CPUs or
/// memory as a whole are one unit in any case.
pub(crate) fn mix(ledger: &Ledger, scope: Scope) -> Mix {
    let mut units = Units { scope, whole: whole_pods(ledger), held: BTreeMap::new() };
    let cpu = ResourceName::new("cpu");
    if let Some(held) = ledger.cpus() {
        for (pod, cpus) in held.whole_pods() {
            units.add(pod, None, &cpu, cpus.len() as u64);
        }
        // Those of containers lie inside the pod's.
        for (pod, container, cpus) in held.iter().filter(|(pod, ..)| held.whole_pod(pod).is_none()) {
            units.add(pod, Some(container), &cpu, cpus.len() as u64);
        }
    }
    if let Some(held) = ledger.memory() {
        let whole = held.whole_pods().map(|(pod, blocks)| (pod, None, blocks));
        let each = held.iter().filter(|(pod, ..)| held.whole_pod(pod).is_none());
        for (pod, container, blocks) in whole.chain(each.map(|(pod, name, blocks)| (pod, Some(name), blocks)))
        {
            for Block { resource, size, .. } in blocks {
                units.add(pod, container, resource, *size);
            }
        }
    }
    for (pod, container, resource, held) in ledger.devices().iter() {
        units.add(pod, Some(container), resource, held.devices().len() as u64);
    }
    let mut mix = Mix::new();
    for shape in units.held.into_values().filter(|shape| !shape.is_empty()) {
        *mix.entry(shape.into_iter().map(|(resource, amount)| (resource.clone(), amount)).collect())
            .or_default() += 1;
    }
    mix
}

fn whole_pods(ledger: &Ledger) -> BTreeSet<&PodUid> {
    let cpus = ledger.cpus().into_iter().flat_map(CpuHoldings::whole_pods).map(|(pod, _)| pod);
    let memory = ledger.memory().into_iter().flat_map(MemoryHoldings::whole_pods).map(|(pod, _)| pod);
    cpus.chain(memory).collect()
}

/// Units, and what is known so far of what they hold.
struct Units<'l> {
    scope: Scope,
    whole: BTreeSet<&'l PodUid>,
    held: BTreeMap<(&'l PodUid, Option<&'l ContainerName>), BTreeMap<&'l ResourceName, u64>>,
}

impl<'l> Units<'l> {
    fn add(
        &mut self,
        pod: &'l PodUid,
        container: Option<&'l ContainerName>,
        resource: &'l ResourceName,
        amount: u64,
    ) {
        let alone = self.scope == Scope::Container && !self.whole.contains(pod);
        let unit = self.held.entry((pod, container.filter(|_| alone))).or_default();
        if amount > 0 {
            *unit.entry(resource).or_default() += amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn shape(amounts: &[(&str, u64)]) -> Shape {
        amounts.iter().map(|(resource, amount)| ((*resource).into(), *amount)).collect()
    }

    #[test]
    fn somebody_may_come_for_every_device() {
        let (card, gpu) = (ResourceName::new("acme.com/card"), ResourceName::new("acme.com/gpu"));
        // 3 times 2 CPUs and once 8: 3.5 on the average, rounded up.
        let mut mix = Mix::from([
            (shape(&[("cpu", 2), ("memory", 64)]), 3),
            (shape(&[("acme.com/gpu", 1), ("cpu", 8), ("memory", 0)]), 1),
        ]);
        add_device_users(&mut mix, [&card, &gpu].into_iter());
        let found: Vec<_> =
            mix.into_iter().filter(|(_, count)| *count == 1).map(|(shape, _)| shape).collect();
        assert_eq!(
            found,
            vec![
                shape(&[("acme.com/card", 1), ("cpu", 4), ("memory", 48)]),
                shape(&[("acme.com/gpu", 1), ("cpu", 4), ("memory", 48)]),
                shape(&[("acme.com/gpu", 1), ("cpu", 8), ("memory", 0)]),
            ]
        );
    }
}
