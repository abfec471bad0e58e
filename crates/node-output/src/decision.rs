//! A decision for a person: what was asked, what each node could give, what was given or why not. The sentences are
//! those of the report.

use admission_report::{
    Conclusion, ContainerReport, DeviceSet, NodeCell, Refusal, Report, ResourceReport, UncheckedResource,
    UnitReport,
};
use pod_spec::Role;
use terminal_text::{Glyphs, columns};
use topology_admission::{Search, Standing};
use topology_model::{NodeId, NodeIds};

/// Beyond so many nodes only those that come nearest are shown.
const MOST_COLUMNS: usize = 8;

/// The lines of one decision, ending in a newline. `node` names the node and its rules.
#[must_use]
pub fn decision(report: &Report, node: &str, glyphs: Glyphs) -> String {
    let mut text = verdict(report, glyphs);
    if let Some(refusal) = report.refusal() {
        text.push_str(&line("node", node));
        if let Some(unit) = report.units.last() {
            text.push_str(&resources(unit, Columns::Nearest, glyphs));
        }
        text.push_str(&reasons(refusal, glyphs));
    }
    text + &notes(report, glyphs)
}

/// What came out: the kubelet's words, or what each container was given.
pub(crate) fn verdict(report: &Report, glyphs: Glyphs) -> String {
    let Conclusion::Refused(refusal) = &report.conclusion else {
        let mut rows = vec![["CONTAINER", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec()];
        rows.extend(report.containers().iter().map(container));
        return format!("{} {}   admitted\n{}", glyphs.yes(), named(report), columns(rows, "  "));
    };
    let whose =
        refusal.container.as_ref().map_or_else(String::new, |name| format!(" {} {name}", glyphs.dot()));
    format!("{} {}{whose}   {}: {}\n", glyphs.no(), named(report), refusal.reason, refusal.message)
}

/// The pod, and what made it.
fn named(report: &Report) -> String {
    let owner = report.owner.as_ref().map_or_else(String::new, |owner| format!(" ({owner})"));
    format!("{}{owner}", report.pod)
}

/// What its owner may not expect.
pub(crate) fn notes(report: &Report, glyphs: Glyphs) -> String {
    let notes = report.notes.iter().map(|note| {
        let containers: Vec<&str> = note.containers.iter().map(pod_spec::ContainerName::as_str).collect();
        let whose = if containers.is_empty() {
            String::new()
        } else {
            format!(" {} {}", glyphs.dot(), containers.join(", "))
        };
        format!("! {}{whose}   {}\n", report.pod, note.remark)
    });
    notes.collect()
}

fn container(container: &ContainerReport) -> Vec<String> {
    let memory = container.memory.iter().map(|block| {
        if container.nodes.as_ref() == Some(&block.nodes) { block.amount() } else { block.to_string() }
    });
    let devices = container.devices.iter().map(DeviceSet::to_string);
    let not_checked =
        container.not_checked.iter().map(|unchecked| format!("{} {NOT_CHECKED}", unchecked.resource));
    let cpus = match (&container.exclusive_cpus, &container.cpu_nodes) {
        (Some(cpus), Some(nodes)) if container.nodes.as_ref() != Some(nodes) => {
            format!("{cpus} on NUMA {nodes}")
        }
        (Some(cpus), _) => cpus.to_string(),
        (None, _) => "shared".to_owned(),
    };
    let role = match container.role {
        Role::App => String::new(),
        role @ (Role::Init | Role::Sidecar) => format!(" ({})", role.name()),
    };
    vec![
        format!("{}{role}", container.name),
        container.nodes.as_ref().map_or_else(|| "any".to_owned(), NodeIds::to_string),
        cpus,
        joined(memory),
        joined(devices.chain(not_checked)),
    ]
}

/// Several things in one cell.
#[must_use]
pub fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Why, and what would fit.
pub(crate) fn reasons(refusal: &Refusal, glyphs: Glyphs) -> String {
    let mut text = String::new();
    let why = refusal.why().into_iter().chain(refusal.outlook().map(str::to_owned));
    let why: Vec<String> = why.collect();
    if !why.is_empty() {
        text.push_str(&line("why", &why.join(". ")));
    }
    let fits = refusal.alternatives.iter().map(|fit| {
        let (change, detail) = (fit.remedy.kind().to_owned(), fit.remedy.to_string());
        vec![change, detail, format!("{} {}", glyphs.arrow(), fit.result())]
    });
    for (at, fit) in columns(fits, "").lines().enumerate() {
        text.push_str(&line(if at == 0 { "would fit" } else { "" }, fit));
    }
    if refusal.search == Search::Cut {
        let head = if refusal.alternatives.is_empty() { "would fit" } else { "" };
        text.push_str(&line(head, "more was not tried; topolet explain --tries NUMBER tries more"));
    }
    text
}

/// A line under a head; an empty head goes on with the one above.
pub(crate) fn line(head: &str, text: &str) -> String {
    format!("  {head:12}{text}\n")
}

/// Which nodes are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Those that come nearest to a fit.
    Nearest,
    /// All, in several tables if there are many.
    All,
}

