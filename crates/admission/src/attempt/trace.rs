//! What was looked at on the way to a verdict: for every unit what it asked, what each node could give, and the
//! merged hint.

use alloc::vec::Vec;
use core::time::Duration;

use cpuset::CpuSet;
use memory_manager::{AllocateError, Enough, HeldBack};
use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, Pod, ResourceName, Role, Unit};
use topology_hint::{Answer, Answers, Solution};
use topology_policy::{MergeError, MergeTrace, Merged};

use crate::attempt::Rules;
use crate::attempt::refusal::{Cause, Refused};
use crate::ledger::Ledger;
use crate::node::Node;
use crate::node::claim_hints;
use crate::node::room::{Cell, Holders, Room};

/// The whole way of one attempt.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// The units in the order in which they were served; those after a refusal are missing, and under policy `none`
    /// there are none.
    pub units: Vec<UnitTrace>,
    /// The rules of the attempt; `None`: there was none.
    pub rules: Option<Rules>,
    /// Memory that the refused unit could not have though it is free, since its nodes are bound otherwise; `None` if
    /// that is not so.
    pub held_back: Option<HeldBack>,
    pub(crate) detail: Detail,
}

/// Whether everything was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// It was.
    #[default]
    Complete,
    /// The steps or tries of a search ran out.
    Cut,
}

/// How much is looked at; each has what those before it have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Detail {
    /// What each manager answered, and what was chosen.
    Answers,
    /// What is asked of each resource, and what is free, too.
    Amounts,
    /// What a refusal is explained with: who holds what is not free, too.
    #[default]
    Short,
    /// How each merge came out too: which node sets were in question, and why the winner won. It costs as much as
    /// several merges.
    Merges,
}

/// Which unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnitName {
    /// One container.
    Container(ContainerName),
    /// The pod as a whole.
    Pod,
}

/// One merge.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitTrace {
    /// Whom it was made for.
    pub unit: UnitName,
    /// One row for each resource with a NUMA affinity that the unit asks for: CPUs, memory and huge pages, devices,
    /// then what providers of your own answered.
    pub resources: Vec<ResourceTrace>,
    /// CPUs that the unit has to use before others; `None` if there are none.
    pub handed_on: Option<HandedOn>,
    /// The merged hint; of a search that was cut the best so far. `None` if the merge had no answer.
    pub merged: Option<Merged>,
    /// Whether the merge and the managers' own searches for nodes were complete.
    pub search: Search,
    /// How the merge came out; `None` unless [`Detail::Merges`] was asked for.
    pub merge: Option<MergeTrace>,
    /// How long the merge took; zero without a clock.
    pub took: Duration,
}

/// CPUs that finished init containers have left to the containers that follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandedOn {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Their nodes: CPUs of other nodes are given only together with these.
    pub nodes: NodeMask,
    /// The init containers that had them.
    pub by: Vec<ContainerName>,
}

/// One resource of a unit.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceTrace {
    /// Its name.
    pub resource: ResourceName,
    /// What it is.
    pub kind: RowKind,
    /// How much is asked and what the nodes have; `None` for a provider of your own, which tells no amounts.
    pub amounts: Option<NodeAmounts>,
    /// What its manager answered.
    pub answer: Answered,
}

/// What a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// A resource that the unit requests.
    Resource,
    /// Devices of its claims, which are allocated already: no others can be had.
    Claims,
}

/// Amounts of one resource: CPUs, bytes or devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeAmounts {
    /// How much is asked.
    pub asked: u64,
    /// What each node has, by position.
    pub nodes: Vec<Cell>,
    /// Devices that are on several nodes at once, or on none.
    pub elsewhere: Cell,
}

/// What a manager answered, in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answered {
    /// Any node will do, or it did not answer.
    NoOpinion,
    /// No node set will do.
    Impossible,
    /// Some node sets will do.
    Sets {
        /// The single nodes among them.
        single: NodeMask,
        /// How many nodes the smallest has.
        narrowest: u32,
        /// How many nodes a set needs to have to be preferred, whether there is such a set or not; `None` if no
        /// size is preferred.
        preferred: Option<u32>,
    },
}

