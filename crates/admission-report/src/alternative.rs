//! What would fit: a change that was tried, and where the pod runs then.

mod fields;

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use cpu_manager::{Granted, NotPinned};
use cpuset::CpuSet;
use k8s_quantity::Quantity;
use node_config::Scope;
use pod_spec::{ContainerName, ResourceName};
use topology_admission::{Asks, Change, Explanation, Move, Placed, Placement, Turn, WouldFit};
use topology_model::{NodeId, NodeIds};
use topology_policy::KubeletPolicy;

use crate::facts::{Facts, NamedPod};
use crate::resource::Resource;
use crate::words::{joined, verb};
#[cfg(feature = "schema")]
pub(crate) use fields::{AFTER, BEFORE};

/// A change under which the pod was admitted when it was tried.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// What changes.
    pub remedy: Remedy,
    /// The same, as it can be made: [`Node::changed`](topology_admission::Node::changed).
    pub change: Change,
    /// Where the containers run then, each place once.
    pub places: Vec<Place>,
    /// Resources that are not checked then either.
    pub unchecked: Vec<ResourceName>,
    /// Containers that ask for whole CPUs now and for a part of one then, and so share CPUs.
    pub not_pinned: Vec<ContainerName>,
}

/// A change to the moment, the pod or the node. Shown as what changes: `until web leaves`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Remedy {
    /// These pods leave: one, or two where no single one is enough.
    Wait(Vec<NamedPod>),
    /// A pod restarts, and runs elsewhere on the node then.
    Move {
        /// Which pod.
        pod: NamedPod,
        /// Whether it restarts before or after the reported pod is created.
        turn: Turn,
        /// Where it runs then; `None`: on any node.
        nodes: Option<NodeIds>,
    },
    /// The pod asks for less: all of these together.
    AskLess(Vec<Ask>),
    /// The pod asks for more, since only whole cores are given.
    AskMore(Vec<Ask>),
    /// A NUMA node has more.
    More {
        /// Which node.
        node: NodeId,
        /// How much more: devices by number, huge pages in bytes.
        amounts: Vec<(Resource, u64)>,
    },
    /// The configuration's `reservedSystemCPUs` are others, as many as now.
    ReserveCpus {
        /// Those that are reserved now.
        now: CpuSet,
        /// Those that would be.
        fits: CpuSet,
    },
    /// Groups of NUMA nodes that no running pod needs any more are dissolved: the option `memory.regroup`.
    Regroup,
    /// Links are preferred and not required: the option `devices.links`.
    PreferLinks,
    /// The configuration has another `topologyManagerPolicy`.
    Policy {
        /// The one of now.
        now: KubeletPolicy,
        /// The other.
        fits: KubeletPolicy,
    },
    /// The configuration has another `topologyManagerScope`.
    Scope {
        /// The one of now.
        now: Scope,
        /// The other.
        fits: Scope,
    },
}

/// Another amount in a pod's manifest; shown as `cpu 3 instead of 4`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// In which container; `None`: at pod level, or in the pod's only container.
    pub container: Option<ContainerName>,
    /// Of which resource.
    pub resource: ResourceName,
    /// What is asked for now.
    pub now: Quantity,
    /// What would fit.
    pub fits: Quantity,
}

/// Where containers run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Which; none if all containers of the pod run there.
    pub containers: Vec<ContainerName>,
    /// The nodes of its merged hint.
    pub hint: HintNodes,
    /// The nodes of its CPUs; `None` if they are those of the hint, or if it shares CPUs.
    pub cpu_nodes: Option<NodeIds>,
}

/// The nodes of a merged hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HintNodes {
    /// Policy `none` merges no hints.
    NoPolicy,
    /// Any node will do.
    Any,
    /// These, which are preferred.
    Preferred(NodeIds),
    /// These, which are not.
    NotPreferred(NodeIds),
}

impl Remedy {
    /// What [`Remedy::kind`] can be.
    pub const KINDS: [&str; 7] = ["wait", "move", "ask less", "ask more", "node", "policy", "scope"];

