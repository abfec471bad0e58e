//! A node on one screen: what is free on each NUMA node, who holds what, and what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use admission_report::{ContainerClaim, ContainerReport, DeviceSet, Resource, ResourceRoom};
use cpuset::CpuSet;
use node_state::Restart;
use pod_spec::{ContainerKey, Pod, PodUid, ResourceName};
use serde::Serialize;
use terminal_text::Page;
use topology_admission::{Ledger, Node};
use topology_model::{CpuTable, NodeId, NodeIds};

use crate::alike::{self, Row};
use crate::cells::{claimed, joined};
use crate::condition::NodeCondition;
use crate::judged_by::JudgedBy;
use crate::ranges::ranges;

/// A node as it is now.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Machine and rules.
    pub node: JudgedBy,
    /// What is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Which files say what runs; `None`: the program that was asked decided it itself, or nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What names the pods, where those files do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_from: Option<String>,
    /// What says which pods run, where an argument does: what is on disk says what they hold alone.
    #[serde(skip)]
    pub listed_by: Option<&'static str>,
    /// What each NUMA node has, and what runs; `None`: not known.
    #[serde(flatten)]
    pub usage: Option<Usage>,
    /// What the next restart of the kubelet does; absent: nothing on disk says what runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Pods that do not run, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_running: Vec<NotRunning>,
    /// What is wrong, the most harmful first.
    pub problems: Vec<String>,
    /// Programs of the node that give out the same CPUs or devices, by its slices and device classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// What a daemon that serves the node checks; empty: none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<NodeCondition>,
}

/// What of a node is used.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// What each NUMA node has.
    pub room: Vec<ResourceRoom>,
    /// Pods that run, by namespace and name.
    pub pods: Vec<PodStatus>,
}

/// Whether it is known on which NUMA nodes CPUs lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumaNodes {
    /// It is.
    Known,
    /// It is not.
    NotKnown,
}

/// A pod that runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    /// `NAMESPACE/NAME`, or the UID where the name is not known.
    pub pod: String,
    /// Its own.
    pub uid: String,
    /// NUMA nodes on which it holds something.
    #[serde(serialize_with = "numbers")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<i64>"))]
    pub nodes: BTreeSet<NodeId>,
    /// What each container holds.
    pub containers: Vec<ContainerReport>,
}

/// A pod that does not run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotRunning {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// The kubelet's reason, or `Waiting`.
    pub reason: String,
}

impl NodeStatus {
    /// A node of which nothing else is known.
    #[must_use]
    pub const fn new(node: JudgedBy) -> Self {
        Self {
            node,
            notes: Vec::new(),
            source: None,
            names_from: None,
            listed_by: None,
            usage: None,
            restart: None,
            not_running: Vec::new(),
            problems: Vec::new(),
            conflicts: Vec::new(),
            conditions: Vec::new(),
        }
    }

    /// Whether anything is wrong with the node.
    #[must_use]
    pub const fn is_wrong(&self) -> bool {
        !self.problems.is_empty() || !self.conflicts.is_empty()
    }

    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let mut text = self.node.headline(page);
        text.extend(self.notes.iter().map(|note| page.wrapped(&format!("! {note}"), 2)));
        text.push('\n');
        if let Some(usage) = &self.usage {
            if self.node.is_configured() {
                text.push_str(&usage.rooms(page));
                text.push('\n');
            }
            let by = self.listed_by.or(self.source.as_deref());
            let said = by.map(|by| format!(", as {by} says")).unwrap_or_default();
            let named = self.names_from.as_ref().map(|place| format!(", named by {place}"));
            text.push_str(&usage.holders(&(said + &named.unwrap_or_default()), page));
        }
        text.push_str(&NotRunning::lines(&self.not_running, page));
        for problem in self.problems.iter().chain(&self.conflicts) {
            text.push_str(&page.wrapped(&format!("{} {problem}", page.no()), 2));
        }
        text.push_str(&self.conclusion(page));
        text
    }
}