/// One row for each resource, one column for each node worth showing; nodes that are alike share one.
pub(crate) fn resources(unit: &UnitReport, which: Columns, glyphs: Glyphs) -> String {
    let resources = unit.resources.as_slice();
    let Some(first) = resources.first() else { return not_checked_rows(unit) };
    let elsewhere = resources.iter().any(|resource| resource.elsewhere.is_some());
    let mut like: Vec<Column> = Vec::new();
    for (at, node) in first.nodes.iter().enumerate() {
        let cells: Vec<String> = resources.iter().map(|resource| there(resource, at, glyphs)).collect();
        match like.iter_mut().find(|column| column.cells == cells) {
            Some(column) => column.nodes.push(node.node),
            None => like.push(Column::new(resources, at, cells)),
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
    let tables = shown.len().div_ceil(MOST_COLUMNS).max(1);
    for at in 0..tables {
        let part = shown.iter().skip(at * MOST_COLUMNS).take(MOST_COLUMNS);
        let elsewhere = elsewhere && at + 1 == tables;
        text.push_str(&table(unit, &part.collect::<Vec<_>>(), elsewhere));
    }
    if !empty.is_empty() {
        let ids: NodeIds = empty.iter().flat_map(|column| column.nodes.iter().copied()).collect();
        text.push_str(&format!("  NUMA {ids}: none\n"));
    }
    if hidden > 0 {
        text.push_str(&format!("  and {hidden} more NUMA nodes that are further from a fit\n"));
    }
    text
}

/// Where a unit asks for nothing that was checked.
fn not_checked_rows(unit: &UnitReport) -> String {
    columns(unit.not_checked.iter().map(not_checked), "  ")
}

fn not_checked(unchecked: &UncheckedResource) -> Vec<String> {
    vec![unchecked.resource.to_string(), unchecked.asked.to_string(), NOT_CHECKED.to_owned()]
}

fn table(unit: &UnitReport, shown: &[&Column], elsewhere: bool) -> String {
    let resources = unit.resources.as_slice();
    let mut head = vec!["RESOURCE".to_owned(), "ASKED".to_owned()];
    head.extend(shown.iter().map(|column| {
        let each = if column.nodes.len() > 1 { " each" } else { "" };
        format!("NUMA {}{each}", column.nodes.iter().copied().collect::<NodeIds>())
    }));
    if elsewhere {
        head.push("NO SINGLE NODE".to_owned());
    }
    let rows = resources.iter().enumerate().map(|(at, row)| {
        let mut cells = vec![row.resource.to_string(), row.resource.amount(row.asked).to_string()];
        cells.extend(shown.iter().map(|column| column.cells[at].clone()));
        if elsewhere {
            cells.push(row.elsewhere.as_ref().map_or(NOTHING.to_owned(), |cell| row.stock(cell)));
        }
        cells
    });
    columns(std::iter::once(head).chain(rows).chain(unit.not_checked.iter().map(not_checked)), "  ")
}

/// In place of amounts that nobody knows.
const NOT_CHECKED: &str = "? not checked";
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

fn there(resource: &ResourceReport, at: usize, glyphs: Glyphs) -> String {
    let NodeCell { standing, cell, .. } = &resource.nodes[at];
    let mark = if *standing == Standing::Fits { glyphs.yes() } else { glyphs.no() };
    match &resource.elsewhere {
        // What is near no node is not missing on one.
        Some(_) if cell.allocatable == 0 => NOTHING.to_owned(),
        _ => format!("{mark} {}", resource.stock(cell)),
    }
}
