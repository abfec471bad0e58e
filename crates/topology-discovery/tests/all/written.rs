//! A machine written as the kernel's files and read back is the same machine; and cAdvisor's view of it, which
//! `topology-model` makes up by itself, is what is read too.

use cpuset::CpuSet;
use topology_discovery::{MemoryTree, SysfsTree, read};
use topology_model::{CacheKind, Machine, MachineInfo, NodeId};

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

fn add(tree: &mut MemoryTree, path: &str, text: &str) {
    tree.add_file(path, format!("{text}\n").as_bytes());
}

/// The files of a machine, without PCI devices.
fn written(machine: &Machine) -> SysfsTree {
    let mut tree = MemoryTree::new();
    let lists = machine.cpus();
    for (name, list) in [
        ("online", Some(&lists.online)),
        ("possible", lists.possible.as_ref()),
        ("present", lists.present.as_ref()),
        ("isolated", lists.isolated.as_ref()),
    ] {
        if let Some(list) = list {
            add(&mut tree, &format!("{CPUS}/{name}"), &list.to_string());
        }
    }
    if let Some(active) = machine.smt().active {
        add(&mut tree, &format!("{CPUS}/smt/active"), if active { "1" } else { "0" });
    }
    if let Some(control) = &machine.smt().control {
        add(&mut tree, &format!("{CPUS}/smt/control"), control);
    }
    write_cpus(&mut tree, machine);
    write_nodes(&mut tree, machine);
    for pages in machine.hugepages() {
        let folder = format!("sys/kernel/mm/hugepages/hugepages-{}kB", pages.page_size_kib);
        add(&mut tree, &format!("{folder}/nr_hugepages"), &pages.num_pages.to_string());
    }
    let kib = machine.memory().unwrap_or_default() >> 10;
    let page = machine.default_hugepage_kib().unwrap_or_default();
    add(&mut tree, "proc/meminfo", &format!("MemTotal: {kib} kB\nSwapTotal: 0 kB\nHugepagesize: {page} kB"));
    tree.into()
}

fn write_cpus(tree: &mut MemoryTree, machine: &Machine) {
    let mut cpuinfo = String::new();
    for cpu in machine.online() {
        let folder = format!("{CPUS}/cpu{}", cpu.get());
        let (Some(core), Some(package)) = (machine.core_of(cpu), machine.package_of(cpu)) else { continue };
        let (core_id, package_id) = (core.id, package.id);
        for (name, text) in [
            ("core_id", core_id.to_string()),
            ("physical_package_id", package_id.to_string()),
            ("thread_siblings_list", core.cpus.to_string()),
            ("core_siblings", package.cpus.kernel_mask().to_string()),
        ] {
            add(tree, &format!("{folder}/topology/{name}"), &text);
        }
        cpuinfo += &format!(
            "processor : {}\ncpu MHz : 0.000\nphysical id : {package_id}\ncore id : {core_id}\n\n",
            cpu.get()
        );
        let own = machine.caches().iter().filter(|cache| cache.cpus.contains(cpu));
        for (index, cache) in own.enumerate() {
            let folder = format!("{folder}/cache/index{index}");
            let kind = match cache.kind {
                CacheKind::Data => "Data",
                CacheKind::Instruction => "Instruction",
                CacheKind::Unified => "Unified",
            };
            for (name, text) in [
                ("level", cache.level.to_string()),
                ("type", kind.to_owned()),
                ("size", format!("{}K", cache.size_kib.unwrap_or_default())),
                ("shared_cpu_map", cache.cpus.kernel_mask().to_string()),
                ("id", cache.id.unwrap_or_default().to_string()),
            ] {
                add(tree, &format!("{folder}/{name}"), &text);
            }
        }
    }
    add(tree, "proc/cpuinfo", &cpuinfo);
}

fn write_nodes(tree: &mut MemoryTree, machine: &Machine) {
    let lists = machine.node_lists();
    for (name, list) in [
        ("online", &lists.online),
        ("possible", &lists.possible),
        ("has_cpu", &lists.has_cpu),
        ("has_memory", &lists.has_memory),
        ("has_normal_memory", &lists.has_normal_memory),
    ] {
        if let Some(list) = list {
            let ids: Vec<_> = list.iter().map(|NodeId(id)| id.to_string()).collect();
            add(tree, &format!("{NODES}/{name}"), &ids.join(","));
        }
    }
    for node in machine.nodes() {
        let folder = format!("{NODES}/node{}", node.id);
        add(tree, &format!("{folder}/cpulist"), &node.cpus.to_string());
        for cpu in &node.cpus {
            tree.add_link(&format!("{folder}/cpu{}", cpu.get()), &format!("../../cpu/cpu{}", cpu.get()));
        }
        let kib = node.memory.unwrap_or_default() >> 10;
        add(tree, &format!("{folder}/meminfo"), &format!("Node {} MemTotal: {kib} kB", node.id));
        let row: Vec<_> = node.distances.iter().flatten().map(u32::to_string).collect();
        add(tree, &format!("{folder}/distance"), &row.join(" "));
        for pages in &node.hugepages {
            let folder = format!("{folder}/hugepages/hugepages-{}kB", pages.page_size_kib);
            add(tree, &format!("{folder}/nr_hugepages"), &pages.num_pages.to_string());
        }
    }
}

#[test]
fn machines_of_one_line_are_read_back_in_both_views() {
    for text in [
        "pu:1",
        "core:4 pu:2",
        "pack:2 core:4 pu:2",
        "pack:2 [numa(memory=64GiB hugepages-1Gi=16 hugepages-2Mi=512)] l3:2 l2:4 core:2 l1:1 pu:2",
        "pack:2 numa:6 l3:1 l2:2 core:2 pu:2",
        "numa:2 pack:2 l3:1 core:3 pu:1",
        "pack:2 l3:1 numa:2(memory=3MiB) core:6 l2:1 pu:2",
        "pack:12 [numa] core:3 l1:2 pu:4",
    ] {
        let (machine, info): (Machine, MachineInfo) = (text.parse().unwrap(), text.parse().unwrap());
        let found = read(&written(&machine)).unwrap();
        assert_eq!(found.machine, machine, "{text}");
        assert_eq!(found.info, info, "{text}");
        assert!(found.problems.is_empty(), "{text}: {:?}", found.problems);
    }
}

#[test]
fn an_offline_cpu_stays_offline() {
    let mut parts = "pack:2 [numa] core:2 pu:2".parse::<Machine>().unwrap().into_parts();
    let offline: CpuSet = "1,7".parse().unwrap();
    parts.cpus.online = &parts.cpus.online - &offline;
    for cpus in parts
        .packages
        .iter_mut()
        .map(|package| &mut package.cpus)
        .chain(parts.cores.iter_mut().map(|core| &mut core.cpus))
        .chain(parts.nodes.iter_mut().map(|node| &mut node.cpus))
    {
        *cpus = &*cpus - &offline;
    }
    parts.cpus.offline = offline;
    let machine = Machine::new(parts).unwrap();
    assert_eq!(read(&written(&machine)).unwrap().machine, machine);
}
