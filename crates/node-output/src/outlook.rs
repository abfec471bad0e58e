//! A node as the objects of an API server tell of it, where no agent answers: amounts, and what was not seen.
//!
//! Nothing here is a kubelet's answer. What an object does not say stays unknown, and each thing that was not seen is
//! listed with what may be wrong for want of it.

use admission_report::{Cell, Resource};
use node_config::Scope;
use node_resource_topology::{Allocates, PublishedPolicies, WholeAmount, ZoneAmount, ZoneAmounts};
use pod_spec::ResourceName;
use serde::Serialize;
use terminal_text::Page;
use topology_model::NodeId;
use topology_policy::KubeletPolicy;

use crate::alike::{self, Row};
use crate::status::NotRunning;

/// In place of what no object publishes.
pub(crate) const UNKNOWN: &str = "?";

/// By which policies the node's kubelet decides, as far as an object publishes them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PolicyLine {
    /// By the kubelet's name; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "admission_report::schema::policy"))]
    pub topology_policy: Option<&'static str>,
    /// `container` or `pod`; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "admission_report::schema::scope"))]
    pub topology_scope: Option<&'static str>,
    /// `static` or `none`; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::cpu_policy"))]
    pub cpu_policy: Option<&'static str>,
    /// `Static` or `None`; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::memory_policy"))]
    pub memory_policy: Option<&'static str>,
}

/// What each NUMA node has of a resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PublishedRoom {
    /// Which resource.
    pub resource: Resource,
    /// By ascending id.
    pub nodes: Vec<PublishedCell>,
}

/// What one NUMA node has of a resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedCell {
    /// Its id.
    pub node: i64,
    /// The amounts; absent: it does not publish the resource.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
}

/// What the node as a whole has of a resource, as Kubernetes quantities.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WholeLine {
    /// Which resource.
    pub resource: String,
    /// What a pod asks for, where one is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// What pods may request together.
    pub allocatable: String,
    /// What the pods on the node request.
    pub requested: String,
    /// Whether there is less than is asked for.
    #[serde(rename = "tooLittle", skip_serializing_if = "std::ops::Not::not")]
    pub is_too_little: bool,
}

/// A pod that is bound to the node, and what it requests of what a kubelet allocates by NUMA node. Where it holds that
/// is not known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundLine {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// Resource and amount, for people.
    pub requests: Vec<String>,
}

/// A node on one screen.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeOutlook {
    /// Its name.
    pub node: String,
    /// By which policies it decides.
    pub policies: PolicyLine,
    /// What each NUMA node has; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<Vec<PublishedRoom>>,
    /// What the node as a whole has; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Vec<WholeLine>>,
    /// The pods that are bound to it and run; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Vec<BoundLine>>,
    /// Pods that the kubelet refused, and that are still there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_running: Vec<NotRunning>,
    /// What was not seen, and what may be wrong for want of it.
    pub not_seen: Vec<String>,
    /// What is wrong.
    pub problems: Vec<String>,
}

impl From<PublishedPolicies> for PolicyLine {
    fn from(published: PublishedPolicies) -> Self {
        let word = |allocates: Option<Allocates>, words: [&'static str; 2]| {
            let [statically, nothing] = words;
            allocates.map(|allocates| match allocates {
                Allocates::Statically => statically,
                Allocates::Nothing => nothing,
            })
        };
        Self {
            topology_policy: published.policy.map(KubeletPolicy::name),
            topology_scope: published.scope.map(Scope::name),
            cpu_policy: word(published.cpus, ["static", "none"]),
            memory_policy: word(published.memory, ["Static", "None"]),
        }
    }
}

impl PolicyLine {
    /// The policies in one line.
    pub(crate) fn line(&self) -> String {
        let known = |word: Option<&'static str>| word.unwrap_or("not known");
        format!(
            "{}, scope {}, CPUs {}, memory {}",
            known(self.topology_policy),
            known(self.topology_scope),
            known(self.cpu_policy),
            known(self.memory_policy)
        )
    }
}

impl PublishedRoom {
    /// Of every resource.
    #[must_use]
    pub fn all(zones: &ZoneAmounts) -> Vec<Self> {
        let mut all: Vec<Self> =
            zones.resources().into_iter().map(|resource| Self::new(resource, zones.of(resource))).collect();
        all.sort_by(|one, two| one.resource.cmp(&two.resource));
        all
    }