    /// What kind of change it is: `wait`, `move`, `ask less`, `ask more`, `node`, `policy` or `scope`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Wait(_) => "wait",
            Self::Move { .. } => "move",
            Self::AskLess(_) => "ask less",
            Self::AskMore(_) => "ask more",
            Self::More { .. } | Self::ReserveCpus { .. } | Self::Regroup | Self::PreferLinks => "node",
            Self::Policy { .. } => "policy",
            Self::Scope { .. } => "scope",
        }
    }

    fn new(facts: &Facts<'_>, change: &Change) -> Option<Self> {
        let asks = |asks: &[Asks]| asks.iter().map(|ask| Ask::new(facts, ask)).collect();
        Some(match change {
            Change::Wait(pods) => Self::Wait(pods.iter().map(|pod| facts.named(pod)).collect()),
            Change::Move(Move { pod, turn, nodes }) => {
                let nodes = nodes.map(|nodes| facts.listed(nodes));
                Self::Move { pod: facts.named(pod), turn: *turn, nodes }
            }
            Change::AskLess(less) => Self::AskLess(asks(less)),
            Change::AskMore(more) => Self::AskMore(asks(more)),
            Change::More { node, amounts } => {
                let amounts = amounts.iter().map(|(resource, more)| (Resource::from(resource), *more));
                Self::More { node: *node, amounts: amounts.collect() }
            }
            Change::ReserveCpus(cpus) => {
                let now = facts.node.cpus().map(|policy| policy.reserved().clone());
                Self::ReserveCpus { now: now.unwrap_or_default(), fits: cpus.clone() }
            }
            Change::Regroup => Self::Regroup,
            Change::PreferLinks => Self::PreferLinks,
            Change::Policy(policy) => Self::Policy { now: facts.rules().policy, fits: *policy },
            Change::Scope(scope) => Self::Scope { now: facts.rules().scope, fits: *scope },
            // A change that a newer version of the admission tries.
            _ => return None,
        })
    }
}

impl Ask {
    fn new(facts: &Facts<'_>, ask: &Asks) -> Self {
        let Asks { container, resource, now, fits } = ask.clone();
        let container = container.filter(|_| facts.pod.containers.len() > 1);
        Self { container, resource, now, fits }
    }
}

impl Alternative {
    /// One for each change; of two that are shown alike the first.
    pub(crate) fn all(facts: &Facts<'_>, explanation: &Explanation) -> Vec<Self> {
        let mut shown: Vec<(&'static str, String)> = Vec::new();
        let mut all = Vec::new();
        for fit in &explanation.would_fit {
            let Some(alternative) = Self::new(facts, fit) else { continue };
            let text = (alternative.remedy.kind(), alternative.remedy.to_string());
            if !shown.contains(&text) {
                shown.push(text);
                all.push(alternative);
            }
        }
        all
    }

    fn new(facts: &Facts<'_>, fit: &WouldFit) -> Option<Self> {
        Some(Self {
            remedy: Remedy::new(facts, &fit.change)?,
            change: fit.change.clone(),
            places: Place::all(facts, &fit.placement),
            unchecked: facts.unchecked(),
            not_pinned: not_pinned(fit),
        })
    }

    /// Where the pod runs then, and what is not checked: `NUMA 1; nvidia.com/gpu not checked`.
    #[must_use]
    pub fn result(&self) -> String {
        let mut result = joined(&self.places, "; ");
        if !self.not_pinned.is_empty() {
            result.push_str(&format!("; CPUs of {} not pinned", joined(&self.not_pinned, " and ")));
        }
        if !self.unchecked.is_empty() {
            result.push_str(&format!("; {} not checked", joined(&self.unchecked, " and ")));
        }
        result
    }
}

/// The containers that lose exclusive CPUs by asking for less.
fn not_pinned(fit: &WouldFit) -> Vec<ContainerName> {
    let Change::AskLess(asks) = &fit.change else { return Vec::new() };
    let is_whole = |cpus: &Quantity| cpus.milli_value() % 1000 == 0;
    let is_split = |ask: &&Asks| ask.resource.as_str() == "cpu" && is_whole(&ask.now) && !is_whole(&ask.fits);
    let split: Vec<&Asks> = asks.iter().filter(is_split).collect();
    let is_shared = |placed: &&Placed| {
        matches!(placed.cpus, Some(Granted::SharedPool(NotPinned::FractionalCpu)))
            && split.iter().any(|ask| ask.container.as_ref().is_none_or(|name| *name == placed.name))
    };
    fit.placement.containers.iter().filter(is_shared).map(|placed| placed.name.clone()).collect()
}

impl Place {
    fn all(facts: &Facts<'_>, placement: &Placement) -> Vec<Self> {
        let mut places: Vec<Self> = Vec::new();
        for mut place in placement.containers.iter().map(|placed| Self::new(facts, placed)) {
            let same = |other: &&mut Self| other.hint == place.hint && other.cpu_nodes == place.cpu_nodes;
            match places.iter_mut().find(same) {
                Some(other) => other.containers.append(&mut place.containers),
                None => places.push(place),
            }
        }
        if let [everybody] = places.as_mut_slice() {
            everybody.containers.clear();
        }
        places
    }

