//! Manifests to begin with: pods that a node admits and refuses, by what it has.

use pod_spec::ResourceName;
use serde::Serialize;
use topology_admission::{Ledger, Node};

/// Examples name at most so many resources with devices.
const MOST_DEVICES: usize = 2;

/// A manifest to try.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Example {
    /// What it is, in a few words.
    name: String,
    manifest: String,
}

/// What a node has of a resource: the most on one NUMA node, and on all.
struct Supply {
    resource: ResourceName,
    on_one: u64,
    on_all: u64,
}

/// Examples for a node: exclusive CPUs that fit one NUMA node and CPUs that do not, a device with CPUs, and all devices at once.
pub(super) fn examples(node: &Node, ledger: &Ledger) -> Vec<Example> {
    let supplies = node.room(ledger).into_iter().map(|(resource, room)| {
        let amounts = || room.nodes.iter().map(|cell| cell.allocatable);
        let on_all = amounts().chain([room.elsewhere.allocatable]).fold(0, u64::saturating_add);
        Supply { resource, on_one: amounts().max().unwrap_or(0), on_all }
    });
    let supplies: Vec<Supply> = supplies.collect();
    let cpus = supplies.iter().find(|supply| supply.resource.as_str() == "cpu");
    let (most, all) = cpus.map_or((8, 8), |cpus| (cpus.on_one, cpus.on_all));
    // An even number: whole cores of two threads.
    let few = (most / 4).max(2) / 2 * 2;
    let mut examples = vec![example(format!("{few} CPUs"), "few-cpus", few, None)];
    if all >= most + 2 {
        let name = format!("{} CPUs, more than one NUMA node has", most + 2);
        examples.push(example(name, "wide", most + 2, None));
    }
    let devices =
        supplies.iter().filter(|supply| supply.resource.as_str().contains('/') && supply.on_all > 0);
    for Supply { resource, on_all, .. } in devices.take(MOST_DEVICES) {
        let name = format!("1 {resource} and {few} CPUs");
        examples.push(example(name, "one-device", few, Some((resource, 1))));
        if *on_all > 1 {
            let name = format!("all {on_all} {resource} and {few} CPUs");
            examples.push(example(name, "all-devices", few, Some((resource, *on_all))));
        }
    }
    examples
}

fn example(name: String, pod: &str, cpus: u64, device: Option<(&ResourceName, u64)>) -> Example {
    let device =
        device.map_or_else(String::new, |(resource, count)| format!("        {resource}: {count}\n"));
    let manifest = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {pod}\nspec:\n  containers:\n  - name: app\n    image: example\n    \
         resources:\n      limits:\n        cpu: {cpus}\n        memory: 1Gi\n{device}"
    );
    Example { name, manifest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small;

    #[test]
    fn every_example_is_a_pod_and_the_widest_has_more_cpus_than_a_numa_node() {
        let view = small::view();
        let (node, ledger) = (view.node().node.clone(), view.snapshot().ledger.clone());
        let examples = examples(&node, &ledger);
        let names: Vec<&str> = examples.iter().map(|example| example.name.as_str()).collect();
        assert!(names.len() >= 2 && names[1].ends_with("more than one NUMA node has"), "{names:?}");
        for Example { name, manifest } in &examples {
            let source = topology_manifest::Source { name: "example", text: manifest };
            let read = topology_manifest::read_pods(&source);
            assert!(read.is_ok_and(|pods| pods.len() == 1), "{name}");
        }
    }
}
