//! A machine as a table: a line for each NUMA node that has contents, and the distances between the nodes.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use k8s_quantity::Amount;
use terminal_text::{Glyphs, Page};
use topology_model::{DeviceKind, NodeIds};

use crate::labels;
use crate::summary::{DeviceCount, DeviceGroup, MachineSummary, NodeSummary};

/// The most nodes whose distances are drawn as a matrix.
const LARGEST_MATRIX: usize = 16;

impl MachineSummary {
    /// What the machine has in all: `2 packages · 4 cores · 8 CPUs · 2 NUMA nodes · 2 L3 · 8Gi`.
    pub fn line(&self, glyphs: Glyphs) -> String {
        let mut parts = vec![
            counted(self.packages, "package"),
            counted(self.cores, "core"),
            counted(self.cpus, "CPU"),
            counted(self.nodes.len(), "NUMA node"),
        ];
        let isolated = self.isolated_cpus.as_ref().filter(|list| !list.is_empty());
        let states = [("offline", self.offline_cpus.as_ref()), ("isolated", isolated)];
        let states: Vec<_> = states
            .iter()
            .filter_map(|(state, list)| Some(format!("{} {state}", (*list)?.regular())))
            .collect();
        if !states.is_empty() {
            parts[2].push_str(&format!(" ({})", states.join("; ")));
        }
        parts.extend(self.caches.iter().map(|cache| {
            let size = cache.size.map_or_else(String::new, |size| format!(" of {}", Amount::Bytes(size)));
            format!("{} {}{size}", cache.count, cache.name)
        }));
        // The kernel's total can be a little more than the sum of the nodes, which the table shows.
        let add = |sum: u64, node: &NodeSummary| Some(sum.saturating_add(node.memory?));
        let of_nodes = self.nodes.iter().try_fold(0, add).filter(|sum| *sum > 0);
        parts.extend(of_nodes.or(self.memory).map(|bytes| Amount::Bytes(bytes).to_string()));
        parts.extend(self.device_counts.iter().map(devices_of_kind));
        parts.join(&format!(" {} ", glyphs.dot()))
    }

    /// A line for each NUMA node that has contents, the distances between the nodes, and devices of no known node.
    /// Each line ends in a newline.
    pub fn table(&self, page: Page) -> String {
        let mut text = nodes(self, page) + &distances(&self.nodes, page);
        if !self.devices_without_node.is_empty() {
            let devices = devices(&self.devices_without_node, page.glyphs);
            text.push('\n');
            text.push_str(&page.wrapped(&format!("PCI devices of no known node: {devices}"), 2));
        }
        text
    }
}

/// `1 core`, `2 cores`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `8 GPUs`, `2 NICs (16 VFs)`, `4 NVMe disks`.
fn devices_of_kind(counts: &DeviceCount) -> String {
    let word = match counts.kind {
        DeviceKind::Nvme => "NVMe disk",
        kind @ (DeviceKind::Gpu | DeviceKind::Nic | DeviceKind::Accelerator) => kind.word(),
    };
    let virtual_functions = match counts.virtual_functions {
        0 => String::new(),
        count => format!(" ({})", counted(count, "VF")),
    };
    counted(counts.count, word) + &virtual_functions
}

fn nodes(machine: &MachineSummary, page: Page) -> String {
    let nodes = &machine.nodes;
    let head = ["NUMA", "PACKAGE", "CPUS", "CORES", "L3", "MEMORY", "HUGE PAGES", "DEVICES"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(nodes.iter().filter(|node| !node.is_bare()).map(|node| row(node, page.glyphs)));
    // A column without contents is left out.
    let used: Vec<bool> = (0..head.len()).map(|at| rows[1..].iter().any(|row| row[at] != NOTHING)).collect();
    let rows = rows.into_iter().map(|row| {
        let kept = row.into_iter().zip(&used).filter(|(_, used)| **used);
        kept.map(|(cell, _)| cell).collect::<Vec<_>>()
    });
    let mut text = page.columns(rows, "");
    for has_initiator in [true, false] {
        let bare = nodes.iter().filter(|node| node.is_bare() && node.generic_initiator == has_initiator);
        let ids: NodeIds = bare.map(|node| node.id).collect();
        if !ids.is_empty() {
            let what = if has_initiator { labels::INITIATOR_ONLY } else { "" };
            text.push_str(&format!("{ids}  {what}{}\n", labels::nothing(machine.has_pci)));
        }
    }
    text
}

/// The most kernel names of devices that are alike and stand in a cell.
const MOST_NAMES: usize = 8;
/// A cell without content.
const NOTHING: &str = "-";
/// A cell whose content is not known.
const UNKNOWN: &str = "unknown";

fn row(node: &NodeSummary, glyphs: Glyphs) -> Vec<String> {
    let or_nothing = |text: String| if text.is_empty() { NOTHING.to_owned() } else { text };
    let count = |count: usize| if count == 0 { NOTHING.to_owned() } else { count.to_string() };
    let pages = node
        .hugepages
        .iter()
        .filter(|pages| pages.pages > 0)
        .map(|pages| format!("{}{}{}", pages.pages, glyphs.times(), Amount::Bytes(pages.page_size)));
    vec![
        node.id.to_string(),
        node.packages.as_ref().map_or(UNKNOWN.to_owned(), |ids| or_nothing(package_list(ids))),
        or_nothing(node.cpus.regular().to_string()),
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

/// Ascending numbers of packages in list format: `0-3,8`.
fn package_list(numbers: &[i64]) -> String {
    let runs = numbers.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let shown = runs.filter_map(|run| match run {
        [] => None,
        [only] => Some(only.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    shown.collect::<Vec<_>>().join(",")
}

fn devices_of(node: &NodeSummary, glyphs: Glyphs) -> String {
    let initiator = node.generic_initiator.then(|| labels::INITIATOR.to_owned());
    let pci = Some(devices(&node.devices, glyphs)).filter(|text| !text.is_empty());
    initiator.into_iter().chain(pci).collect::<Vec<_>>().join(", ")
}

fn devices(groups: &[DeviceGroup], glyphs: Glyphs) -> String {
    let shown = groups.iter().map(|group| {
        // The names of many devices are in the tree and in the documents.
        let names = if group.names.len() > MOST_NAMES { "" } else { &group.names.join(" ") };
        format!("{}{} {} {names}", group.count, glyphs.times(), group.what).trim_end().to_owned()
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A matrix where it can be read, else the range.
fn distances(nodes: &[NodeSummary], page: Page) -> String {
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
    format!("\n{}", page.columns(core::iter::once(head.clone()).chain(rows), ""))
}

#[cfg(test)]
mod tests {
    use topology_model::Machine;

    use super::*;

    #[test]
    fn packages_are_listed_in_runs() {
        for (numbers, shown) in [(&[][..], ""), (&[5], "5"), (&[0, 1, 2, 8], "0-2,8")] {
            assert_eq!(package_list(numbers), shown);
        }
    }

    #[test]
    fn columns_without_contents_are_left_out() {
        let machine: Machine = "pack:2 [numa(memory=4GiB hugepages-1Gi=2)] core:2 pu:1".parse().unwrap();
        assert_eq!(
            MachineSummary::of_hardware(&machine).table(Page::endless(Glyphs::Unicode)),
            "NUMA  PACKAGE  CPUS  CORES  MEMORY  HUGE PAGES\n\
             0     0        0-1   2      4Gi     2×1Gi\n\
             1     1        2-3   2      4Gi     2×1Gi\n\n\
             DISTANCE  0   1\n0         10  20\n1         20  10\n"
        );
    }
}
