//! The same pods under several configurations, one column each.

use std::collections::BTreeSet;

use admission_report::{Conclusion, ContainerReport, KubeletRefusal, Report};
use serde::Serialize;
use terminal_text::Page;
use topology_model::NodeId;

use crate::cells::joined;
use crate::node_line::NodeLine;
use crate::ranges::ranges;
use crate::tally::Tally;

/// What becomes of pods under several configurations.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// What is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// In the order in which they were given; called A, B and so on.
    configurations: Vec<Compared>,
    /// Every pod, in order.
    pods: Vec<ComparedPod>,
}

/// A configuration, and how it decides on the pods.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    node: NodeLine,
    #[serde(flatten)]
    tally: Tally,
    /// Admitted pods of which a container is on several NUMA nodes.
    on_several_nodes: usize,
    #[serde(skip)]
    outcomes: Vec<PodOutcome>,
}

/// A pod under each configuration.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct ComparedPod {
    pod: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Why its kubelet did not admit it, by the status that it was given with.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubelet_said: Option<KubeletRefusal>,
    difference: Difference,
    outcomes: Vec<PodOutcome>,
}

/// How far the configurations differ on a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
enum Difference {
    /// It holds the same.
    None,
    /// Other CPUs or devices, on the same NUMA nodes.
    Holdings,
    /// It is admitted on other NUMA nodes, or pinned in one case only.
    Nodes,
    /// It is admitted in one case only, or refused for another reason.
    Verdict,
}

/// What becomes of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct PodOutcome {
    #[serde(skip)]
    pod: String,
    #[serde(skip)]
    owner: Option<String>,
    #[serde(skip)]
    kubelet_said: Option<KubeletRefusal>,
    /// Whether it is refused for the kubelet's reason; absent where the kubelet did not refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agrees_with_kubelet: Option<bool>,
    /// `Admitted`, `WithoutClaims`, the kubelet's reason, or `Undecided`.
    verdict: String,
    /// Where each container is.
    containers: Vec<ContainerPlace>,
    /// All that is held, to be compared.
    #[serde(skip)]
    held: String,
}

/// Where a container is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ContainerPlace {
    name: String,
    /// NUMA nodes of its CPUs, memory and devices, or of its hint; empty: on none in particular.
    nodes: BTreeSet<i64>,
    /// Whether it has exclusive CPUs.
    pinned: bool,
}

impl Compared {
    /// Of no pods so far.
    #[must_use]
    pub fn new(node: NodeLine) -> Self {
        Self { node, tally: Tally::default(), on_several_nodes: 0, outcomes: Vec::new() }
    }

    /// One more pod.
    pub fn add(&mut self, report: &Report) {
        self.tally.add(report);
        let outcome = PodOutcome::new(report);
        self.on_several_nodes += usize::from(outcome.containers.iter().any(|place| place.nodes.len() > 1));
        self.outcomes.push(outcome);
    }
}

impl ComparedPod {
    /// The kubelet's refusal, and which configurations refuse the pod for the same reason.
    fn kubelet_line(&self, page: Page) -> Option<String> {
        let KubeletRefusal { reason, message } = self.kubelet_said.as_ref()?;
        let named = letters().zip(&self.outcomes);
        let (same, others): (Vec<_>, Vec<_>) =
            named.partition(|(_, outcome)| outcome.agrees_with_kubelet == Some(true));
        let same = joined(same.into_iter().map(|(letter, _)| letter));
        let others =
            joined(others.into_iter().map(|(letter, outcome)| format!("{} under {letter}", outcome.verdict)));
        let beside = match (same.as_str(), others.as_str()) {
            ("-", others) => format!("another reason: {others}"),
            (same, "-") => format!("the same reason under {same}"),
            (same, others) => format!("the same reason under {same}; {others}"),
        };
        let line = format!("! {}   the kubelet refused it: {reason}: {message}; {beside}", self.pod);
        Some(page.wrapped(&line, 4))
    }
}

impl PodOutcome {
    fn new(report: &Report) -> Self {
        let (verdict, containers) = match &report.conclusion {
            Conclusion::Admitted(containers) => ("Admitted".to_owned(), containers.as_slice()),
            Conclusion::WithoutClaims(containers, _) => ("WithoutClaims".to_owned(), containers.as_slice()),
            Conclusion::Unschedulable(_) => ("Unschedulable".to_owned(), [].as_slice()),
            Conclusion::Refused(refusal) => (refusal.reason.to_string(), [].as_slice()),
            Conclusion::Deferred(_) => ("Deferred".to_owned(), [].as_slice()),
            Conclusion::Undecided(_) => ("Undecided".to_owned(), [].as_slice()),
            Conclusion::Fated(fated) => (fated.fate.brief().to_owned(), [].as_slice()),
        };
        Self {
            pod: report.pod.clone(),
            owner: report.owner.clone(),
            agrees_with_kubelet: report.kubelet_said.as_ref().map(|said| said.agrees(&report.conclusion)),
            kubelet_said: report.kubelet_said.clone(),
            verdict,
            containers: containers.iter().map(ContainerPlace::new).collect(),
            held: joined(containers.iter().map(ToString::to_string)),
        }
    }

