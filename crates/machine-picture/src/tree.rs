//! A machine as a tree of text lines: what contains what, and what is plugged in where.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use terminal_text::{Glyphs, Page};
use topology_model::{DeviceNode, Machine, Node, NodeId, PciDevice, PciDistance, Sriov};

use crate::labels;
use crate::nest::{Inside, Nest, Part, Place, Root, alike, device_groups, leads_to_work};
use crate::shares::{Owner, PodIndex, Shares};

/// The most devices between which distances are drawn.
const LARGEST_MATRIX: usize = 24;

/// A line and those that are below it.
struct Line {
    text: String,
    below: Vec<Line>,
}

/// The machine as a tree, then the distances between its PCI devices; each line ends in a newline.
///
/// Names of pods are in one of six colours, as ANSI escape codes; without pods the text has none.
pub fn tree(machine: &Machine, shares: &Shares, page: Page) -> String {
    let nest = Nest::new(machine);
    let drawing = Drawing { machine, shares, glyphs: page.glyphs };
    let mut lines = drawing.inside(&nest.inside, None);
    lines.extend(labels::bare(&nest, machine).into_iter().map(|text| Line { text, below: Vec::new() }));
    let mut text = String::new();
    draw(&lines, "", page, &mut text);
    text.push_str(&drawing.distances(page));
    text
}

fn draw(lines: &[Line], indent: &str, page: Page, text: &mut String) {
    for (at, line) in lines.iter().enumerate() {
        let is_last = at + 1 == lines.len();
        let (branch, below) = match (page.glyphs, is_last) {
            (Glyphs::Unicode, false) => ("├─ ", "│  "),
            (Glyphs::Unicode, true) => ("└─ ", "   "),
            (Glyphs::Ascii, false) => ("|- ", "|  "),
            (Glyphs::Ascii, true) => ("`- ", "   "),
        };
        // What does not fit goes on below, left of what is inside.
        let inside = if line.below.is_empty() { "  " } else { page.glyphs.inside() };
        for (at, part) in page.parts(&line.text, indent.chars().count() + 5).iter().enumerate() {
            let edge = if at == 0 { branch.to_owned() } else { format!("{below}{inside}") };
            text.push_str(&format!("{indent}{edge}{part}\n"));
        }
        draw(&line.below, &format!("{indent}{below}"), page, text);
    }
}

struct Drawing<'m> {
    machine: &'m Machine,
    shares: &'m Shares,
    glyphs: Glyphs,
}

