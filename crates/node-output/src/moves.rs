//! Moves for programs and for a person: what is deleted and created in which order, and what is known of it.

use admission_report::{MoveStep, MovesReport, MovesVerdict, PlanReport};
use k8s_quantity::Amount;
use serde::Serialize;
use terminal_text::Page;
use topology_admission::Search;
use topology_model::NodeIds;

use crate::NodeLine;
use crate::cells::container;
use crate::rows::line;

/// Before each row.
const INDENT: &str = "  ";

/// Plans for pods that come one after the other, and what was done of them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepackPlans<'a> {
    /// The node.
    pub node: &'a NodeLine,
    /// What was not looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What can be moved for each.
    pub pods: Vec<MovesReport>,
    /// What was done; `None`: this is what could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedMoves>,
}

/// What was done of a plan.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppliedMoves {
    /// The pod runs already, as it is, and nothing was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// The pods that have moved, in the order in which they were placed.
    pub moved: Vec<MovedPod>,
}

/// A pod that has moved.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovedPod {
    /// Namespace and name.
    pub pod: String,
    /// Its UID.
    pub uid: String,
    /// Whether it goes on.
    pub manner: Manner,
    /// The same as a sentence, with the reason.
    pub message: String,
}

/// How a pod comes to run where it belongs now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "MoveManner"))]
#[serde(rename_all = "camelCase")]
pub enum Manner {
    /// Its containers go on.
    Live,
    /// Its containers have to be restarted.
    Restart,
    /// None of its containers runs.
    NothingRuns,
}

impl RepackPlans<'_> {
    /// The lines of all plans, without the node's, ending in a newline.
    #[must_use]
    pub fn draw(&self, page: Page) -> String {
        let mut text: String = self.notes.iter().map(|note| page.wrapped(&format!("! {note}"), 2)).collect();
        for report in &self.pods {
            text.push('\n');
            text.push_str(&moves(report, page));
        }
        if let Some(applied) = &self.applied {
            text.push('\n');
            let waits = self.pods.iter().any(MovesReport::is_deferred);
            text.push_str(&if waits { waiting(page) } else { applied.draw(page) });
        }
        text
    }
}

/// What was done of a pod that waits for device plugins.
fn waiting(page: Page) -> String {
    format!("{} the pod waits, and no pod has moved\n", page.yes())
}

impl AppliedMoves {
    fn draw(&self, page: Page) -> String {
        if self.unchanged {
            return format!("{} nothing was done: the pod runs already, as it is\n", page.yes());
        }
        if self.moved.is_empty() {
            return format!("{} done, and no pod has moved\n", page.yes());
        }
        let moved = self.moved.iter().map(|MovedPod { pod, manner, message, .. }| {
            let sign = if *manner == Manner::Restart { "!" } else { page.yes() };
            page.wrapped(&format!("{sign} {pod} has moved: {message}"), 2)
        });
        moved.collect()
    }
}

/// The lines of what can be moved for one pod, ending in a newline.
#[must_use]
pub fn moves(report: &MovesReport, page: Page) -> String {
    let MovesReport { pod, verdict, without_claims } = report;
    let open = match without_claims.as_slice() {
        [] => String::new(),
        claims => format!(" without its claims, which are not decided here: {}", claims.join(", ")),
    };
    let mark = if without_claims.is_empty() { page.yes() } else { "!" };
    match verdict {
        MovesVerdict::Admitted { containers } => {
            let head = ["CONTAINER", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec();
            let rows = std::iter::once(head).chain(containers.iter().map(container));
            let verdict = if open.is_empty() { ",".to_owned() } else { format!("{open};") };
            let verdict = format!("{mark} {pod}   admitted{verdict} no pod has to move");
            page.wrapped(&verdict, 4) + &page.columns(rows, INDENT)
        }
        MovesVerdict::Deferred { deferred } => page.wrapped(&format!("! {pod}   deferred: {deferred}"), 4),
        MovesVerdict::Refused { plan: Some(plan), search, attempts, .. } => {
            let pods = if plan.moved == 1 {
                "1 pod restarts".to_owned()
            } else {
                format!("{} pods restart", plan.moved)
            };
            let verdict =
                format!("{mark} {pod}   fits when {pods}{}{open}", if open.is_empty() { "" } else { "," });
            let mut text = page.wrapped(&verdict, 4);
            // Each part of a table that is too wide names the pods.
            text.push_str(&page.table(rows(plan), 2, INDENT));
            text.push_str(&line(page, "restarts", &cost(plan)));
            text.push_str(&line(page, "search", &searched(*search, *attempts, "a smaller plan")));
            text + &kept(report, page)
        }
        MovesVerdict::Refused { reason, message, plan: None, why, search, attempts, .. } => {
            let verdict = format!("{} {pod}   {reason}: {message}", page.no());
            let mut text = page.wrapped(&verdict, 4);
            text.extend(why.as_ref().map(|why| line(page, "moves", why)));
            if *search == Search::Cut {
                text.push_str(&line(page, "search", &searched(*search, *attempts, "a plan")));
            }
            text + &kept(report, page)
        }
    }
}

/// One row for each container that is created, and for each pod that is deleted.
fn rows(plan: &PlanReport) -> Vec<Vec<String>> {
    let head = ["STEP", "POD", "CONTAINER", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    for step in &plan.steps {
        match step {
            MoveStep::Delete { pod, nodes } => {
                let nodes = nodes.as_ref().map_or_else(|| "any".to_owned(), NodeIds::to_string);
                rows.push(["delete", &pod.name, "", &nodes, "", "", ""].map(str::to_owned).to_vec());
            }
            MoveStep::Create { pod, containers } => {
                let mut whose = vec!["create".to_owned(), pod.name.clone()];
                for report in containers {
                    whose.extend(container(report));
                    rows.push(std::mem::replace(&mut whose, vec![String::new(); 2]));
                }
            }
        }
    }
    rows
}

fn cost(plan: &PlanReport) -> String {
    let willing = if plan.plugins_taken_as_willing { "; device plugins are taken to be willing" } else { "" };
    format!("{} of memory and huge pages are filled again{willing}", Amount::Bytes(plan.bytes))
}

/// How much was tried, and what may exist if that was not all.
fn searched(search: Search, attempts: usize, may_exist: &str) -> String {
    let attempts = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
    match search {
        Search::Complete => {
            format!("{attempts}; no plan restarts fewer pods, or as many with less memory")
        }
        Search::Cut => format!(
            "{attempts}, then cut: {may_exist} may exist; topolet repack --attempts NUMBER tries more"
        ),
    }
}

fn kept(report: &MovesReport, page: Page) -> String {
    report.left_alone().map_or_else(String::new, |kept| line(page, "left alone", &kept))
}