    fn cell(&self, page: Page) -> String {
        let (mark, suffix) = match self.verdict.as_str() {
            "Admitted" => (page.yes(), ""),
            "WithoutClaims" => ("!", ", without its claims"),
            verdict => return format!("{} {verdict}", page.no()),
        };
        // Containers at the same place are named together.
        let mut places: Vec<(String, Vec<&str>)> = Vec::new();
        for container in &self.containers {
            let place = container.place();
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, names)) => names.push(&container.name),
                None => places.push((place, vec![&container.name])),
            }
        }
        let all = match places.as_slice() {
            [(place, _)] => place.clone(),
            several => {
                let each = several.iter().map(|(place, names)| format!("{}: {place}", names.join(", ")));
                each.collect::<Vec<_>>().join("; ")
            }
        };
        format!("{mark} {all}{suffix}")
    }
}

impl ContainerPlace {
    fn new(container: &ContainerReport) -> Self {
        let ids = |ids: &topology_model::NodeIds| ids.iter().map(|NodeId(id)| id).collect::<Vec<_>>();
        let blocks = container.memory.iter().map(|block| &block.nodes);
        let fixed = container.cpu_nodes.iter().chain(&container.device_nodes).chain(blocks);
        let mut nodes: BTreeSet<i64> = fixed.flat_map(ids).collect();
        if nodes.is_empty() {
            nodes = container.nodes.iter().flat_map(ids).collect();
        }
        Self { name: container.name.to_string(), nodes, pinned: container.exclusive_cpus.is_some() }
    }

    fn place(&self) -> String {
        let cpus = if self.pinned { "" } else { ", CPUs not pinned" };
        match self.nodes.is_empty() {
            true if self.pinned => "pinned".to_owned(),
            true => "not pinned".to_owned(),
            false => format!("NUMA {}{cpus}", ranges(self.nodes.iter().copied())),
        }
    }
}

impl Difference {
    fn between(one: &PodOutcome, other: &PodOutcome) -> Self {
        if one.verdict != other.verdict {
            Self::Verdict
        } else if one.containers != other.containers {
            Self::Nodes
        } else if one.held != other.held {
            Self::Holdings
        } else {
            Self::None
        }
    }

    /// Between the first and the one that differs most from it.
    fn of(outcomes: &[PodOutcome]) -> Self {
        let Some((first, rest)) = outcomes.split_first() else { return Self::None };
        rest.iter().map(|other| Self::between(first, other)).max().unwrap_or(Self::None)
    }
}

impl Comparison {
    /// Of configurations under which the same pods were decided.
    #[must_use]
    pub fn new(mut configurations: Vec<Compared>, notes: Vec<String>) -> Self {
        let mut columns: Vec<_> =
            configurations.iter_mut().map(|one| std::mem::take(&mut one.outcomes).into_iter()).collect();
        let mut pods = Vec::new();
        loop {
            let outcomes: Vec<PodOutcome> = columns.iter_mut().filter_map(Iterator::next).collect();
            let Some(first) = outcomes.first() else { break };
            let (pod, owner) = (first.pod.clone(), first.owner.clone());
            let kubelet_said = first.kubelet_said.clone();
            let difference = Difference::of(&outcomes);
            pods.push(ComparedPod { pod, owner, kubelet_said, difference, outcomes });
        }
        Self { notes, configurations, pods }
    }

