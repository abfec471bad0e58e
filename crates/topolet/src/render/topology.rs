//! A machine for a person: one line for each NUMA node that has something, and the distances between them.

use std::collections::BTreeSet;

use crate::machine_view::{DeviceGroup, MachineView, NodeView};
use crate::node::RELEASE;
use crate::render::{Amount, Glyphs, columns, counted, ranges, words};

/// Up to so many nodes distances are drawn as a matrix.
const LARGEST_MATRIX: usize = 16;

/// The drawing with what pods hold below it, ending in a newline.
pub(crate) fn topology(view: &MachineView, pods: &str, glyphs: Glyphs) -> String {
    let mut drawing = nodes(view, glyphs) + &distances(&view.nodes);
    if !view.devices_without_node.is_empty() {
        drawing.push_str(&format!(
            "\nPCI devices of no known node: {}\n",
            devices(&view.devices_without_node, glyphs)
        ));
    }
    frame(view, &(drawing + pods), glyphs)
}

/// What is above and below a drawing of the machine, and the drawing between.
pub(crate) fn frame(view: &MachineView, drawing: &str, glyphs: Glyphs) -> String {
    let mut text = headline(view, glyphs);
    text.push_str(drawing);
    for (head, lines) in [
        ("given instead of what the machine has", &view.given),
        ("the kubelet sees another machine", &view.kubelet_differs),
        ("problems", &view.problems),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{head}:\n"));
            text.extend(lines.iter().map(|line| format!("! {line}\n")));
        }
    }
    text
}

/// What the machine is, in a line that ends in a newline.
fn headline(view: &MachineView, glyphs: Glyphs) -> String {
    let dot = glyphs.dot();
    format!("{}   {} {dot} rules of kubelet {RELEASE}\n", view.machine, summary(view, glyphs))
}

/// How much of what the machine has.
pub(crate) fn summary(view: &MachineView, glyphs: Glyphs) -> String {
    let mut parts = vec![
        counted(view.packages, "package"),
        counted(view.cores, "core"),
        counted(view.cpus, "CPU"),
        counted(view.nodes.len(), "NUMA node"),
    ];
    let isolated = view.isolated_cpus.as_ref().filter(|list| !list.is_empty());
    let states = [("offline", view.offline_cpus.as_ref()), ("isolated", isolated)];
    let states: Vec<_> =
        states.iter().filter_map(|(state, list)| Some(format!("{} {state}", (*list)?))).collect();
    if !states.is_empty() {
        parts[2].push_str(&format!(" ({})", states.join("; ")));
    }
    parts.extend(view.caches.iter().map(|cache| {
        let size = cache.size.map_or_else(String::new, |size| format!(" of {}", Amount::Bytes(size)));
        format!("{} {}{size}", cache.count, cache.name)
    }));
    // What the kernel says of the whole can be a little more than its nodes have, which are below.
    let add = |sum: u64, node: &NodeView| Some(sum.saturating_add(node.memory?));
    let of_nodes = view.nodes.iter().try_fold(0, add).filter(|sum| *sum > 0);
    parts.extend(of_nodes.or(view.memory).map(|bytes| Amount::Bytes(bytes).to_string()));
    parts.join(&format!(" {} ", glyphs.dot()))
}

fn nodes(view: &MachineView, glyphs: Glyphs) -> String {
    let nodes = &view.nodes;
    let head = ["NUMA", "PACKAGE", "CPUS", "CORES", "L3", "MEMORY", "HUGE PAGES", "DEVICES"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(nodes.iter().filter(|node| !node.is_bare()).map(|node| row(node, glyphs)));
    // A column in which nobody has anything says nothing.
    let used: Vec<bool> = (0..head.len()).map(|at| rows[1..].iter().any(|row| row[at] != NOTHING)).collect();
    let rows = rows.into_iter().map(|row| {
        let kept = row.into_iter().zip(&used).filter(|(_, used)| **used);
        kept.map(|(cell, _)| cell).collect::<Vec<_>>()
    });
    let mut text = columns(rows, "");
    for has_initiator in [true, false] {
        let bare = nodes.iter().filter(|node| node.is_bare() && node.generic_initiator == has_initiator);
        let ids: Vec<i64> = bare.map(|node| node.id).collect();
        if !ids.is_empty() {
            let what = if has_initiator { words::INITIATOR_ONLY } else { "" };
            text.push_str(&format!("{}  {what}{}\n", ranges(ids), words::nothing(view.has_pci)));
        }
    }
    text
}

/// A cell without content.
const NOTHING: &str = "-";
/// A cell of which nobody knows the content.
const UNKNOWN: &str = "unknown";

fn row(node: &NodeView, glyphs: Glyphs) -> Vec<String> {
    let or_nothing = |text: String| if text.is_empty() { NOTHING.to_owned() } else { text };
    let count = |count: usize| if count == 0 { NOTHING.to_owned() } else { count.to_string() };
    let pages = node
        .hugepages
        .iter()
        .filter(|pages| pages.pages > 0)
        .map(|pages| format!("{}{}{}", pages.pages, glyphs.times(), Amount::Bytes(pages.page_size)));
    vec![
        node.id.to_string(),
        node.packages.as_ref().map_or(UNKNOWN.to_owned(), |ids| or_nothing(ranges(ids.iter().copied()))),
        or_nothing(node.cpus.clone()),
        count(node.cores),
        count(node.l3_caches),
        match node.memory {
            None => UNKNOWN.to_owned(),
            Some(0) => NOTHING.to_owned(),
            Some(bytes) => Amount::Bytes(bytes).to_string(),
        },
        or_nothing(pages.collect::<Vec<_>>().join(" ")),
        or_nothing(devices_of(node, glyphs)),
    ]
}

fn devices_of(node: &NodeView, glyphs: Glyphs) -> String {
    let initiator = node.generic_initiator.then(|| words::INITIATOR.to_owned());
    let pci = Some(devices(&node.devices, glyphs)).filter(|text| !text.is_empty());
    initiator.into_iter().chain(pci).collect::<Vec<_>>().join(", ")
}

fn devices(groups: &[DeviceGroup], glyphs: Glyphs) -> String {
    let shown = groups.iter().map(|group| format!("{}{} {}", group.count, glyphs.times(), group.what));
    shown.collect::<Vec<_>>().join(", ")
}

/// A matrix where it can be read, else the range.
fn distances(nodes: &[NodeView]) -> String {
    let shown: Vec<usize> = (0..nodes.len()).filter(|at| !nodes[*at].is_bare()).collect();
    let between =
        |from: usize, to: usize| nodes[from].distances.as_ref().and_then(|row| row.get(to).copied());
    let known: BTreeSet<u32> =
        shown.iter().flat_map(|from| shown.iter().filter_map(move |to| between(*from, *to))).collect();
    let (Some(nearest), Some(farthest)) = (known.first(), known.last()) else { return String::new() };
    if shown.len() < 2 {
        return String::new();
    }
    if shown.len() > LARGEST_MATRIX {
        return format!("\nDISTANCES  {nearest} to {farthest}\n");
    }
    let mut head = vec!["DISTANCE".to_owned()];
    head.extend(shown.iter().map(|at| nodes[*at].id.to_string()));
    let rows = shown.iter().map(|from| {
        let mut row = vec![nodes[*from].id.to_string()];
        row.extend(
            shown.iter().map(|to| between(*from, *to).map_or("?".to_owned(), |value| value.to_string())),
        );
        row
    });
    format!("\n{}", columns(std::iter::once(head.clone()).chain(rows), ""))
}
