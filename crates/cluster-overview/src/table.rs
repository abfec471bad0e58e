//! The table for people.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use pod_spec::ResourceName;
use terminal_text::Page;

use crate::asked::AskedPod;
use crate::overview::ClusterOverview;
use crate::rows::{FreeResource, NodeRow, RowBasis};

/// What is free is listed for each NUMA node up to so many; of more the sum and the largest.
const MOST_NUMA: usize = 4;
/// So many resources with devices have a column; others are listed with more detail.
const MOST_DEVICES: usize = 2;

/// By what rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RowOrder {
    /// Names.
    #[default]
    Name,
    /// Most free CPUs on one NUMA node first.
    Cpu,
    /// Most free memory on one NUMA node first.
    Memory,
    /// Most refusals first.
    Refused,
    /// Least of what was asked for fits first.
    Fits,
}

/// How much each row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// What fits a screen.
    #[default]
    Brief,
    /// All resources, how a node is known, and reasons of refusals.
    Wide,
}

impl NodeRow {
    fn of(&self, resource: &str) -> Option<&FreeResource> {
        self.free.iter().find(|free| free.resource == resource)
    }

    fn most(&self, resource: &str) -> u64 {
        self.of(resource).map_or(0, FreeResource::most)
    }

    /// Pods that it refused in the last hour, as far as that is known.
    #[must_use]
    pub fn refusals(&self) -> usize {
        self.refused.iter().flat_map(BTreeMap::values).sum()
    }
}

impl ClusterOverview {
    /// The rows in another order; equal ones by name.
    pub fn sort(&mut self, order: RowOrder) {
        match order {
            RowOrder::Name => self.nodes.sort_by(|one, other| one.node.cmp(&other.node)),
            RowOrder::Cpu => self.nodes.sort_by_key(|row| Reverse(row.most("cpu"))),
            RowOrder::Memory => self.nodes.sort_by_key(|row| Reverse(row.most("memory"))),
            RowOrder::Refused => self.nodes.sort_by_key(|row| Reverse(row.refusals())),
            RowOrder::Fits => self.nodes.sort_by_key(|row| row.fits.len()),
        }
    }

    /// The table, ending in a newline.
    #[must_use]
    pub fn text(&self, detail: Detail, page: Page) -> String {
        let columns = self.columns(detail);
        let mut rows = vec![self.head(&columns, detail)];
        rows.extend(self.nodes.iter().map(|row| self.cells(row, &columns, detail)));
        let mut text = if self.nodes.is_empty() { "no nodes\n".to_owned() } else { page.columns(rows, "") };
        if detail == Detail::Wide && !self.asked.is_empty() {
            let head = ["ASKED FOR IN THE LAST DAY", "PODS", "FITS"].map(str::to_owned).to_vec();
            let rows = self
                .asked
                .iter()
                .map(|asked| vec![asked.asks.clone(), asked.pods.to_string(), counted(asked.fits_nodes)]);
            text.push_str(&format!("\n{}", page.columns(std::iter::once(head).chain(rows), "")));
        }
        let approximate = self.nodes.iter().filter(|row| row.basis == RowBasis::Approximate).count();
        let unknown = self.nodes.iter().filter(|row| row.basis == RowBasis::Unknown).count();
        let mut notes = Vec::new();
        if approximate > 0 {
            notes.push(format!(
                "~ of {}: by amounts that are published, which is not the kubelet's answer",
                counted(approximate)
            ));
        }
        if unknown > 0 {
            notes.push(format!("? of {}: nothing is published of it", counted(unknown)));
        }
        notes.extend(self.not_seen.iter().map(|gap| format!("! not seen: {gap}")));
        if !notes.is_empty() {
            text.push('\n');
        }
        text.extend(notes.iter().map(|note| page.wrapped(note, 2)));
        text
    }

    /// The resources that have a column, and how it is called.
    fn columns(&self, detail: Detail) -> Vec<String> {
        let all: BTreeSet<&str> =
            self.nodes.iter().flat_map(|row| &row.free).map(|free| free.resource.as_str()).collect();
        let is_device = |name: &&&str| name.contains('/');
        let devices = all.iter().filter(is_device);
        let devices: Vec<&str> = match detail {
            Detail::Brief => devices.take(MOST_DEVICES).copied().collect(),
            Detail::Wide => devices.copied().collect(),
        };
        let pages = all.iter().filter(|name| name.starts_with("hugepages-") && detail == Detail::Wide);
        let first = ["cpu", "memory"].into_iter().filter(|name| all.contains(name));
        first.chain(pages.copied()).chain(devices).map(str::to_owned).collect()
    }

    fn head(&self, columns: &[String], detail: Detail) -> Vec<String> {
        let mut head = vec!["NODE".to_owned()];
        head.extend(columns.iter().map(|name| match name.as_str() {
            "cpu" => "FREE CPUS".to_owned(),
            "memory" => "FREE MEMORY".to_owned(),
            name => format!("FREE {name}"),
        }));
        if !self.asked.is_empty() {
            head.push("LARGEST THAT FITS".to_owned());
        }
        head.extend(["REFUSED", "CONDITIONS"].map(str::to_owned));
        if detail == Detail::Wide {
            head.push("KNOWN".to_owned());
        }
        head
    }

    fn cells(&self, row: &NodeRow, columns: &[String], detail: Detail) -> Vec<String> {
        let mut cells = vec![row.node.clone()];
        cells.extend(columns.iter().map(|name| match row.of(name) {
            _ if row.basis == RowBasis::Unknown => "?".to_owned(),
            None => "-".to_owned(),
            Some(free) => shown(free),
        }));
        if !self.asked.is_empty() {
            cells.push(self.largest(row));
        }
        cells.push(match (&row.refused, detail) {
            (None, _) => "?".to_owned(),
            (Some(refused), _) if refused.is_empty() => "-".to_owned(),
            (Some(_), Detail::Brief) => row.refusals().to_string(),
            (Some(refused), Detail::Wide) => {
                let reasons = refused.iter().map(|(reason, pods)| format!("{pods} {reason}"));
                reasons.collect::<Vec<_>>().join(", ")
            }
        });
        cells.push(if row.conditions.is_empty() { "-".to_owned() } else { row.conditions.join(", ") });
        if detail == Detail::Wide {
            cells.push(
                match row.basis {
                    RowBasis::Exact => "exactly",
                    RowBasis::Approximate => "by amounts",
                    RowBasis::Unknown => "no",
                }
                .to_owned(),
            );
        }
        cells
    }

    /// The largest of what was asked for that fits.
    fn largest(&self, row: &NodeRow) -> String {
        let first = row.fits.first().and_then(|at| self.asked.get(*at));
        let largest = first.map_or("none of what was asked for", |AskedPod { asks, .. }| asks);
        match row.basis {
            RowBasis::Exact => largest.to_owned(),
            RowBasis::Approximate => format!("~ {largest}"),
            RowBasis::Unknown => "?".to_owned(),
        }
    }
}

fn counted(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}

/// What is free on each NUMA node, or the sum and the largest.
fn shown(free: &FreeResource) -> String {
    let name = ResourceName::new(&free.resource);
    let amount = |value: u64| name.amount(value).to_string();
    if free.numa.len() > MOST_NUMA {
        return format!("{}, {} on one", amount(free.sum()), amount(free.most()));
    }
    let mut cells: Vec<String> = free.numa.iter().map(|here| amount(here.free)).collect();
    if free.elsewhere > 0 {
        cells.push(format!("+{}", amount(free.elsewhere)));
    }
    if cells.is_empty() { "0".to_owned() } else { cells.join(" ") }
}