    fn new(facts: &Facts<'_>, placed: &Placed) -> Self {
        let hint = match placed.hint {
            None => HintNodes::NoPolicy,
            Some(hint) if facts.is_anywhere(placed, hint) => HintNodes::Any,
            Some(hint) => match hint.affinity.nodes().map(|mask| facts.listed(mask)) {
                Some(nodes) if hint.is_preferred() => HintNodes::Preferred(nodes),
                Some(nodes) => HintNodes::NotPreferred(nodes),
                None => HintNodes::Any,
            },
        };
        let cpus = placed.cpus.as_ref().and_then(|granted| granted.exclusive());
        let cpu_nodes = cpus.map(|cpus| facts.nodes_of(cpus));
        let hinted = placed.hint.and_then(|hint| hint.affinity.nodes());
        let cpu_nodes = cpu_nodes.filter(|nodes| hinted != Some(*nodes)).map(|mask| facts.listed(mask));
        Self { containers: alloc::vec![placed.name.clone()], hint, cpu_nodes }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(pods) => {
                write!(f, "until {} {}", joined(pods, " and "), verb(pods.len(), "leaves", "leave"))
            }
            Self::Move { pod, turn, nodes } => {
                write!(f, "{pod}")?;
                nodes.as_ref().map_or(Ok(()), |nodes| write!(f, " to NUMA {nodes}"))?;
                f.write_str(match turn {
                    Turn::First => ", restarted before this pod",
                    Turn::Last => ", restarted after this pod",
                })
            }
            Self::AskLess(asks) | Self::AskMore(asks) => f.write_str(&joined(asks, " and ")),
            Self::More { node, amounts } => {
                let more = amounts
                    .iter()
                    .map(|(resource, more)| format!("{} more {resource}", resource.amount(*more)));
                write!(f, "{} on NUMA {node}", joined(more, " and "))
            }
            Self::ReserveCpus { now, fits } => write!(f, "reservedSystemCPUs {fits} instead of {now}"),
            Self::Regroup => f.write_str("option memory.regroup"),
            Self::PreferLinks => f.write_str("option devices.links: prefer instead of require"),
            Self::Policy { now, fits } => write!(f, "{} instead of {}", fits.name(), now.name()),
            Self::Scope { now, fits } => write!(f, "{} instead of {}", fits.name(), now.name()),
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} instead of {}", self.resource, self.fits, self.now)?;
        self.container.as_ref().map_or(Ok(()), |container| write!(f, " in {container}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.containers.is_empty() {
            let on = if self.hint == HintNodes::NoPolicy { "" } else { "on " };
            write!(f, "{} {on}", joined(&self.containers, " and "))?;
        }
        match &self.hint {
            HintNodes::NoPolicy => f.write_str("not aligned")?,
            HintNodes::Any => f.write_str("any NUMA node")?,
            HintNodes::Preferred(nodes) => write!(f, "NUMA {nodes}")?,
            HintNodes::NotPreferred(nodes) => write!(f, "NUMA {nodes}, not aligned")?,
        }
        self.cpu_nodes.as_ref().map_or(Ok(()), |nodes| write!(f, ", cpu on NUMA {nodes}"))
    }
}

impl fmt::Display for Alternative {
    /// `wait until web leaves: NUMA 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.remedy.kind(), self.remedy, self.result())
    }
}
