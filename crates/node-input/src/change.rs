//! In what two machines differ.

use std::collections::BTreeMap;
use std::fmt::Display;

use cpuset::CpuSet;
use k8s_quantity::Amount;
use topology_discovery::{Problem, fold};
use topology_model::{
    CacheKind, Core, CoreKind, DeviceNode, HugePages, Machine, Node, PciDevice, Smt, Sriov,
};

/// A line for each thing that is not what it was; none where the machines are the same.
pub fn changes(before: &Machine, after: &Machine) -> Vec<String> {
    let mut lines = Vec::new();
    if before == after {
        return lines;
    }
    changed(&mut lines, "online CPUs", list(before.online()), list(after.online()));
    changed(&mut lines, "offline CPUs", list(before.offline()), list(after.offline()));
    let isolated = |machine: &Machine| machine.cpus().isolated.as_ref().map_or("not known".to_owned(), list);
    changed(&mut lines, "isolated CPUs", isolated(before), isolated(after));
    let memory =
        |bytes: Option<u64>| bytes.map_or("not known".to_owned(), |bytes| Amount::Bytes(bytes).to_string());
    if before.memory() != after.memory() {
        changed(&mut lines, "memory", exact(before.memory()), exact(after.memory()));
    }
    let packages = |machine: &Machine| -> BTreeMap<String, String> {
        let all = machine.packages().iter();
        all.map(|package| {
            let number =
                if package.id.0 < 0 { "of unknown number".to_owned() } else { package.id.to_string() };
            (format!("package {number} from CPU {}", first(&package.cpus)), list(&package.cpus))
        })
        .collect()
    };
    paired(&mut lines, &packages(before), &packages(after));
    let cores = |machine: &Machine| -> BTreeMap<String, String> {
        let all = machine.cores().iter();
        all.map(|own| (format!("core from CPU {}", first(&own.cpus)), core(own))).collect()
    };
    paired(&mut lines, &cores(before), &cores(after));
    let caches = |machine: &Machine| -> BTreeMap<String, String> {
        let all = machine.caches().iter();
        let shown = all.map(|cache| {
            let kind = match cache.kind {
                CacheKind::Data => "d",
                CacheKind::Instruction => "i",
                CacheKind::Unified => "",
            };
            let size = memory(cache.size_kib.map(|kib| kib.saturating_mul(1024)));
            let id = cache.id.map_or_else(String::new, |id| format!(", id {id}"));
            (
                format!("L{}{kind} from CPU {}", cache.level, first(&cache.cpus)),
                format!("{size} of CPUs {}{id}", cache.cpus),
            )
        });
        shown.collect()
    };
    paired(&mut lines, &caches(before), &caches(after));
    let nodes = |machine: &Machine| -> BTreeMap<String, String> {
        machine.nodes().iter().map(|own| (format!("NUMA {}", own.id), node(own))).collect()
    };
    paired(&mut lines, &nodes(before), &nodes(after));
    let devices = |machine: &Machine| -> BTreeMap<String, String> {
        machine.devices().iter().map(|own| (format!("PCI {}", own.address), device(own))).collect()
    };
    paired(&mut lines, &devices(before), &devices(after));
    changed(&mut lines, "SMT", smt(before.smt()), smt(after.smt()));
    changed(&mut lines, "huge pages", pages(before.hugepages()), pages(after.hugepages()));
    let usual = |machine: &Machine| {
        machine.default_hugepage_kib().map_or("not known".to_owned(), |kib| format!("{kib}Ki"))
    };
    changed(&mut lines, "default size of huge pages", usual(before), usual(after));
    if lines.is_empty() {
        lines.push("the kernel's lists of CPUs and nodes".to_owned());
    }
    lines
}

/// A line for each problem of the files that came or went, those that are alike in one.
pub fn changed_problems(before: &[Problem], after: &[Problem]) -> Vec<String> {
    let only = |these: &[Problem], others: &[Problem]| -> Vec<String> {
        let these: Vec<Problem> = these.iter().filter(|own| !others.contains(own)).cloned().collect();
        fold(&these)
    };
    let gone = only(before, after).into_iter().map(|problem| format!("problem: {problem}: gone"));
    let new = only(after, before).into_iter().map(|problem| format!("problem: {problem}: new"));
    gone.chain(new).collect()
}

fn core(core: &Core) -> String {
    let mut text = format!("CPUs {}, id {}", core.cpus, core.id);
    for (what, id) in [("die", core.die), ("cluster", core.cluster)] {
        text.push_str(&id.map_or_else(String::new, |id| format!(", {what} {id}")));
    }
    text.push_str(match core.kind {
        CoreKind::Plain => "",
        CoreKind::Performance => ", performance",
        CoreKind::Efficiency => ", efficiency",
    });
    text
}

fn smt(smt: &Smt) -> String {
    let active = match smt.active {
        Some(true) => "active",
        Some(false) => "not active",
        None => "not known",
    };
    smt.control.as_ref().map_or_else(|| active.to_owned(), |control| format!("{active} ({control})"))
}

fn pages(all: &[HugePages]) -> String {
    let each = all.iter().map(|pages| format!("{}x{}Ki", pages.num_pages, pages.page_size_kib));
    or_none(each.collect::<Vec<_>>().join(" "))
}