impl NodeAmounts {
    /// What is free on these nodes together; devices that are near no single node can be had with any.
    #[must_use]
    pub fn free_on(&self, nodes: NodeMask) -> u64 {
        let here = nodes.iter().filter_map(|node| self.nodes.get(node.get())).map(|cell| cell.free);
        here.fold(self.elsewhere.free, u64::saturating_add)
    }

    /// What is free on the whole machine.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.nodes.iter().map(|cell| cell.free).fold(self.elsewhere.free, u64::saturating_add)
    }
}

impl UnitTrace {
    pub(crate) fn new(
        node: &Node,
        ledger: &Ledger,
        unit: Unit<'_>,
        answers: &Answers,
        merged: Result<Merged, MergeError>,
        detail: Detail,
    ) -> Self {
        let name = match unit {
            Unit::Container(_, container) => UnitName::Container(container.name.clone()),
            Unit::Pod(_) => UnitName::Pod,
        };
        let mut is_cut = false;
        let mut answered = |resource: &ResourceName| {
            let mut own = answers.iter().filter(|(name, _)| *name == resource);
            own.next().map_or(Answered::NoOpinion, |(_, answer)| {
                Answered::new(answer, node.nodes.all(), &mut is_cut)
            })
        };
        let mut resources: Vec<ResourceTrace> = node
            .amounts(ledger, unit, detail)
            .into_iter()
            .map(|(resource, kind, amounts)| ResourceTrace {
                answer: answered(&resource),
                amounts: Some(amounts),
                resource,
                kind,
            })
            .collect();
        for (resource, answer) in answers.iter() {
            if !resources.iter().any(|row| row.resource == *resource) {
                resources.push(ResourceTrace {
                    resource: resource.clone(),
                    kind: RowKind::Resource,
                    amounts: None,
                    answer: Answered::new(answer, node.nodes.all(), &mut is_cut),
                });
            }
        }
        let (merged, search) = match merged {
            Ok(merged) => (Some(merged), Search::Complete),
            Err(MergeError::Unfinished { best, .. }) => (best, Search::Cut),
            Err(MergeError::MissingDistance(_)) => (None, Search::Complete),
        };
        let search = if answers.is_cut() || is_cut { Search::Cut } else { search };
        let handed_on = node.handed_on(ledger, unit);
        Self { unit: name, resources, handed_on, merged, search, merge: None, took: Duration::ZERO }
    }
}

impl Answered {
    fn new(answer: Answer<'_>, all: NodeMask, is_cut: &mut bool) -> Self {
        let sets = |single: NodeMask, narrowest: Option<u32>, preferred| match narrowest {
            Some(narrowest) => Self::Sets { single, narrowest, preferred },
            None => Self::Impossible,
        };
        match answer {
            Answer::NoOpinion => Self::NoOpinion,
            Answer::Impossible => Self::Impossible,
            Answer::Family(family) => {
                let single = all.iter().filter(|node| family.accepts((*node).into()).is_some()).collect();
                let narrowest = family.narrowest();
                *is_cut |= narrowest.is_some_and(|narrowest| narrowest.is_cut());
                sets(single, narrowest.map(Solution::into_inner), family.preferred_size())
            }
            Answer::List(list) => {
                let widths = |preferred_only: bool| {
                    let counted = list.iter().filter(|listed| !preferred_only || listed.hint.is_preferred());
                    counted.filter_map(|listed| listed.width()).min()
                };
                let accepts = |node: &_| {
                    let node = NodeMask::single(*node);
                    list.iter().any(|listed| listed.hint.affinity.nodes().is_none_or(|mask| mask == node))
                };
                sets(all.iter().filter(accepts).collect(), widths(false), widths(true))
            }
        }
    }
}

