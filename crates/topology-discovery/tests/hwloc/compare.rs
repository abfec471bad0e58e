//! What two readers of one machine must agree on.

use std::collections::BTreeMap;
use std::fmt::Debug;

use topology_model::{CacheKind, Machine};

/// A field of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// hwloc does not tell the machine at all.
    All,
    Cpus,
    Packages,
    PackageIds,
    Cores,
    CoreKinds,
    Caches,
    Nodes,
    NodeCpus,
    Memory,
    Hugepages,
    Distances,
    Devices,
    DeviceNodes,
}

/// The fields in which the machines differ, each once, with the first place where they do.
pub(crate) fn compare(own: &Machine, other: &Machine) -> Vec<(Field, String)> {
    let mut found = Vec::new();
    let mut check = |field: Field, one: Vec<String>, two: Vec<String>| {
        if one != two {
            found.push((field, first_difference(&one, &two)));
        }
    };
    check(Field::Cpus, vec![shown(own.online())], vec![shown(other.online())]);
    let packages =
        |machine: &Machine| machine.packages().iter().map(|package| shown(&package.cpus)).collect();
    check(Field::Packages, packages(own), packages(other));
    let ids = |machine: &Machine| machine.packages().iter().map(|package| shown(&package.id)).collect();
    check(Field::PackageIds, ids(own), ids(other));
    let cores = |machine: &Machine| machine.cores().iter().map(|core| shown(&core.cpus)).collect();
    check(Field::Cores, cores(own), cores(other));
    let kinds = |machine: &Machine| machine.cores().iter().map(|core| shown(&core.kind)).collect();
    check(Field::CoreKinds, kinds(own), kinds(other));
    let caches = |machine: &Machine| {
        let data = machine.caches().iter().filter(|cache| cache.kind != CacheKind::Instruction);
        data.map(|cache| shown(&(cache.level, cache.size_kib, &cache.cpus))).collect()
    };
    check(Field::Caches, caches(own), caches(other));
    let nodes = |machine: &Machine| machine.nodes().iter().map(|node| shown(&node.id)).collect();
    check(Field::Nodes, nodes(own), nodes(other));
    let cpus = |machine: &Machine| machine.nodes().iter().map(|node| shown(&(node.id, &node.cpus))).collect();
    check(Field::NodeCpus, cpus(own), cpus(other));
    // What is not known and what is not there look alike to hwloc.
    let memory = |machine: &Machine| {
        machine.nodes().iter().map(|node| shown(&(node.id, node.memory.unwrap_or(0)))).collect()
    };
    check(Field::Memory, memory(own), memory(other));
    let pages = |machine: &Machine| {
        let nodes = machine.nodes().iter();
        nodes
            .map(|node| {
                let there: BTreeMap<_, _> =
                    node.hugepages.iter().map(|pages| (pages.page_size_kib, pages.num_pages)).collect();
                shown(&(node.id, there))
            })
            .collect()
    };
    check(Field::Hugepages, pages(own), pages(other));
    // hwloc tells none of a machine with one node.
    if own.nodes().len() > 1 {
        let rows = |machine: &Machine| {
            machine.nodes().iter().map(|node| shown(&(node.id, &node.distances))).collect()
        };
        check(Field::Distances, rows(own), rows(other));
    }
    let devices = |machine: &Machine| -> Vec<String> {
        let all = machine.devices().iter();
        all.map(|device| {
            format!("{} {:04x} {:?} {:?}", device.address, device.class_code(), device.vendor, device.device)
        })
        .collect()
    };
    check(Field::Devices, devices(own), devices(other));
    let device_nodes = |machine: &Machine| {
        let all = machine.devices().iter();
        all.map(|device| format!("{} {:?}", device.address, device.node.id())).collect()
    };
    check(Field::DeviceNodes, device_nodes(own), device_nodes(other));
    found
}

fn shown(value: &impl Debug) -> String {
    format!("{value:?}")
}

fn first_difference(one: &[String], two: &[String]) -> String {
    let place = one.iter().zip(two).position(|(one, two)| one != two).unwrap_or(one.len().min(two.len()));
    let at = |list: &[String]| {
        list.get(place).map_or("nothing", |text| text.get(..160).unwrap_or(text)).to_owned()
    };
    format!("{} and {} of them; sysfs {}, hwloc {}", one.len(), two.len(), at(one), at(two))
}
