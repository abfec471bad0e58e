//! A decision for a person: what was asked, what each node could give, what was given or why not.

use pod_spec::ResourceName;

use crate::decision::{
    CellView, ContainerView, Decision, NodeView, NotChecked, RefusalView, ResourceView, UnitView,
};
use crate::render::{Amount, Glyphs, columns, ranges};

/// Beyond so many nodes only those that come nearest are shown.
const MOST_COLUMNS: usize = 8;

/// The lines of one decision, ending in a newline. `node` names the node and its rules.
pub(crate) fn decision(decision: &Decision, node: &str, glyphs: Glyphs) -> String {
    let mut text = verdict(decision, glyphs);
    if let Some(refusal) = &decision.refusal {
        text.push_str(&line("node", node));
        if let Some(unit) = decision.units.last() {
            text.push_str(&resources(unit, Columns::Nearest, glyphs));
        }
        text.push_str(&reasons(refusal, glyphs));
    }
    text + &notes(decision, glyphs)
}

/// What came out: the kubelet's words, or what each container was given.
pub(super) fn verdict(decision: &Decision, glyphs: Glyphs) -> String {
    let Some(refusal) = &decision.refusal else {
        let mut rows = vec![["CONTAINER", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec()];
        rows.extend(decision.containers.iter().map(container));
        return format!("{} {}   admitted\n{}", glyphs.yes(), named(decision), columns(rows, "  "));
    };
    let whose =
        refusal.container.as_ref().map_or_else(String::new, |name| format!(" {} {name}", glyphs.dot()));
    format!("{} {}{whose}   {}: {}\n", glyphs.no(), named(decision), refusal.reason, refusal.message)
}

/// The pod, and what it is made by.
fn named(decision: &Decision) -> String {
    let owner = decision.owner.as_ref().map_or_else(String::new, |owner| format!(" ({owner})"));
    format!("{}{owner}", decision.pod)
}

/// What its owner may not expect.
pub(super) fn notes(decision: &Decision, glyphs: Glyphs) -> String {
    let notes = decision.notes.iter().map(|note| {
        let containers = note.containers.join(", ");
        let whose =
            if containers.is_empty() { String::new() } else { format!(" {} {containers}", glyphs.dot()) };
        format!("! {}{whose}   {}\n", decision.pod, note.text)
    });
    notes.collect()
}

fn container(container: &ContainerView) -> Vec<String> {
    let memory = container.memory.iter().map(|block| {
        let kind = if block.resource == "memory" { String::new() } else { format!(" {}", block.resource) };
        let elsewhere = container.nodes.as_ref() != Some(&block.nodes);
        let place = if elsewhere { format!(" on NUMA {}", block.nodes) } else { String::new() };
        format!("{}{kind}{place}", Amount::Bytes(block.bytes))
    });
    let devices =
        container.devices.iter().map(|devices| format!("{} {}", devices.resource, devices.ids.join(" ")));
    let not_checked = container.not_checked.iter().map(|asked| format!("{} {NOT_CHECKED}", asked.resource));
    let cpus = match (&container.exclusive_cpus, &container.cpu_nodes) {
        (Some(cpus), nodes) if *nodes == container.nodes => cpus.clone(),
        (Some(cpus), Some(nodes)) => format!("{cpus} on NUMA {nodes}"),
        (Some(cpus), None) => cpus.clone(),
        (None, _) => "shared".to_owned(),
    };
    let role = if container.role == "app" { String::new() } else { format!(" ({})", container.role) };
    vec![
        format!("{}{role}", container.name),
        container.nodes.clone().unwrap_or_else(|| "any".to_owned()),
        cpus,
        joined(memory),
        joined(devices.chain(not_checked)),
    ]
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Why, and what would fit.
pub(super) fn reasons(refusal: &RefusalView, glyphs: Glyphs) -> String {
    let mut text = String::new();
    let never = match refusal.fits_empty_node {
        Some(true) => Some("It fits an empty node: not now, rather than never"),
        Some(false) => Some("It does not fit an empty node either: waiting is of no use"),
        None => None,
    };
    let why: Vec<&str> = refusal.why.as_deref().into_iter().chain(never).collect();
    if !why.is_empty() {
        text.push_str(&line("why", &why.join(". ")));
    }
    let fits = refusal.would_fit.iter().map(|fit| {
        vec![fit.change.to_owned(), fit.detail.clone(), format!("{} {}", glyphs.arrow(), fit.result)]
    });
    for (at, fit) in columns(fits, "").lines().enumerate() {
        text.push_str(&line(if at == 0 { "would fit" } else { "" }, fit));
    }
    if refusal.search_cut {
        let head = if refusal.would_fit.is_empty() { "would fit" } else { "" };
        text.push_str(&line(head, "more was not tried; topolet explain --tries NUMBER tries more"));
    }
    text
}

/// A line under a head; an empty head goes on with the one above.
pub(super) fn line(head: &str, text: &str) -> String {
    format!("  {head:12}{text}\n")
}

/// Which nodes are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// Those that come nearest to a fit.
    Nearest,
    /// All, in several tables if there are many.
    All,
}

/// One row for each resource, one column for each node worth showing; nodes that are alike share one.
pub(super) fn resources(unit: &UnitView, which: Columns, glyphs: Glyphs) -> String {
    let resources = unit.resources.as_slice();
    let Some(first) = resources.first() else { return not_checked_rows(unit) };
    let elsewhere = resources.iter().any(|resource| resource.elsewhere.is_some());
    let mut like: Vec<Column> = Vec::new();
    for (at, node) in first.nodes.iter().enumerate() {
        let cells: Vec<String> = resources.iter().map(|resource| there(resource, at, glyphs)).collect();
        match like.iter_mut().find(|column| column.cells == cells) {
            Some(column) => column.nodes.push(node.node),
            None => like.push(Column { nodes: vec![node.node], misses: misses(resources, at), cells }),
        }
    }
    let (mut shown, empty): (Vec<Column>, Vec<Column>) =
        like.into_iter().partition(|column| column.cells.iter().any(|cell| !cell.ends_with(NOTHING)));
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
        let ids = ranges(empty.iter().flat_map(|column| column.nodes.iter().copied()));
        text.push_str(&format!("  NUMA {ids}: none\n"));
    }
    if hidden > 0 {
        text.push_str(&format!("  and {hidden} more NUMA nodes that are further from a fit\n"));
    }
    text
}

