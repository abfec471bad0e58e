//! In what two machines differ.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

use cpuset::CpuSet;
use topology_model::{CacheKind, Machine, Node, PciDevice};

use crate::render::Amount;

/// A line for each thing that is not what it was; none where the machines are the same.
pub(crate) fn changes(before: &Machine, after: &Machine) -> Vec<String> {
    let mut lines = Vec::new();
    if before == after {
        return lines;
    }
    changed(&mut lines, "online CPUs", list(before.online()), list(after.online()));
    changed(&mut lines, "offline CPUs", list(before.offline()), list(after.offline()));
    let isolated = |machine: &Machine| machine.cpus().isolated.as_ref().map_or_else(String::new, list);
    changed(&mut lines, "isolated CPUs", isolated(before), isolated(after));
    let memory =
        |bytes: Option<u64>| bytes.map_or("not known".to_owned(), |bytes| Amount::Bytes(bytes).to_string());
    if before.memory() != after.memory() {
        changed(&mut lines, "memory", exact(before.memory()), exact(after.memory()));
    }
    let packages = |machine: &Machine| -> BTreeMap<String, String> {
        let all = machine.packages().iter();
        all.map(|package| {
            (format!("package {} from CPU {}", package.id, first(&package.cpus)), list(&package.cpus))
        })
        .collect()
    };
    paired(&mut lines, &packages(before), &packages(after));
    let cores = |machine: &Machine| -> BTreeMap<String, String> {
        let all = machine.cores().iter();
        let shown = all.map(|core| {
            let kind = (core.id, core.die, core.cluster, core.kind);
            (format!("core from CPU {}", first(&core.cpus)), format!("CPUs {} {kind:?}", core.cpus))
        });
        shown.collect()
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
    let rest = |machine: &Machine| {
        (machine.smt().clone(), machine.hugepages().to_vec(), machine.default_hugepage_kib())
    };
    if rest(before) != rest(after) {
        let pages = |machine: &Machine| format!("{:?}", rest(machine));
        changed(&mut lines, "SMT and huge pages", pages(before), pages(after));
    }
    if lines.is_empty() {
        lines.push("the kernel's lists of CPUs and nodes".to_owned());
    }
    lines
}

fn node(node: &Node) -> String {
    let pages: Vec<_> =
        node.hugepages.iter().map(|pages| format!("{}x{}Ki", pages.num_pages, pages.page_size_kib)).collect();
    let distances = node.distances.as_ref().map_or("not known".to_owned(), |row| {
        row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    });
    format!(
        "CPUs {}, memory {}, pages {}, distances {distances}",
        list(&node.cpus),
        exact(node.memory),
        or_none(pages.join(" "))
    )
}

fn device(device: &PciDevice) -> String {
    let ids = (device.class, device.vendor, device.device);
    let place = (device.node, device.parent.map(|parent| parent.to_string()));
    format!("{ids:x?} {place:?}, CPUs {}, {}", list(&device.local_cpus), shown(&device.sriov))
}

fn shown(value: &impl Debug) -> String {
    format!("{value:?}")
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
    use super::*;

    /// Whether a change of a machine is told by a line that has these words.
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
    }
}