fn node(node: &Node) -> String {
    let distances = node.distances.as_ref().map_or("not known".to_owned(), |row| {
        row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    });
    format!(
        "CPUs {}, memory {}, pages {}, distances {distances}",
        list(&node.cpus),
        exact(node.memory),
        pages(&node.hugepages)
    )
}

fn device(device: &PciDevice) -> String {
    let number = |id: Option<u16>| id.map_or("????".to_owned(), |id| format!("{id:04x}"));
    let node = match device.node {
        DeviceNode::Known(id) => format!("NUMA {id}"),
        DeviceNode::Inherited(id) => format!("NUMA {id} as its bridge"),
        DeviceNode::Unknown => "NUMA node not known".to_owned(),
    };
    let below = device.parent.map_or("a root complex".to_owned(), |parent| parent.to_string());
    let sharing = match &device.sriov {
        Sriov::None => String::new(),
        Sriov::Physical(functions) => {
            let each: Vec<String> = functions.iter().map(ToString::to_string).collect();
            format!(", virtual functions {}", or_none(each.join(" ")))
        }
        Sriov::Virtual(card) => format!(", virtual function of {card}"),
    };
    format!(
        "class {:06x}, {}:{}, {node}, below {below}, CPUs {}{sharing}",
        device.class,
        number(device.vendor),
        number(device.device),
        list(&device.local_cpus)
    )
}

fn exact(bytes: Option<u64>) -> String {
    bytes.map_or("not known".to_owned(), |bytes| format!("{bytes} bytes"))
}

fn list(cpus: &CpuSet) -> String {
    or_none(cpus.to_string())
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

fn first(cpus: &CpuSet) -> String {
    cpus.first().map_or("none".to_owned(), |cpu| cpu.to_string())
}

fn changed(lines: &mut Vec<String>, what: &str, before: impl Display, after: impl Display) {
    let (before, after) = (before.to_string(), after.to_string());
    if before != after {
        lines.push(format!("{what}: {before} before, {after} now"));
    }
}

/// Things by name: those that are gone, those that are new, those that are otherwise.
fn paired(lines: &mut Vec<String>, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    for (name, was) in before {
        match after.get(name) {
            Some(is) => changed(lines, name, was, is),
            None => lines.push(format!("{name}: gone")),
        }
    }
    lines.extend(after.keys().filter(|name| !before.contains_key(*name)).map(|name| format!("{name}: new")));
}

#[cfg(test)]
mod tests {
    use topology_discovery::{ProblemKind, Substitute};

    use super::*;

    /// Each of `words` is in a line about the change of the machine.
    #[track_caller]
    fn check(before: &str, after: &str, words: &[&str]) {
        let (before, after): (Machine, Machine) = (before.parse().unwrap(), after.parse().unwrap());
        let lines = changes(&before, &after);
        for word in words {
            assert!(lines.iter().any(|line| line.contains(word)), "{word}: {lines:?}");
        }
        assert_eq!(lines.is_empty(), words.is_empty(), "{lines:?}");
        assert!(changes(&after, &after).is_empty());
    }

    #[test]
    fn unknown_isolated_cpus_are_not_told_as_none() {
        let of = |isolated: Option<&str>| {
            let mut parts = "core:4 pu:1".parse::<Machine>().unwrap().into_parts();
            parts.cpus.isolated = isolated.map(|list| list.parse().unwrap());
            Machine::new(parts).unwrap()
        };
        let (unknown, none, some) = (of(None), of(Some("")), of(Some("2-3")));
        assert_eq!(changes(&none, &unknown), ["isolated CPUs: none before, not known now"]);
        assert_eq!(changes(&unknown, &some), ["isolated CPUs: not known before, 2-3 now"]);
    }

    #[test]
    fn problems_that_came_and_went_are_told() {
        let problem = |cpu: u32, assumed| Problem {
            path: format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"),
            lack: ProblemKind::Missing { assumed },
        };
        let before: Vec<_> = (0..8).map(|cpu| problem(cpu, Substitute::Unknown)).collect();
        assert!(changed_problems(&before, &before).is_empty());
        assert_eq!(
            changed_problems(&before, &[problem(0, Substitute::Unknown), problem(1, Substitute::FirstRead)]),
            [
                "problem: sys/devices/system/cpu/cpu1/topology/core_id is missing: not known (and 6 more like it): gone",
                "problem: sys/devices/system/cpu/cpu1/topology/core_id is missing: what was read first is believed: new"
            ]
        );
    }

    #[test]
    fn each_difference_is_told() {
        let server = "pack:2 [numa(memory=4GiB hugepages-2Mi=4)] l3:1 core:2 pu:2";
        check(server, server, &[]);
        check(server, "pack:2 [numa(memory=8GiB hugepages-2Mi=4)] l3:1 core:2 pu:2", &["NUMA 0: "]);
        check(
            server,
            "pack:2 [numa(memory=4GiB hugepages-2Mi=5)] l3:1 core:2 pu:2",
            &["pages 4x2048Ki", "pages 5x2048Ki"],
        );
        check(
            server,
            "pack:1 [numa(memory=4GiB hugepages-2Mi=4)] l3:1 core:2 pu:2",
            &["NUMA 1: gone", "online CPUs: 0-7 before, 0-3 now"],
        );
        check(server, "pack:2 [numa(memory=4GiB hugepages-2Mi=4)] l3:1 core:4 pu:1", &["CPUs 0-1, id 0"]);
    }
}