/// Where a unit asks for nothing that was checked.
fn not_checked_rows(unit: &UnitView) -> String {
    columns(unit.not_checked.iter().map(not_checked), "  ")
}

fn not_checked(asked: &NotChecked) -> Vec<String> {
    vec![asked.resource.clone(), asked.asked.to_string(), NOT_CHECKED.to_owned()]
}

fn table(unit: &UnitView, shown: &[&Column], elsewhere: bool) -> String {
    let resources = unit.resources.as_slice();
    let mut head = vec!["RESOURCE".to_owned(), "ASKED".to_owned()];
    head.extend(shown.iter().map(|column| {
        let each = if column.nodes.len() > 1 { " each" } else { "" };
        format!("NUMA {}{each}", ranges(column.nodes.iter().copied()))
    }));
    if elsewhere {
        head.push("NO SINGLE NODE".to_owned());
    }
    let rows = resources.iter().enumerate().map(|(at, resource)| {
        let name = ResourceName::new(&resource.resource);
        let mut row = vec![resource.resource.clone(), name.amount(resource.asked).to_string()];
        row.extend(shown.iter().map(|column| column.cells[at].clone()));
        if elsewhere {
            row.push(resource.elsewhere.as_ref().map_or(NOTHING.to_owned(), |cell| amounts(resource, cell)));
        }
        row
    });
    columns(std::iter::once(head).chain(rows).chain(unit.not_checked.iter().map(not_checked)), "  ")
}

/// In place of amounts that nobody knows.
const NOT_CHECKED: &str = "? not checked";
/// A cell without content.
const NOTHING: &str = "none";

/// What nodes that are alike have of each resource.
struct Column {
    nodes: Vec<i64>,
    misses: (usize, u64),
    cells: Vec<String>,
}

/// How far a node is from a fit: of how many resources it has too little, and the largest part that is missing.
fn misses(resources: &[ResourceView], at: usize) -> (usize, u64) {
    let missing = resources.iter().filter_map(|resource| {
        let NodeView { fits, cell, .. } = &resource.nodes[at];
        let lack = u128::from(resource.asked.saturating_sub(cell.free)) * 1000;
        (!fits).then(|| u64::try_from(lack / u128::from(resource.asked.max(1))).unwrap_or(u64::MAX))
    });
    let missing: Vec<u64> = missing.collect();
    (missing.len(), missing.into_iter().max().unwrap_or(0))
}

fn there(resource: &ResourceView, at: usize, glyphs: Glyphs) -> String {
    let NodeView { fits, cell, .. } = &resource.nodes[at];
    let mark = if *fits { glyphs.yes() } else { glyphs.no() };
    match &resource.elsewhere {
        // What is near no node is not missing on one.
        Some(_) if cell.allocatable == 0 => NOTHING.to_owned(),
        _ => format!("{mark} {}", amounts(resource, cell)),
    }
}

fn amounts(resource: &ResourceView, cell: &CellView) -> String {
    if cell.allocatable == 0 {
        return NOTHING.to_owned();
    }
    let name = ResourceName::new(&resource.resource);
    let amount = |value| name.amount(value);
    let held = match cell.held_by.as_slice() {
        [] => String::new(),
        [one] => format!(" (held by {one})"),
        [first, second] => format!(" (held by {first} and {second})"),
        [first, rest @ ..] => format!(" (held by {first} and {} more)", rest.len()),
    };
    format!("{} free of {}{held}", amount(cell.free), amount(cell.allocatable))
}
