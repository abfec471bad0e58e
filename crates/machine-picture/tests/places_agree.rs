//! The table, the tree and the picture name the same NUMA node for each device, on every captured machine.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::Path;

use machine_picture::{DeviceGroup, MachineSummary, Shares, svg, tree};
use terminal_text::{Glyphs, Page};
use topology_discovery::{SysfsTree, read};
use topology_model::{DeviceNode, Machine, NodeId, PciAddress, PciDevice};

/// Devices that are shown in one place: the first and the last of them, and how many they are.
type Shown = (PciAddress, PciAddress, usize, Option<NodeId>);

/// The captured machines of the project and, if they are there, those beside it.
fn machines() -> Vec<(String, Machine)> {
    let machine = |archive: &[u8]| read(&SysfsTree::archive(archive).unwrap()).unwrap().machine;
    let built_in = machine_fixtures::names();
    let mut machines: Vec<(String, Machine)> =
        built_in.map(|name| (name.to_owned(), machine(machine_fixtures::archive(name).unwrap()))).collect();
    for kind in ["real", "synthesised"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/machines").join(kind);
        let Ok(entries) = folder.read_dir() else {
            println!("skipped: there are no captured machines in {}", folder.display());
            continue;
        };
        let paths = entries.map(|entry| entry.unwrap().path().display().to_string());
        let archives = paths.filter(|path| path.ends_with(".tar.zst"));
        machines.extend(archives.map(|path| (path.clone(), machine(&std::fs::read(&path).unwrap()))));
    }
    machines
}

/// The node of `near NUMA 3`, or that it is not known, where a text says so.
fn place_in(text: &str) -> Option<DeviceNode> {
    let near = text.split("near NUMA ").nth(1).or_else(|| text.split("NUMA ").nth(1));
    let digits = near.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    match digits {
        Some(id) => Some(DeviceNode::Known(NodeId(id))),
        None => text.contains("node not known").then_some(DeviceNode::Unknown),
    }
}

/// `ADDRESS what` or `ADDRESS to ADDRESS, 3× what`.
fn addresses_in(text: &str) -> Option<(PciAddress, PciAddress, usize)> {
    let first = text.split([' ', ':']).next()?;
    let address =
        |text: &str| text.split(' ').next()?.trim_end_matches([',', ':']).parse::<PciAddress>().ok();
    let own = address(text).filter(|_| !first.is_empty())?;
    let last = text.split_once(" to ").and_then(|(_, rest)| address(rest));
    let count = text.split_once('×').and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
    Some((own, last.unwrap_or(own), count.unwrap_or(1)))
}

fn of_tree(machine: &Machine) -> Vec<Shown> {
    let text = tree(machine, &Shares::default(), Page::endless(Glyphs::Unicode));
    let text = text.split("\nPCI DISTANCE").next().unwrap_or_default();
    let mut above: Vec<(usize, Option<NodeId>)> = Vec::new();
    let mut shown = Vec::new();
    for line in text.lines() {
        let depth = line.chars().take_while(|c| "│├└─ ".contains(*c)).count();
        let own = line.trim_start_matches(['│', '├', '└', '─', ' ']);
        above.retain(|(other, _)| *other < depth);
        let outer = above.last().and_then(|(_, node)| *node);
        let node = place_in(own).map_or(outer, DeviceNode::id);
        above.push((depth, node));
        shown.extend(addresses_in(own).map(|(first, last, count)| (first, last, count, node)));
    }
    // Bridges are shown as the way to what is behind them.
    shown.retain(|(first, ..)| machine.device(*first).is_some_and(PciDevice::does_work));
    shown
}

fn of_picture(machine: &Machine) -> Vec<Shown> {
    let text = svg::picture(machine, svg::Heading { title: "title", summary: "summary" }, None);
    let titles = text.split("<title>").skip(2).filter_map(|rest| rest.split("</title>").next());
    let shown = titles.filter_map(|title| {
        let (first, last, count) = addresses_in(title)?;
        Some((first, last, count, place_in(title)?.id()))
    });
    shown.collect()
}

/// How many devices are near each node.
fn counted(shown: &[Shown]) -> BTreeMap<Option<NodeId>, usize> {
    let mut counts = BTreeMap::new();
    for (_, _, count, node) in shown {
        *counts.entry(*node).or_default() += count;
    }
    counts
}

#[test]
fn table_tree_and_picture_name_the_same_node_for_each_device() {
    let mut devices_seen = 0;
    for (name, machine) in &machines() {
        let mut expected = BTreeMap::new();
        for device in machine.devices().iter().filter(|device| device.does_work()) {
            *expected.entry(device.node.id()).or_default() += 1;
        }
        devices_seen += expected.values().sum::<usize>();
        for (form, shown) in [("tree", of_tree(machine)), ("picture", of_picture(machine))] {
            for (first, last, _, node) in &shown {
                for address in [first, last] {
                    let own = machine.device(*address).unwrap().node.id();
                    assert_eq!(*node, own, "{name}: {address} in the {form}");
                }
            }
            assert_eq!(counted(&shown), expected, "{name}: devices in the {form}");
        }
        let summary = MachineSummary::of_hardware(machine);
        let count = |groups: &[DeviceGroup]| groups.iter().map(|group| group.count).sum::<usize>();
        for node in &summary.nodes {
            let expected = expected.get(&Some(node.id)).copied().unwrap_or(0);
            assert_eq!(count(&node.devices), expected, "{name}: NUMA {} in the table", node.id);
        }
        let without = expected.get(&None).copied().unwrap_or(0);
        assert_eq!(count(&summary.devices_without_node), without, "{name}: devices of no node in the table");
    }
    assert!(devices_seen > 50, "devices were looked at");
}
