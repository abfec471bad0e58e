//! A small server as files that tests take away, replace and add to: two packages, each a node with two cores of two
//! threads and an L3, and a network card behind a bridge.

use std::collections::BTreeMap;

use topology_discovery::{Discovery, MemoryTree, SysfsTree, read};

pub(crate) const CPUS: &str = "sys/devices/system/cpu";
pub(crate) const NODES: &str = "sys/devices/system/node";
pub(crate) const PCI: &str = "sys/bus/pci/devices";

/// What is at a path.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    File(Vec<u8>),
    Link(String),
}

/// Files and links by path.
#[derive(Clone, Debug)]
pub(crate) struct Small(pub(crate) BTreeMap<String, Content>);

impl Small {
    pub(crate) fn server() -> Self {
        let mut all = Self(BTreeMap::new());
        for (name, list) in [("online", "0-7"), ("possible", "0-7"), ("present", "0-7"), ("isolated", "")] {
            all.file(&format!("{CPUS}/{name}"), list);
        }
        all.file(&format!("{CPUS}/smt/active"), "1");
        all.file(&format!("{CPUS}/smt/control"), "on");
        for cpu in 0..8 {
            all.cpu(cpu);
        }
        for (name, list) in
            [("online", "0-1"), ("possible", "0-1"), ("has_cpu", "0-1"), ("has_memory", "0-1")]
        {
            all.file(&format!("{NODES}/{name}"), list);
        }
        for node in 0..2 {
            let folder = format!("{NODES}/node{node}");
            all.file(&format!("{folder}/cpulist"), if node == 0 { "0-1,4-5" } else { "2-3,6-7" });
            all.file(&format!("{folder}/cpumap"), if node == 0 { "33" } else { "cc" });
            all.file(&format!("{folder}/meminfo"), &format!("Node {node} MemTotal:       67108864 kB"));
            all.file(&format!("{folder}/distance"), if node == 0 { "10 21" } else { "21 10" });
            all.file(&format!("{folder}/hugepages/hugepages-1048576kB/nr_hugepages"), "4");
        }
        all.file("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "8");
        all.file("proc/meminfo", "MemTotal:      134217000 kB\nSwapTotal:  0 kB\nHugepagesize:  1048576 kB");
        all.file("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: 2000.000");
        all.device("pci0000:00/0000:00:01.0", "0x060400", "1");
        all.device("pci0000:00/0000:00:01.0/0000:01:00.0", "0x020000", "1");
        all
    }

    /// CPU pairs (0, 4), (1, 5), … are cores; CPUs 0, 1, 4 and 5 are the first package.
    fn cpu(&mut self, cpu: usize) {
        let (core, package) = (cpu % 2, cpu % 4 / 2);
        let folder = format!("{CPUS}/cpu{cpu}/topology");
        let siblings = format!("{},{}", cpu % 4, cpu % 4 + 4);
        self.file(&format!("{folder}/core_id"), &core.to_string());
        self.file(&format!("{folder}/physical_package_id"), &package.to_string());
        self.file(&format!("{folder}/die_id"), "0");
        self.file(&format!("{folder}/thread_siblings_list"), &siblings);
        self.file(&format!("{folder}/core_siblings_list"), if package == 0 { "0-1,4-5" } else { "2-3,6-7" });
        let cache = format!("{CPUS}/cpu{cpu}/cache/index3");
        let map = if package == 0 { "33" } else { "cc" };
        for (name, text) in [
            ("id", if package == 0 { "0" } else { "1" }),
            ("level", "3"),
            ("type", "Unified"),
            ("size", "32768K"),
        ] {
            self.file(&format!("{cache}/{name}"), text);
        }
        self.file(&format!("{cache}/shared_cpu_map"), map);
        self.link(&format!("{NODES}/node{package}/cpu{cpu}"), &format!("../../cpu/cpu{cpu}"));
    }

    /// A device by its place below `sys/devices`.
    pub(crate) fn device(&mut self, place: &str, class: &str, node: &str) {
        let folder = format!("sys/devices/{place}");
        for (name, text) in
            [("class", class), ("vendor", "0x8086"), ("device", "0x159b"), ("numa_node", node)]
        {
            self.file(&format!("{folder}/{name}"), text);
        }
        self.file(&format!("{folder}/local_cpulist"), if node == "1" { "2-3,6-7" } else { "0-7" });
        let address = place.rsplit('/').next().unwrap_or(place);
        self.link(&format!("{PCI}/{address}"), &format!("../../../devices/{place}"));
    }

    pub(crate) fn file(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), Content::File(format!("{text}\n").into_bytes()));
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.0.insert(path.to_owned(), Content::Link(target.to_owned()));
    }

    /// Takes away what is at a path and below it.
    pub(crate) fn without(mut self, path: &str) -> Self {
        let before = self.0.len();
        self.0.retain(|own, _| own != path && !own.starts_with(&format!("{path}/")));
        assert!(self.0.len() < before, "there is no {path}");
        self
    }

    pub(crate) fn with(mut self, path: &str, text: &str) -> Self {
        self.file(path, text);
        self
    }

    pub(crate) fn tree(&self) -> SysfsTree {
        let mut tree = MemoryTree::new();
        for (path, content) in &self.0 {
            match content {
                Content::File(bytes) => tree.add_file(path, bytes),
                Content::Link(target) => tree.add_link(path, target),
            }
        }
        tree.into()
    }

    pub(crate) fn read(&self) -> Discovery {
        read(&self.tree()).unwrap_or_else(|error| panic!("{error:?}"))
    }
}
