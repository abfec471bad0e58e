//! The table, the tree and the picture name the same NUMA node for each device, on every captured machine and on each
//! with more devices.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use machine_picture::{DeviceGroup, MachineSummary, Shares, svg, tree};
use terminal_text::{Glyphs, Page};
use topology_discovery::{SysfsTree, read};
use topology_model::{DeviceNode, Machine, NodeId, PciAddress, PciDevice, Sriov};

/// Devices that are shown in one place: the first and the last of them, and how many they are.
type Shown = (PciAddress, PciAddress, usize, Option<NodeId>);

/// The machines of the project, each as it is and with more devices; and the captured ones below `TOPOLET_RECORDED`.
fn machines() -> Vec<(String, Machine)> {
    let machine = |archive: &[u8]| read(&SysfsTree::archive(archive).unwrap()).unwrap().machine;
    let mut machines = Vec::new();
    for name in machine_fixtures::names() {
        let own = machine(machine_fixtures::archive(name).unwrap());
        machines.push((format!("{name} with more devices"), with_devices(own.clone())));
        machines.push((name.to_owned(), own));
    }
    let Some(recorded) = std::env::var_os("TOPOLET_RECORDED") else { return machines };
    for kind in ["real", "synthesised"] {
        let folder = PathBuf::from(&recorded).join("machines").join(kind);
        let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths = entries.map(|entry| entry.unwrap().path().display().to_string());
        let archives = paths.filter(|path| path.ends_with(".tar.zst"));
        machines.extend(archives.map(|path| (path.clone(), machine(&std::fs::read(&path).unwrap()))));
    }
    machines
}

/// At each node, and at none that is known: a GPU directly at the root; and behind a bridge two GPUs, a card with four
/// virtual functions, and a drive of which only the bridge's node is known.
fn with_devices(machine: Machine) -> Machine {
    const BRIDGE: u32 = 0x06_0400;
    const GPU: u32 = 0x03_0200;
    const ETHERNET: u32 = 0x02_0000;
    const NVME: u32 = 0x01_0802;
    let places: Vec<_> = machine.nodes().iter().map(|node| Some(node.id)).chain([None]).collect();
    let mut parts = machine.into_parts();
    for (domain, place) in (0xa000..).zip(places) {
        let known = place.map_or(DeviceNode::Unknown, DeviceNode::Known);
        let inherited = place.map_or(DeviceNode::Unknown, DeviceNode::Inherited);
        let at = |bus, device, function| PciAddress { domain, bus, device, function };
        let bridge = at(0, 1, 0);
        let functions: Vec<_> = (1..5).map(|function| at(1, 2, function)).collect();
        let behind = |address, class, node, sriov| PciDevice {
            node,
            sriov,
            parent: Some(bridge),
            ..PciDevice::new(address, class)
        };
        parts.devices.extend([
            PciDevice { node: known, ..PciDevice::new(at(0, 0, 0), GPU) },
            PciDevice { node: known, ..PciDevice::new(bridge, BRIDGE) },
            behind(at(1, 0, 0), GPU, known, Sriov::None),
            behind(at(1, 1, 0), GPU, known, Sriov::None),
            behind(at(1, 2, 0), ETHERNET, known, Sriov::Physical(functions.clone())),
            behind(at(1, 3, 0), NVME, inherited, Sriov::None),
        ]);
        let card = Sriov::Virtual(at(1, 2, 0));
        parts.devices.extend(functions.iter().map(|own| behind(*own, ETHERNET, known, card.clone())));
    }
    Machine::new(parts).unwrap()
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
    assert!(devices_seen > 2900, "only {devices_seen} devices were looked at");
}