impl NodeStatus {
    /// What all lines before it come to; nothing beside something that is wrong.
    fn conclusion(&self, page: Page) -> String {
        let restart = self.restart.as_ref();
        if self.is_wrong() || restart.is_some_and(Restart::is_wrong) {
            return String::new();
        }
        if let Some(why) = restart.and_then(|restart| restart.not_known.as_ref()) {
            let text = format!(
                "! nothing wrong was found, but what the next restart of the kubelet does is not known: {why}"
            );
            return page.wrapped(&text, 2);
        }
        match (self.node.is_configured(), self.not_running.is_empty()) {
            (false, _) => page.wrapped("! nothing is known of the kubelet", 2),
            (true, _) if self.usage.is_none() => {
                page.wrapped("! nothing wrong was found in what is known", 2)
            }
            (true, true) => format!("{} nothing is wrong\n", page.yes()),
            (true, false) => page.wrapped("! nothing else is wrong", 2),
        }
    }
}

impl NotRunning {
    /// A line for each reason.
    pub(crate) fn lines(all: &[Self], page: Page) -> String {
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Self { pod, reason } in all {
            by_reason.entry(reason).or_default().push(pod);
        }
        let lines = by_reason.into_iter().map(|(reason, names)| {
            let shown = match names.as_slice() {
                [first, second, third, rest @ ..] if rest.len() > 1 => {
                    format!("{first}, {second}, {third} and {} more", rest.len())
                }
                few => few.join(", "),
            };
            page.wrapped(&format!("{} {} {reason}: {shown}", page.no(), pods(names.len())), 2)
        });
        lines.collect()
    }
}

impl Usage {
    /// What `ledger` says of `node`, whose CPUs are those of `cpus`.
    #[must_use]
    pub fn new(node: &Node, cpus: &CpuTable, ledger: &Ledger) -> Self {
        let mut pods: Vec<PodStatus> =
            ledger.pods().map(|pod| PodStatus::new(node, cpus, ledger, pod)).collect();
        pods.sort_by(|one, two| (&one.pod, &one.uid).cmp(&(&two.pod, &two.uid)));
        Self { room: ResourceRoom::all(node, ledger), pods }
    }

    /// The same with the claims of containers that run.
    #[must_use]
    pub fn claiming(mut self, claims: &BTreeMap<ContainerKey, Vec<ContainerClaim>>) -> Self {
        for pod in &mut self.pods {
            let PodStatus { uid, nodes, containers, .. } = pod;
            for held in containers {
                let key = ContainerKey { pod: PodUid::new(uid), container: held.name.clone() };
                let Some(own) = claims.get(&key) else { continue };
                nodes.extend(
                    own.iter().filter_map(|claim| claim.device_nodes.as_ref()).flat_map(NodeIds::iter),
                );
                held.claimed.clone_from(own);
            }
        }
        self
    }

    /// What pods hold alone, of a node whose configuration is not known: what is left for others is not either. `nodes` says
    /// whether the NUMA nodes are.
    #[must_use]
    pub fn of_holdings(self, nodes: NumaNodes) -> Self {
        let mut pods = self.pods;
        if nodes == NumaNodes::NotKnown {
            for pod in &mut pods {
                pod.nodes.clear();
            }
        }
        Self { room: Vec::new(), pods }
    }

    fn rooms(&self, page: Page) -> String {
        let Some(first) = self.room.first() else {
            return page.wrapped(
                "! nothing is pinned: the policies of CPUs and memory are none, and no plugin has devices",
                2,
            );
        };
        let has_elsewhere = self.room.iter().any(|row| row.elsewhere.is_some());
        let nodes: Vec<NodeId> = first.nodes.iter().map(|here| here.node).collect();
        let rows: Vec<Row> = self
            .room
            .iter()
            .map(|row| Row {
                name: row.resource.to_string(),
                cells: row.nodes.iter().map(|here| here.cell.stock(&row.resource)).collect(),
            })
            .collect();
        let mut lines = alike::table("FREE", &nodes, &rows);
        if has_elsewhere {
            let cells = self.room.iter().map(|row| {
                row.elsewhere.as_ref().map_or_else(|| "-".to_owned(), |cell| cell.stock(&row.resource))
            });
            for (line, cell) in lines.iter_mut().zip(std::iter::once("ELSEWHERE".to_owned()).chain(cells)) {
                line.push(cell);
            }
        }
        page.columns(lines, "")
    }