impl Drawing<'_> {
    /// The contents of a place whose NUMA node is `node`.
    fn inside(&self, inside: &Inside<'_>, node: Option<NodeId>) -> Vec<Line> {
        let mut lines: Vec<_> = inside.places.iter().map(|place| self.place(place, node)).collect();
        for group in alike(self.machine, &inside.cores) {
            let caches: Vec<_> = group.caches.iter().map(|cache| labels::cache(cache)).collect();
            let caches =
                if caches.is_empty() { String::new() } else { format!(" with {}", caches.join(", ")) };
            lines.push(Line { text: format!("{}{caches}", labels::cores(&group)), below: Vec::new() });
        }
        lines.extend(inside.memory.iter().map(|node| {
            let text = format!("{}, no CPUs", labels::node(self.machine, node, self.glyphs));
            Line { text, below: self.pods(node) }
        }));
        lines.extend(inside.roots.iter().map(|root| self.root(root, node)));
        lines
    }

    fn place(&self, place: &Place<'_>, node: Option<NodeId>) -> Line {
        let dot = format!(" {} ", self.glyphs.dot());
        let mut parts: Vec<_> =
            place.parts.iter().map(|part| labels::part(self.machine, *part, self.glyphs)).collect();
        let plural = if place.cpus.len() == 1 { "" } else { "s" };
        parts.push(format!("CPU{plural} {}", place.cpus.regular()));
        let own = place.parts.iter().find_map(|part| match part {
            Part::Node(node) => Some(node.id),
            Part::Package(_) | Part::Cache(_) => None,
        });
        let mut below = self.inside(&place.inside, own.or(node));
        // Cores that are the whole contents of a place are named in its own line.
        if let [only] = below.as_slice()
            && place.inside.cores.len() > 1
            && only.below.is_empty()
        {
            parts.push(only.text.clone());
            below.clear();
        }
        let nodes = place.parts.iter().filter_map(|part| match part {
            Part::Node(node) => Some(*node),
            Part::Package(_) | Part::Cache(_) => None,
        });
        below.extend(nodes.flat_map(|node| self.pods(node)));
        Line { text: parts.join(&dot), below }
    }

    /// The pods that hold CPUs or memory of a node.
    fn pods(&self, node: &Node) -> Vec<Line> {
        let memory: Vec<_> = self.shares.on_node(node.id, self.glyphs).collect();
        let pods = self.shares.pods.iter().enumerate().filter_map(|(at, pod)| {
            let cpus = &pod.cpus & &node.cpus;
            let plural = if cpus.len() == 1 { "" } else { "s" };
            let cpus = (!cpus.is_empty()).then(|| format!("CPU{plural} {}", cpus.regular()));
            let held =
                memory.iter().find(|(index, ..)| *index == PodIndex(at)).map(|(.., held)| held.clone());
            let parts: Vec<_> = cpus.into_iter().chain(held).collect();
            if parts.is_empty() {
                return None;
            }
            let dot = format!(" {} ", self.glyphs.dot());
            let text = format!("{} has {}", in_colour(PodIndex(at), &pod.name), parts.join(&dot));
            Some(Line { text, below: Vec::new() })
        });
        pods.collect()
    }

    fn root(&self, root: &Root<'_>, node: Option<NodeId>) -> Line {
        let mut text = format!("PCI {:04x}:{:02x}", root.domain, root.bus);
        if let Some(own) = root.node.filter(|own| Some(*own) != node) {
            text.push_str(&format!(", near NUMA {own}"));
        }
        if root.node.is_none() {
            text.push_str(", node not known");
        }
        Line { text, below: self.devices(root.devices.iter().copied(), root.node) }
    }

    /// The devices that do work near a node or lead to one that does; devices that are alike share a line.
    fn devices<'a>(&self, devices: impl Iterator<Item = &'a PciDevice>, node: Option<NodeId>) -> Vec<Line> {
        let mut lines = Vec::new();
        let shown: Vec<_> = devices.filter(|device| leads_to_work(self.machine, device, node)).collect();
        for group in device_groups(self.machine, self.shares, &shown) {
            let Some((first, last)) = group.first().zip(group.last()) else { continue };
            let below = self.devices(self.machine.devices_behind(Some(first.address)), node);
            let address = match group.len() {
                1 => first.address.to_string(),
                count => format!("{} to {}, {count}{}", first.address, last.address, self.glyphs.times()),
            };
            let locality = if first.is_bridge() { String::new() } else { locality(first, node) };
            let owner = match self.shares.of_device(first) {
                Owner::Nobody => String::new(),
                Owner::Several => ", of several pods".to_owned(),
                Owner::Pod(index) => {
                    let name = self.shares.pod(index).map_or("", |pod| &pod.name);
                    format!(", of {}", in_colour(index, name))
                }
            };
            lines.push(Line {
                text: format!("{address} {}{locality}{owner}", labels::device_in_full(first)),
                below,
            });
        }
        lines
    }

    /// How far the devices are from each other. Virtual functions are left out: they are where their card is. A page that is too
    /// narrow for a device in one line has their addresses alone: their names are in the tree.
    fn distances(&self, page: Page) -> String {
        let devices = self.machine.devices().iter();
        let shown: Vec<_> = devices
            .filter(|device| device.does_work() && !matches!(device.sriov, Sriov::Virtual(_)))
            .collect();
        if shown.len() < 2 {
            return String::new();
        }
        if shown.len() > LARGEST_MATRIX {
            return format!("\nPCI DISTANCE  {} devices are too many to be drawn\n", shown.len());
        }
        let mut rows = vec![vec!["PCI DISTANCE".to_owned(), String::new()]];
        rows[0].extend((1..=shown.len()).map(|at| at.to_string()));
        for (at, device) in shown.iter().enumerate() {
            let mut row =
                vec![(at + 1).to_string() + " " + &device.address.to_string(), labels::device(device)];
            row.extend(shown.iter().enumerate().map(|(other_at, other)| {
                let far = match self.machine.pci_distance(device, other) {
                    _ if at == other_at => "-",
                    PciDistance::SameSwitch => "s",
                    PciDistance::SameRoot => "r",
                    PciDistance::SameNode => "n",
                    PciDistance::Other => "o",
                };
                far.to_owned()
            }));
            rows.push(row);
        }
        let widest = |at: usize| rows.iter().map(|row| row[at].chars().count() + 2).max().unwrap_or(0);
        if page.width.is_some_and(|width| (0..rows[0].len()).map(widest).sum::<usize>() > width + 2) {
            for row in &mut rows {
                row.remove(1);
            }
        }
        format!("\n{}{}", page.columns(rows, ""), page.wrapped(DISTANCE_LEGEND, 2))
    }
}

/// What the letters between devices mean.
const DISTANCE_LEGEND: &str = "s same switch, r same root complex, n same NUMA node, o other NUMA node";

/// A pod's name in one of six colours.
fn in_colour(pod: PodIndex, name: &str) -> String {
    const COLOURS: [u8; 6] = [33, 36, 35, 32, 34, 31];
    let colour = COLOURS.get(pod.0 % COLOURS.len()).copied().unwrap_or(39);
    format!("\x1b[{colour}m{name}\x1b[0m")
}

/// The NUMA node of a device, where it is not that of its root complex.
fn locality(device: &PciDevice, node: Option<NodeId>) -> String {
    match device.node {
        DeviceNode::Known(own) | DeviceNode::Inherited(own) if Some(own) != node => {
            format!(", near NUMA {own}")
        }
        DeviceNode::Inherited(_) => ", by its bridge".to_owned(),
        DeviceNode::Unknown if node.is_some() => ", node not known".to_owned(),
        DeviceNode::Unknown | DeviceNode::Known(_) => String::new(),
    }
}
