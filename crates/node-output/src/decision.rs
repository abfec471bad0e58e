//! A decision for a person: what was asked, what each node could give, what was given or why not. The sentences are
//! those of the report.

use std::collections::BTreeMap;

use admission_report::{
    ClaimedDevice, Conclusion, DecidedClaims, Fated, NodeCell, Refusal, Report, Resource, ResourceReport,
    UncheckedResource, UnitReport,
};
use terminal_text::Page;
use topology_admission::{Search, Standing};
use topology_model::{NodeId, NodeIds};
use unicode_width::UnicodeWidthStr;

use crate::cells::{NOT_CHECKED, joined};
use crate::explained_claims::explained;
use crate::pod_group::PodGroup;
use crate::rows::{line, listed};

/// Beyond so many nodes only those that come nearest are shown.
const MOST_COLUMNS: usize = 8;

/// The lines of the decision on a group of pods, ending in a newline; of a refused group the first is explained. `node`
/// names the node and its rules, where nothing above does.
#[must_use]
pub fn decision(pods: &PodGroup, node: Option<&str>, page: Page) -> String {
    let report = &pods.first;
    let mut text = verdict(pods, page);
    if let Some(refusal) = report.refusal() {
        text.extend(node.map(|node| line(page, "node", node)));
        text.extend(report.rules.as_ref().map(|rules| line(page, "rules", &rules.to_string())));
        if let Some(unit) = report.units.last() {
            text.push_str(&resources(unit, report.claims.as_ref(), Columns::Nearest, page));
        }
        text.push_str(&reasons(refusal, page));
    }
    text.push_str(&ways_out(pods, page));
    text.extend(report.unschedulable().map(|why| explained(why, page)));
    text.push_str(&claims(report, page));
    text + &kubelet_said(report, page) + &notes(pods, page)
}

/// The kubelet's refusal of a pod beside the decision here; empty if it admitted the pod.
pub(crate) fn kubelet_said(report: &Report, page: Page) -> String {
    let Some(said) = &report.kubelet_said else { return String::new() };
    let compared = said.compared(&report.conclusion);
    if report.is_decided_otherwise() {
        return page.wrapped(&format!("! {}   the kubelet {compared}", report.pod), 4);
    }
    line(page, "kubelet", &compared)
}

/// What came out: the kubelet's words, or what each container was given.
pub(crate) fn verdict(pods: &PodGroup, page: Page) -> String {
    if let Conclusion::Deferred(deferred) = &pods.first.conclusion {
        return page.wrapped(&format!("! {}   deferred: {deferred}", pods.name()), 4);
    }
    if let Conclusion::Fated(fated) = &pods.first.conclusion {
        let verdict = page.wrapped(&format!("{} {}   {fated}", page.no(), pods.name()), 4);
        let containers = pods.first.containers();
        let given = if containers.is_empty() { String::new() } else { page.columns(pods.rows(), INDENT) };
        return verdict + &given;
    }
    if let Conclusion::Undecided(why) = &pods.first.conclusion {
        let verdict = page.wrapped(&format!("! {}   {why}", pods.name()), 4);
        return verdict + &page.columns(pods.rows(), INDENT);
    }
    if let Conclusion::Unschedulable(why) = &pods.first.conclusion {
        return page.wrapped(&format!("{} {}   {why}", page.no(), pods.name()), 4);
    }
    let Conclusion::Refused(refusal) = &pods.first.conclusion else {
        let verdict = match pods.first.undecided_claims() {
            None => format!("{} {}   admitted\n", page.yes(), pods.name()),
            Some(claims) => page.wrapped(&format!("! {}   {claims}", pods.name()), 4),
        };
        return verdict + &page.columns(pods.rows(), INDENT);
    };
    let whose = refusal.container.as_ref().map_or_else(String::new, |name| format!(" {} {name}", page.dot()));
    let verdict = format!("{} {}{whose}   {}: {}", page.no(), pods.name(), refusal.reason, refusal.message);
    page.wrapped(&verdict, 4)
}

