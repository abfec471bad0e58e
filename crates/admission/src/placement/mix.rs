//! The mix: what the units of a node ask for of what has a place.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use node_config::Scope;
use pod_spec::{Pod, ResourceName, Unit};

use crate::ledger::Ledger;
use crate::node::Node;

/// What one unit asks for: exclusive CPUs, bytes that are booked, devices. In order of name, none of them 0.
pub(crate) type Shape = Vec<(ResourceName, u64)>;

/// How often each shape is there.
pub(crate) type Mix = BTreeMap<Shape, u32>;

impl Node {
    /// What `unit` takes on NUMA nodes; empty if it runs wherever there is room.
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

    /// The units of all pods on the ledger that take anything on NUMA nodes. The pod that is being placed is on it.
    pub(crate) fn mix(&self, ledger: &Ledger, scope: Scope) -> Mix {
        let mut mix = Mix::new();
        let mut add = |unit: Unit<'_>| {
            let shape = self.shape(ledger, unit);
            if !shape.is_empty() {
                *mix.entry(shape).or_default() += 1;
            }
        };
        for pod in ledger.pods() {
            match scope {
                Scope::Pod => add(Unit::Pod(pod)),
                Scope::Container => units(pod).for_each(&mut add),
            }
        }
        mix
    }
}

fn units(pod: &Pod) -> impl Iterator<Item = Unit<'_>> {
    pod.containers.iter().map(move |container| Unit::Container(pod, container))
}