    fn holders(&self, said: &str, page: Page) -> String {
        let (holding, sharing): (Vec<_>, Vec<_>) =
            self.pods.iter().partition(|pod| pod.containers.iter().any(|held| !holds_nothing(held)));
        let mut text = String::new();
        if !holding.is_empty() {
            let head = ["POD", "NUMA", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec();
            let rows = holding.iter().map(|pod| pod.row());
            text.push_str(&page.columns(std::iter::once(head).chain(rows), ""));
            text.push('\n');
        }
        let run = match (sharing.len(), holding.len()) {
            (0, 0) => "no pods run".to_owned(),
            (0, 1) => "1 pod runs".to_owned(),
            (0, all) => format!("{all} pods run"),
            (1, 0) => "1 pod runs, without exclusive resources".to_owned(),
            (some, 0) => format!("{some} pods run, without exclusive resources"),
            (some, holding) => format!("{} run, {some} without exclusive resources", pods(some + holding)),
        };
        text.push_str(&page.wrapped(&format!("{run}{said}"), 2));
        text
    }
}

fn pods(count: usize) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

fn holds_nothing(held: &ContainerReport) -> bool {
    held.exclusive_cpus.is_none()
        && held.memory.is_empty()
        && held.devices.is_empty()
        && held.claimed.is_empty()
}

impl PodStatus {
    fn new(node: &Node, cpus: &CpuTable, ledger: &Ledger, pod: &Pod) -> Self {
        let containers: Vec<ContainerReport> = pod
            .containers
            .iter()
            .map(|container| ContainerReport::held(node, ledger, &pod.uid, container))
            .collect();
        let mut nodes = BTreeSet::new();
        for held in &containers {
            if let Some(own) = &held.exclusive_cpus {
                nodes.extend(cpus.nodes().filter(|(_, here)| !own.is_disjoint(here)).map(|(id, _)| id));
            }
            nodes.extend(held.memory.iter().flat_map(|block| block.nodes.iter()));
            for DeviceSet { resource, ids } in &held.devices {
                let resource = ResourceName::new(resource.as_str());
                let listed = ids.iter().filter_map(|id| ledger.inventory().device(&resource, id));
                let near = listed.flat_map(|device| device.topology.ids().iter().copied());
                // -1: on no node.
                nodes.extend(near.filter(|id| id.0 >= 0));
            }
        }
        let name = if pod.name.is_empty() || pod.namespace.is_empty() {
            pod.uid.to_string()
        } else {
            format!("{}/{}", pod.namespace, pod.name)
        };
        Self { pod: name, uid: pod.uid.to_string(), nodes, containers }
    }

    /// What its containers hold together. Init containers hand theirs on, so that CPUs count once.
    fn row(&self) -> Vec<String> {
        let own = self.containers.iter().filter_map(|held| held.exclusive_cpus.as_ref());
        let cpus = own.fold(CpuSet::new(), |sum, cpus| &sum | cpus);
        let mut bytes: BTreeMap<&Resource, u64> = BTreeMap::new();
        for block in self.containers.iter().flat_map(|held| &held.memory) {
            let sum = bytes.entry(&block.resource).or_default();
            *sum = sum.saturating_add(block.bytes);
        }
        let memory = bytes.into_iter().map(|(resource, sum)| match resource {
            Resource::Memory => resource.amount(sum).to_string(),
            _ => format!("{} {resource}", resource.amount(sum)),
        });
        let devices = self.containers.iter().flat_map(|held| &held.devices);
        let claims = self.containers.iter().flat_map(|held| &held.claimed);
        vec![
            self.pod.clone(),
            if self.nodes.is_empty() { "-".to_owned() } else { ranges(self.nodes.iter().map(|node| node.0)) },
            if cpus.is_empty() { "shared".to_owned() } else { cpus.to_string() },
            joined(memory),
            joined(devices.map(DeviceSet::to_string).chain(claims.map(claimed))),
        ]
    }
}

fn numbers<S: serde::Serializer>(nodes: &BTreeSet<NodeId>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(nodes.iter().map(|node| node.0))
}