/// The devices of its claims, and whose decision that is.
pub(crate) fn claims(report: &Report, page: Page) -> String {
    let Some(decided) = &report.claims else { return String::new() };
    let rows = decided.claims.iter().flat_map(|claim| {
        let of_request =
            claim.devices.chunk_by(|one, other| one.request == other.request && one.is_beside(other));
        let already = if claim.state == "allocated" { " (allocated already)" } else { "" };
        of_request.map(move |devices| {
            vec![claim.name.clone(), devices[0].request.clone(), arrow(devices, page) + already]
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = if rows.is_empty() { "claims" } else { "" };
    let mut text = listed(page, "claims", rows);
    text.push_str(&line(page, head, &format!("decided as {}", decided.decided_as)));
    let remark = |remark: &String| page.wrapped(&format!("! {}   {remark}", report.pod), 4);
    text + &decided.remarks.iter().map(remark).collect::<String>()
}

/// Devices of one pool and NUMA node, by their names behind the first: `→ gpu.example.com/worker-1/gpu-0, gpu-1 on NUMA 1`.
fn arrow(devices: &[ClaimedDevice], page: Page) -> String {
    let first = devices.iter().take(1).map(ToString::to_string);
    let others = devices.iter().skip(1).map(ClaimedDevice::beside_others);
    let place = devices.first().map_or_else(String::new, |device| match device.node() {
        Some(node) => format!(" on NUMA {node}"),
        None if device.is_located() => " on NUMA ?".to_owned(),
        None => String::new(),
    });
    format!("{} {}{place}", page.arrow(), joined(first.chain(others)))
}

/// What avoids what happens in place of the kubelet's answer.
pub(crate) fn ways_out(pods: &PodGroup, page: Page) -> String {
    let ways = pods.first.fated().map(Fated::ways_out).unwrap_or_default();
    let lines = ways.iter().enumerate();
    lines.map(|(at, way)| line(page, if at == 0 { "avoided by" } else { "" }, way)).collect()
}

/// What its owner may not expect.
pub(crate) fn notes(pods: &PodGroup, page: Page) -> String {
    let notes = pods.first.notes.iter().map(|note| {
        let containers: Vec<&str> = note.containers.iter().map(pod_spec::ContainerName::as_str).collect();
        let whose = if containers.is_empty() {
            String::new()
        } else {
            format!(" {} {}", page.dot(), containers.join(", "))
        };
        let would_align = note.would_align().iter();
        let would_align = would_align.map(|remedy| vec![remedy.kind().to_owned(), remedy.to_string()]);
        page.wrapped(&format!("! {}{whose}   {}", pods.span(), note.remark), 4)
            + &listed(page, "would align", would_align)
    });
    notes.collect()
}

/// Why, and what would fit.
pub(crate) fn reasons(refusal: &Refusal, page: Page) -> String {
    let mut text = String::new();
    let why = refusal.why().into_iter().chain(refusal.outlook().map(str::to_owned));
    let why: Vec<String> = why.collect();
    if !why.is_empty() {
        text.push_str(&line(page, "why", &why.join(". ")));
    }
    let fits = refusal.alternatives.iter().map(|fit| {
        let (change, detail) = (fit.remedy.kind().to_owned(), fit.remedy.to_string());
        vec![change, detail, format!("{} {}", page.arrow(), fit.result())]
    });
    text.push_str(&listed(page, "would fit", fits));
    text.extend(refusal.nothing_fits().map(|nothing| line(page, "would fit", &nothing)));
    if refusal.search == Search::Cut {
        let head = if refusal.alternatives.is_empty() { "would fit" } else { "" };
        text.push_str(&line(page, head, "more was not tried; topolet explain --tries NUMBER tries more"));
    }
    text
}

/// Which nodes are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Those that come nearest to a fit.
    Nearest,
    /// All, in several tables if there are many.
    All,
}

/// One row for each resource and each claim, one column for each node worth showing; nodes that are alike share one.
pub(crate) fn resources(
    unit: &UnitReport,
    claims: Option<&DecidedClaims>,
    which: Columns,
    page: Page,
) -> String {
    let resources = unit.resources.as_slice();
    let Some(first) = resources.first() else {
        return page.columns(unit.not_checked.iter().map(not_checked), INDENT);
    };
    let claims = ClaimRow::all(unit, claims);
    let mut like: Vec<Column> = Vec::new();
    for (at, node) in first.nodes.iter().enumerate() {
        let own = resources.iter().map(|resource| there(resource, at, page));
        let cells: Vec<String> = own.chain(claims.iter().map(|claim| claim.there(node.node))).collect();
        if let Some(column) = like.iter_mut().find(|column| column.cells == cells) {
            column.nodes.push(node.node);
        } else {
            let column = Column::new(resources, at, cells);
            let has_any = column.has_any || claims.iter().any(|claim| claim.count(node.node) > 0);
            like.push(Column { has_any, ..column });
        }
    }
    let (mut shown, empty): (Vec<Column>, Vec<Column>) = like.into_iter().partition(|column| column.has_any);
    let hidden: usize = if which == Columns::Nearest && shown.len() > MOST_COLUMNS {
        // Nearest misses first, then in order of the nodes again.
        shown.sort_by_key(|column| column.misses);
        let hidden = shown.split_off(MOST_COLUMNS);
        shown.sort_by_key(|column| column.nodes[0]);
        hidden.iter().map(|column| column.nodes.len()).sum()
    } else {
        0
    };
    let mut text = String::new();
    let tables = Table::fitting(unit, &claims, &shown, page);
    text.extend(tables.iter().map(|table| page.columns(table.rows(unit), INDENT)));
    if !empty.is_empty() {
        let ids: NodeIds = empty.iter().flat_map(|column| column.nodes.iter().copied()).collect();
        text.push_str(&page.wrapped(&format!("  NUMA {ids}: none"), 4));
    }
    if hidden > 0 {
        text.push_str(&format!("  and {hidden} more NUMA nodes that are further from a fit\n"));
    }
    text
}

fn not_checked(unchecked: &UncheckedResource) -> Vec<String> {
    vec![unchecked.resource.to_string(), unchecked.asked.to_string(), NOT_CHECKED.to_owned()]
}

/// Before each row.
const INDENT: &str = "  ";

/// Columns of nodes that stand in one table.
struct Table<'a> {
    columns: Vec<&'a Column>,
    claims: &'a [ClaimRow],
    elsewhere: bool,
    unknown: bool,
}

impl<'a> Table<'a> {
    /// As many tables as it takes, so that none has more than [`MOST_COLUMNS`] or is wider than the page.
    fn fitting(unit: &UnitReport, claims: &'a [ClaimRow], shown: &'a [Column], page: Page) -> Vec<Self> {
        let unknown = claims.iter().any(|claim| claim.unknown > 0);
        let elsewhere = unit.resources.iter().any(|resource| resource.elsewhere.is_some());
        let endless = Page { width: None, ..page };
        let fits = |table: &Self| {
            let widest = endless.columns(table.rows(unit), INDENT).lines().map(UnicodeWidthStr::width).max();
            page.width.is_none_or(|page| widest.unwrap_or(0) <= page)
        };
        let mut tables = Vec::new();
        let mut table = Self { columns: Vec::new(), claims, elsewhere, unknown };
        for column in shown {
            table.columns.push(column);
            let is_over = table.columns.len() > MOST_COLUMNS || !fits(&table);
            if is_over && table.columns.len() > 1 {
                table.columns.pop();
                tables.push(Self {
                    columns: std::mem::replace(&mut table.columns, vec![column]),
                    claims,
                    elsewhere: false,
                    unknown: false,
                });
            }
        }
        tables.push(table);
        tables
    }

    /// Below the head a row for each resource.
    fn rows(&self, unit: &UnitReport) -> Vec<Vec<String>> {
        let mut head = vec!["RESOURCE".to_owned(), "ASKED".to_owned()];
        head.extend(self.columns.iter().map(|column| {
            let each = if column.nodes.len() > 1 { " each" } else { "" };
            format!("NUMA {}{each}", column.nodes.iter().copied().collect::<NodeIds>())
        }));
        head.extend(self.elsewhere.then(|| "NO SINGLE NODE".to_owned()));
        head.extend(self.unknown.then(|| "NUMA ?".to_owned()));
        let rows = unit.resources.iter().enumerate().map(|(at, row)| {
            let mut cells = vec![row.resource.to_string(), row.asked_amount()];
            cells.extend(self.columns.iter().map(|column| column.cells[at].clone()));
            if self.elsewhere {
                cells.push(row.elsewhere.as_ref().map_or(NOTHING.to_owned(), |cell| row.stock(cell)));
            }
            cells
        });
        let first = unit.resources.len();
        let claims = self.claims.iter().enumerate().map(|(at, claim)| {
            let mut cells = vec![format!("claim {}", claim.name), claim.sum().to_string()];
            cells.extend(self.columns.iter().map(|column| column.cells[first + at].clone()));
            cells.extend(self.elsewhere.then(|| NOTHING.to_owned()));
            cells.extend(self.unknown.then(|| claim.elsewhere()));
            cells
        });
        std::iter::once(head)
            .chain(rows)
            .chain(claims)
            .chain(unit.not_checked.iter().map(not_checked))
            .collect()
    }
}

/// How many devices a unit has of a claim on each NUMA node.
struct ClaimRow {
    name: String,
    nodes: BTreeMap<NodeId, usize>,
    /// How many are on a node that is not known.
    unknown: usize,
}

impl ClaimRow {
    /// Of the claims whose devices were located and that the unit uses.
    fn all(unit: &UnitReport, claims: Option<&DecidedClaims>) -> Vec<Self> {
        // Claims that give hints are among the resources; of the others only what is not known is left to show.
        let has_hints = unit.resources.iter().any(|row| matches!(row.resource, Resource::Claims(_)));
        let claims = claims.iter().flat_map(|decided| &decided.claims);
        let rows = claims.filter_map(|claim| {
            let devices: Vec<&ClaimedDevice> = match &unit.container {
                Some(container) => claim.devices_of(container.as_str()).collect(),
                None => claim.devices.iter().collect(),
            };
            let mut row = Self { name: claim.name.clone(), nodes: BTreeMap::new(), unknown: 0 };
            for device in devices.into_iter().filter(|device| device.is_located()) {
                match device.node() {
                    Some(node) => *row.nodes.entry(node).or_default() += 1,
                    None => row.unknown += 1,
                }
            }
            (row.sum() > 0 && (!has_hints || row.unknown > 0)).then_some(row)
        });
        rows.collect()
    }

    fn count(&self, node: NodeId) -> usize {
        self.nodes.get(&node).copied().unwrap_or(0)
    }

    fn sum(&self) -> usize {
        self.nodes.values().sum::<usize>() + self.unknown
    }

    /// What it has on a node: `2 allocated`.
    fn there(&self, node: NodeId) -> String {
        match self.count(node) {
            0 => NOTHING.to_owned(),
            count => format!("{count} allocated"),
        }
    }

    /// What it has on nodes that are not known.
    fn elsewhere(&self) -> String {
        if self.unknown == 0 { NOTHING.to_owned() } else { self.unknown.to_string() }
    }
}

/// A cell without content.
const NOTHING: &str = "none";

/// What nodes that are alike have of each resource.
struct Column {
    nodes: Vec<NodeId>,
    misses: (usize, u64),
    /// Whether it has any of what is asked for.
    has_any: bool,
    cells: Vec<String>,
}

impl Column {
    /// The column of the node at position `at`.
    fn new(resources: &[ResourceReport], at: usize, cells: Vec<String>) -> Self {
        let here = || resources.iter().map(|resource| &resource.nodes[at]);
        Self {
            nodes: here().next().map(|here| here.node).into_iter().collect(),
            misses: misses(resources, at),
            has_any: here().any(|here| here.cell.allocatable > 0),
            cells,
        }
    }
}

/// How far a node is from a fit: of how many resources it has too little, and the largest part that is missing.
fn misses(resources: &[ResourceReport], at: usize) -> (usize, u64) {
    let missing = resources.iter().filter_map(|resource| {
        let NodeCell { standing, cell, .. } = &resource.nodes[at];
        let lack = u128::from(resource.asked.saturating_sub(cell.free)) * 1000;
        (*standing != Standing::Fits)
            .then(|| u64::try_from(lack / u128::from(resource.asked.max(1))).unwrap_or(u64::MAX))
    });
    let missing: Vec<u64> = missing.collect();
    (missing.len(), missing.into_iter().max().unwrap_or(0))
}

/// What the node at position `at` has of a resource: `✘ 1 free of 4`.
fn there(resource: &ResourceReport, at: usize, page: Page) -> String {
    let mark = match fit(resource, at) {
        None => return NOTHING.to_owned(),
        Some(Standing::Fits) => page.yes(),
        Some(Standing::Lacks(_) | Standing::Closed) => page.no(),
    };
    format!("{mark} {}", stock(resource, at))
}

/// Whether the node at position `at` could serve a resource; `None` for devices that are near no node, and are not
/// missing on one.
pub(crate) fn fit(resource: &ResourceReport, at: usize) -> Option<Standing> {
    let NodeCell { standing, cell, .. } = &resource.nodes[at];
    (resource.elsewhere.is_none() || cell.allocatable > 0).then_some(*standing)
}

/// `1 free of 4, grouped with NUMA 1`.
pub(crate) fn stock(resource: &ResourceReport, at: usize) -> String {
    let NodeCell { cell, closed, .. } = &resource.nodes[at];
    match closed {
        Some(why) => format!("{}, {why}", resource.stock(cell)),
        None => resource.stock(cell),
    }
}