    pub(crate) fn new(
        resource: &ResourceName,
        nodes: impl Iterator<Item = (NodeId, Option<ZoneAmount>)>,
    ) -> Self {
        let cell =
            |own: ZoneAmount| Cell { free: own.available, allocatable: own.allocatable, held_by: Vec::new() };
        let nodes = nodes.map(|(node, own)| PublishedCell { node: node.0, cell: own.map(cell) });
        Self { resource: Resource::from(resource), nodes: nodes.collect() }
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = String> {
        self.nodes.iter().map(|here| {
            here.cell.as_ref().map_or_else(|| UNKNOWN.to_owned(), |cell| cell.stock(&self.resource))
        })
    }
}

impl WholeLine {
    /// Of a resource, and what a pod asks for of it.
    #[must_use]
    pub fn new(whole: &WholeAmount, asked: Option<&k8s_quantity::Quantity>) -> Self {
        Self {
            resource: whole.resource.to_string(),
            asked: asked.map(ToString::to_string),
            allocatable: whole.allocatable.to_string(),
            requested: whole.requested.to_string(),
            is_too_little: asked.is_some_and(|asked| *asked > whole.free()),
        }
    }

    /// A table of them.
    pub(crate) fn table(lines: &[Self], page: Page, indent: &str) -> String {
        let asks = lines.iter().any(|line| line.asked.is_some());
        let head = std::iter::once("RESOURCE")
            .chain(asks.then_some("ASKED"))
            .chain(["REQUESTED", "ALLOCATABLE"])
            .map(str::to_owned);
        let rows = lines.iter().map(|line| {
            let mark = if line.is_too_little { page.no() } else { page.yes() };
            let requested = if asks { format!("{mark} {}", line.requested) } else { line.requested.clone() };
            let asked = line.asked.clone().filter(|_| asks);
            [line.resource.clone()]
                .into_iter()
                .chain(asked)
                .chain([requested, line.allocatable.clone()])
                .collect()
        });
        page.columns(std::iter::once(head.collect()).chain(rows), indent)
    }
}

/// A line for each thing that was not seen.
pub(crate) fn not_seen(all: &[String], page: Page) -> String {
    all.iter().map(|one| page.wrapped(&format!("! not seen: {one}"), 2)).collect()
}

impl NodeOutlook {
    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let dot = page.dot();
        let head = format!("{} {dot} as the API server's objects tell of it, not its kubelet", self.node);
        let mut text = page.wrapped(&head, 2);
        text.push_str(&page.wrapped(&format!("policies: {}", self.policies.line()), 2));
        text.push_str(&not_seen(&self.not_seen, page));
        text.push('\n');
        text.push_str(&self.rooms(page));
        if let Some(whole) = &self.whole {
            text.push_str(&WholeLine::table(whole, page, ""));
            text.push('\n');
        }
        text.push_str(&self.bound(page));
        text.push_str(&NotRunning::lines(&self.not_running, page));
        for problem in &self.problems {
            text.push_str(&page.wrapped(&format!("{} {problem}", page.no()), 2));
        }
        if self.problems.is_empty() {
            text.push_str(&page.wrapped(&format!("{} nothing that can be seen is wrong", page.yes()), 2));
        }
        text
    }

    fn rooms(&self, page: Page) -> String {
        let Some(room) = &self.room else { return String::new() };
        let Some(first) = room.first() else { return "! no NUMA node publishes what it has\n\n".to_owned() };
        let nodes: Vec<NodeId> = first.nodes.iter().map(|here| NodeId(here.node)).collect();
        let row = |row: &PublishedRoom| Row { name: row.resource.to_string(), cells: row.cells().collect() };
        let rows: Vec<Row> = room.iter().map(row).collect();
        format!("{}\n", page.columns(alike::table("FREE", &nodes, &rows), ""))
    }

    fn bound(&self, page: Page) -> String {
        let Some(pods) = &self.pods else { return String::new() };
        let holders: Vec<&BoundLine> = pods.iter().filter(|pod| !pod.requests.is_empty()).collect();
        let mut text = String::new();
        if !holders.is_empty() {
            let head = ["POD", "NUMA", "REQUESTS"].map(str::to_owned).to_vec();
            let rows =
                holders.iter().map(|pod| vec![pod.pod.clone(), UNKNOWN.to_owned(), pod.requests.join(", ")]);
            text.push_str(&page.columns(std::iter::once(head).chain(rows), ""));
            text.push('\n');
        }
        let all = match pods.len() {
            0 => "no pods are bound to it".to_owned(),
            1 => "1 pod is bound to it".to_owned(),
            some => format!("{some} pods are bound to it"),
        };
        text.push_str(&page.wrapped(&all, 2));
        text
    }
}
