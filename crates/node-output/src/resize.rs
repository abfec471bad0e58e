//! A resize for a person: what each container has afterwards, or why it cannot have that and what would fit.

use admission_report::{MemoryBlock, ResizeRefusal, ResizeReport, ResizedContainer};
use cpuset::CpuSet;
use serde::Serialize;
use terminal_text::Page;

use crate::cells::joined;
use crate::node_line::NodeLine;
use crate::rows::{line, listed};

/// A resize, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resize<'a> {
    node: &'a NodeLine,
    #[serde(flatten)]
    resize: ResizeReport,
}

impl<'a> Resize<'a> {
    /// A resize on a node.
    #[must_use]
    pub const fn new(node: &'a NodeLine, resize: ResizeReport) -> Self {
        Self { node, resize }
    }
}

/// The lines of a resize, ending in a newline.
#[must_use]
pub fn resize(report: &ResizeReport, page: Page) -> String {
    let Some(refusal) = &report.refusal else {
        let text = format!("{} {}   can be resized\n", page.yes(), report.pod);
        return text + &page.columns(rows(&report.containers, page), "  ");
    };
    let whose = refusal.container.as_ref().map_or_else(String::new, |name| format!(" {} {name}", page.dot()));
    let verdict = format!("{} {}{whose}   {}: {}", page.no(), report.pod, refusal.reason, refusal.message);
    let mut text = page.wrapped(&verdict, 4);
    text.push_str(&page.columns(nodes(refusal), "  "));
    for container in &report.containers {
        if let (Some(own), Some(baseline)) = (&container.exclusive_cpus, &container.baseline) {
            let held = format!("{} has {own}, and was admitted with {baseline}", container.name);
            text.push_str(&line(page, "holds", &held));
        }
    }
    let fits = refusal.would_fit.iter().map(|size| vec!["ask less".to_owned(), size.to_string()]);
    text.push_str(&listed(page, "would fit", fits));
    text
}

fn rows(containers: &[ResizedContainer], page: Page) -> Vec<Vec<String>> {
    let head = ["CONTAINER", "CPU", "CPUS", "NUMA", "ADDED", "GIVEN BACK", "BASELINE", "MEMORY"];
    let rows = containers.iter().map(|container| {
        let set = |cpus: &CpuSet| if cpus.is_empty() { "-".to_owned() } else { cpus.to_string() };
        let amount = |amount: &Option<_>| {
            amount
                .as_ref()
                .map_or_else(|| "-".to_owned(), |amount: &k8s_quantity::Quantity| amount.to_string())
        };
        let (before, after) = (amount(&container.cpu_before), amount(&container.cpu));
        let shared = || "shared".to_owned();
        vec![
            container.name.to_string(),
            if before == after { after } else { format!("{before} {} {after}", page.arrow()) },
            container.exclusive_cpus.as_ref().map_or_else(shared, CpuSet::to_string),
            container.cpu_nodes.as_ref().map_or_else(|| "any".to_owned(), ToString::to_string),
            set(&container.added),
            set(&container.given_back),
            container.baseline.as_ref().map_or_else(|| "-".to_owned(), CpuSet::to_string),
            joined(container.memory.iter().map(MemoryBlock::to_string)),
        ]
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

fn nodes(refusal: &ResizeRefusal) -> Vec<Vec<String>> {
    if refusal.nodes.is_empty() {
        return Vec::new();
    }
    let head = ["NUMA", "OWN CPUS", "FREE", "ALLOCATABLE"].map(str::to_owned).to_vec();
    let rows = refusal.nodes.iter().map(|node| {
        let cells = [node.own_cpus, node.free_cpus, node.allocatable_cpus].map(|count| count.to_string());
        std::iter::once(node.node.to_string()).chain(cells).collect()
    });
    std::iter::once(head).chain(rows).collect()
}