impl Node {
    /// What init containers have left for `unit`, if it asks for CPUs and has none yet.
    fn handed_on(&self, ledger: &Ledger, unit: Unit<'_>) -> Option<HandedOn> {
        let (policy, held) = (self.cpus.as_ref()?, ledger.cpus()?);
        let Unit::Container(pod, container) = unit else { return None };
        let cpus = held.reusable(&pod.uid).filter(|cpus| !cpus.is_empty())?;
        policy.asked(unit)?;
        if held.assigned(&pod.uid, &container.name).is_some() {
            return None;
        }
        let init = pod.containers.iter().filter(|container| container.role == Role::Init);
        let had =
            init.filter(|init| held.assigned(&pod.uid, &init.name).is_some_and(|had| !had.is_disjoint(cpus)));
        Some(HandedOn {
            cpus: cpus.clone(),
            nodes: policy.required_nodes(held, &pod.uid),
            by: had.map(|init| init.name.clone()).collect(),
        })
    }

    /// What `unit` asks of the managers, and what each node has of it; nothing where only answers are wanted.
    fn amounts(
        &self,
        ledger: &Ledger,
        unit: Unit<'_>,
        detail: Detail,
    ) -> Vec<(ResourceName, RowKind, NodeAmounts)> {
        let mut rows = Vec::new();
        if detail < Detail::Amounts {
            return rows;
        }
        let pod = &unit.pod().uid;
        let holders = if detail < Detail::Short { Holders::LeftOut } else { Holders::Named };
        let mut row = |resource: ResourceName, asked: u64, room: Room| {
            let Room { nodes, elsewhere } = room;
            rows.push((resource, RowKind::Resource, NodeAmounts { asked, nodes, elsewhere }));
        };
        if let Some(asked) = self.cpus.as_ref().and_then(|policy| policy.asked(unit))
            && let Some(room) = self.room_of_cpus(ledger, pod, holders)
        {
            row(ResourceName::new("cpu"), asked as u64, room);
        }
        if let Some(Ok(request)) = self.memory.as_ref().map(|policy| policy.asked(unit)) {
            let mut own: Vec<_> = request.iter().collect();
            own.sort_by_key(|(resource, _)| (resource.as_str() != "memory", *resource));
            for (resource, asked) in own {
                if let Some(room) = self.room_of_memory(ledger, pod, resource, holders) {
                    row(resource.clone(), asked, room);
                }
            }
        }
        for (resource, asked) in self.devices.asked(ledger.inventory(), ledger.devices(), unit) {
            let room = self.room_of_devices(ledger, pod, &resource);
            row(resource, asked, room);
        }
        if self.has_claim_hints()
            && let Some((claims, asked, room)) = claim_hints::room(&self.nodes, unit)
        {
            let Room { nodes, elsewhere } = room;
            rows.push((claims, RowKind::Claims, NodeAmounts { asked, nodes, elsewhere }));
        }
        rows
    }
}

impl Node {
    /// What of the memory that `pod` was refused is free and bound otherwise.
    pub(crate) fn held_back(&self, ledger: &Ledger, pod: &Pod, refused: &Refused) -> Option<HeldBack> {
        let near = match &refused.cause {
            Cause::Memory(AllocateError::GroupViolated { nodes, .. }) => {
                let bound = ledger.memory()?.bound(*nodes);
                return Some(HeldBack { enough: Enough::Together(*nodes), bound });
            }
            Cause::Memory(
                AllocateError::NoExtension { hint } | AllocateError::NoPreferredExtension { hint, .. },
            ) => *hint,
            Cause::Memory(AllocateError::NothingFits | AllocateError::NothingPreferredFits)
            | Cause::NotAligned(_) => NodeMask::EMPTY,
            _ => return None,
        };
        let container = refused.container.as_ref().and_then(|name| pod.container(name));
        let unit = container.map_or(Unit::Pod(pod), |container| Unit::Container(pod, container));
        self.memory.as_ref()?.held_back(ledger.memory()?, unit, near)
    }
}