    /// Whether a pod comes out the same under all of them, down to the NUMA nodes.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        self.pods.iter().all(|pod| matches!(pod.difference, Difference::None | Difference::Holdings))
    }

    /// Whether claims of some pod were not decided on.
    #[must_use]
    pub fn has_undecided_claims(&self) -> bool {
        self.configurations.iter().any(|one| one.tally.without_claims() > 0)
    }

    /// Whether some pod was refused by its kubelet for a reason that none of them leads to.
    #[must_use]
    pub fn differs_from_kubelet(&self) -> bool {
        self.pods.iter().any(|pod| {
            let mut outcomes = pod.outcomes.iter();
            pod.kubelet_said.is_some() && !outcomes.any(|outcome| outcome.agrees_with_kubelet == Some(true))
        })
    }

    /// The kubelet release whose answers these are; empty without a configuration.
    #[must_use]
    pub fn rules_of(&self) -> &str {
        self.configurations.first().map_or("", |one| &one.node.rules_of)
    }

    /// For people.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let dot = page.dot();
        let first = self.configurations.first().map(|one| &one.node);
        let machine = first.map(|NodeLine { machine, rules_of, .. }| {
            page.wrapped(&format!("{machine} {dot} rules of kubelet {rules_of}"), 2)
        });
        let mut text = first.map(|node| node.imagined_line(page)).unwrap_or_default();
        text.extend(machine);
        for (one, letter) in self.configurations.iter().zip(letters()) {
            let NodeLine { configuration, cpu_policy, memory_policy, .. } = &one.node;
            let line = format!(
                "{letter}  {} {dot} CPUs {cpu_policy}, memory {memory_policy} {dot} configuration {configuration}",
                one.node.topology()
            );
            text.push_str(&page.wrapped(&line, 3));
        }
        text.extend(self.notes.iter().map(|note| page.wrapped(&format!("! {note}"), 2)));
        let rows = self.rows(page);
        if !rows.is_empty() {
            let heads = letters().take(self.configurations.len());
            let head = std::iter::once("POD".to_owned()).chain(heads).collect();
            text.push('\n');
            text.push_str(&page.columns(std::iter::once(head).chain(rows), ""));
        }
        text.extend(self.pods.iter().filter_map(|pod| pod.kubelet_line(page)));
        text.push('\n');
        let mut head =
            ["", "ADMITTED", "REFUSED", "NOT PINNED", "ON SEVERAL NUMA NODES"].map(str::to_owned).to_vec();
        let has_claims = self.has_undecided_claims();
        head.extend(has_claims.then(|| "WITHOUT CLAIMS".to_owned()));
        let sums = self.configurations.iter().zip(letters()).map(|(one, letter)| {
            let Compared { tally, on_several_nodes, .. } = one;
            let counts = [tally.admitted(), tally.refused(), tally.not_pinned(), *on_several_nodes];
            let claims = has_claims.then(|| tally.without_claims().to_string());
            std::iter::once(letter).chain(counts.map(|count| count.to_string())).chain(claims).collect()
        });
        text.push_str(&page.columns(std::iter::once(head).chain(sums), ""));
        text.push_str(&page.wrapped(&self.sum(), 2));
        text
    }

    /// Pods on which the configurations differ; those of one workload that differ alike are one row.
    fn rows(&self, page: Page) -> Vec<Vec<String>> {
        let mut rows: Vec<(&ComparedPod, &str, usize, Vec<String>)> = Vec::new();
        let differing =
            self.pods.iter().filter(|pod| matches!(pod.difference, Difference::Nodes | Difference::Verdict));
        for pod in differing {
            let cells: Vec<String> = pod.outcomes.iter().map(|outcome| outcome.cell(page)).collect();
            let alike = rows.iter_mut().find(|(first, _, _, known)| {
                pod.owner.is_some() && first.owner == pod.owner && *known == cells
            });
            match alike {
                Some((_, last, count, _)) => (*last, *count) = (&pod.pod, *count + 1),
                None => rows.push((pod, &pod.pod, 1, cells)),
            }
        }
        let named = rows.into_iter().map(|(first, last, count, cells)| {
            let name = match (&first.owner, count) {
                (Some(owner), 2..) => {
                    let last = last.rsplit('/').next().unwrap_or(last);
                    format!("{} to {last} ({count} of {owner})", first.pod)
                }
                _ => first.pod.clone(),
            };
            std::iter::once(name).chain(cells).collect()
        });
        named.collect()
    }

    fn sum(&self) -> String {
        let count = |wanted| self.pods.iter().filter(|pod| pod.difference == wanted).count();
        let parts = [
            (count(Difference::Verdict), "decided otherwise"),
            (count(Difference::Nodes), "placed otherwise"),
            (count(Difference::Holdings), "with other CPUs or devices of the same NUMA nodes"),
            (count(Difference::None), "the same"),
        ];
        let told =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let all = self.pods.len();
        let pods = if all == 1 { "pod" } else { "pods" };
        format!("{all} {pods}: {}\n", joined(told))
    }
}

/// `A`, `B` and so on, after `Z` numbers.
fn letters() -> impl Iterator<Item = String> {
    let named = ('A'..='Z').map(String::from);
    named.chain((27_u32..).map(|number| number.to_string()))
}
