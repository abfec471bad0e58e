//! Why a pod does not fit, in so few words that many nodes say the same.
//!
//! A scheduler shows one line for thousands of nodes and counts those that say the same. So a brief reason has amounts
//! that the pod asks for, and never what one node has left, nor the names of NUMA nodes and pods:
//! `no NUMA node has 8 exclusive CPUs free`. The whole story of one node is in [`Refusal`](crate::Refusal).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use cpu_manager::{AllocateError as CpusError, WholeCoresError};
use device_manager::{AllocateError as DevicesError, Endpoint, Life};
use kubelet_fates::Fate;
use memory_manager::AllocateError as MemoryError;
use pod_spec::{ResourceName, Unit};
use topology_admission::{Cause, Mismatch, NotLinked, Reason, Refused, ResourceTrace, Standing, UnitTrace};
use topology_policy::KubeletPolicy;

use crate::facts::Facts;
use crate::resource::Resource;
use crate::why::{set_sizes, wider_sets};
use crate::words::and_more;

/// Why a pod does not fit a node: equal, and shown alike, for equal causes on different nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum BriefReason {
    /// No NUMA node alone has enough of any of these.
    NoNode(Vec<Wanted>),
    /// Each of these is on some NUMA node, and all are on none.
    NotTogether(Vec<Wanted>),
    /// All NUMA nodes together have too little of this.
    Machine(Wanted),
    /// These are free only on more NUMA nodes than the policy accepts.
    WiderSets {
        /// The policy's name.
        policy: &'static str,
        /// What is asked for; at least one.
        wanted: Vec<Wanted>,
    },
    /// Resources prefer node sets of different sizes.
    DifferentSizes {
        /// The policy's name.
        policy: &'static str,
        /// The resources; at least two.
        resources: Vec<Resource>,
    },
    /// Enough memory is free, on NUMA nodes that serve other pods in a group.
    Grouped(Wanted),
    /// CPUs that init containers of the pod left are on another NUMA node than free ones.
    HandedOn,
    /// Whole cores are required, and the number of CPUs is none of them.
    PartOfCore(Wanted),
    /// Whole cores are required, and too few are free.
    WholeCores(Wanted),
    /// The requests of all pods together would exceed what the node has.
    NodeFull(ResourceName),
    /// No device plugin of the resource has registered.
    NoPlugin(Resource),
    /// The device plugin of the resource is gone.
    PluginGone(Resource),
    /// No link has these devices free.
    NoLink(Vec<Wanted>),
    /// The node is not what the pod demands.
    Mismatch(&'static str),
    /// The search for NUMA nodes was cut before it had an exact answer.
    Cut,
    /// The kubelet does not simply admit it; in a few words.
    Fate(&'static str),
    /// Anything else: the kubelet's reason.
    Other(String),
}

impl From<&Fate> for BriefReason {
    fn from(fate: &Fate) -> Self {
        Self::Fate(match fate {
            Fate::Crashes(_) => "the pod would crash the kubelet",
            Fate::NeverAnswers => "the kubelet would never answer",
            Fate::AnswersLate(_) => "the kubelet would answer after minutes or hours",
            Fate::GivesTwice(_) => "the kubelet would give the pod CPUs that are not free",
            Fate::CannotRestart(_) => "the kubelet would not start again while the pod runs",
            Fate::LosesCpus => "a restart of the kubelet would lose the pod's CPUs",
            Fate::NotReached(_) => "the kubelet never gets to the pod",
        })
    }
}

/// What a container, or a pod as a whole, asks for of one resource.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wanted {
    /// Which resource.
    pub resource: Resource,
    /// CPUs, bytes or devices; `None` where its provider tells no amounts.
    pub amount: Option<u64>,
}

impl Facts<'_> {
    /// Why the pod, which was `refused` with this trace, does not fit: without figures of this node.
    #[must_use]
    pub fn brief(&self, refused: &Refused) -> BriefReason {
        let unit = self.trace.units.last();
        if let Some(resource) = self.plugin_gone(unit) {
            return BriefReason::PluginGone(resource);
        }
        let found = match &refused.cause {
            Cause::MergeFailed(_) => Some(BriefReason::Cut),
            Cause::NotAligned(_) => {
                self.brief_sum(unit).or_else(|| unit.map(|unit| self.brief_not_aligned(unit)))
            }
            Cause::Shortage(shortages) => {
                shortages.first().map(|first| BriefReason::NodeFull(first.resource.clone()))
            }
            Cause::NotLinked(not_linked) => Some(BriefReason::from(&**not_linked)),
            Cause::Mismatch(mismatch) => Some(BriefReason::from(*mismatch)),
            Cause::Cpus(CpusError::WholeCores(error)) => whole_cores(error),
            Cause::Cpus(CpusError::Take(_)) => self.brief_lack(unit).or_else(|| self.brief_cpus(refused)),
            Cause::Devices(DevicesError::Unregistered(resource)) => {
                Some(BriefReason::NoPlugin(resource.into()))
            }
            Cause::Devices(DevicesError::Unavailable { resource, requested, .. }) => {
                let resource = Resource::from(resource);
                Some(BriefReason::Machine(Wanted { resource, amount: Some(*requested) }))
            }
            Cause::Memory(MemoryError::EmptySharedPool(_)) => None,
            Cause::Memory(_) => self.brief_sum(unit).or_else(|| self.brief_memory(unit)),
            _ => self.brief_lack(unit),
        };
        found.unwrap_or_else(|| BriefReason::from(&refused.reason))
    }

    /// Where one NUMA node has to have all of it, what they have together makes no other cause.
    fn brief_sum(&self, unit: Option<&UnitTrace>) -> Option<BriefReason> {
        if self.rules().policy == KubeletPolicy::SingleNumaNode { None } else { self.brief_lack(unit) }
    }

    fn brief_lack(&self, unit: Option<&UnitTrace>) -> Option<BriefReason> {
        let lack = self.machine_lack(unit)?;
        Some(BriefReason::Machine(Wanted { resource: lack.resource, amount: Some(lack.asked) }))
    }

    /// Under policy `none` there is no merge, and the CPU manager itself runs out.
    fn brief_cpus(&self, refused: &Refused) -> Option<BriefReason> {
        let pod = self.node.with_chosen(self.pod);
        let container = pod.container(refused.container.as_ref()?)?;
        let asked = self.node.cpus()?.asked(Unit::Container(&pod, container))?;
        let amount = u64::try_from(asked).ok();
        Some(BriefReason::Machine(Wanted { resource: Resource::Cpu, amount }))
    }

    /// Where the memory manager itself runs out: too little on each NUMA node, or bound otherwise.
    fn brief_memory(&self, unit: Option<&UnitTrace>) -> Option<BriefReason> {
        let unit = unit?;
        let memory: Vec<&ResourceTrace> =
            unit.resources.iter().filter(|row| Resource::from(*row).is_memory()).collect();
        let lacks = |row: &&&ResourceTrace| {
            self.nodes().iter().all(|(index, _)| matches!(unit.standing(row, index), Standing::Lacks(_)))
        };
        match memory.iter().find(lacks) {
            Some(row) if self.rules().policy == KubeletPolicy::SingleNumaNode => {
                Some(BriefReason::NoNode(Vec::from([Wanted::of(row)])))
            }
            _ => {
                self.trace.held_back.as_ref()?;
                memory.first().map(|row| BriefReason::Grouped(Wanted::of(row)))
            }
        }
    }

    fn brief_not_aligned(&self, unit: &UnitTrace) -> BriefReason {
        let policy = self.rules().policy;
        if policy != KubeletPolicy::SingleNumaNode {
            let wider = wider_sets(&unit.resources);
            let is_wider =
                |row: &&ResourceTrace| wider.iter().any(|set| set.resource.as_str() == row.resource.as_str());
            let wanted: Vec<Wanted> = unit.resources.iter().filter(is_wider).map(Wanted::of).collect();
            if !wanted.is_empty() {
                return BriefReason::WiderSets { policy: policy.name(), wanted };
            }
            let sizes = set_sizes(&unit.resources);
            if sizes.windows(2).any(|pair| matches!(pair, [one, other] if one.nodes != other.nodes)) {
                let resources = sizes.into_iter().map(|size| size.resource).collect();
                return BriefReason::DifferentSizes { policy: policy.name(), resources };
            }
        }
        let standings = |row: &ResourceTrace| {
            let each = self.nodes().iter().map(|(index, _)| unit.standing(row, index));
            each.collect::<Vec<Standing>>()
        };
        let nowhere: Vec<(&ResourceTrace, Vec<Standing>)> = unit
            .resources
            .iter()
            .map(|row| (row, standings(row)))
            .filter(|(_, standings)| !standings.contains(&Standing::Fits))
            .collect();
        let closed = nowhere.iter().find(|(_, standings)| standings.contains(&Standing::Closed));
        match closed.map(|(row, _)| (*row, Resource::from(*row))) {
            Some((_, Resource::Cpu)) => return BriefReason::HandedOn,
            Some((row, resource)) if resource.is_memory() => return BriefReason::Grouped(Wanted::of(row)),
            _ => {}
        }
        if nowhere.is_empty() {
            return BriefReason::NotTogether(unit.resources.iter().map(Wanted::of).collect());
        }
        BriefReason::NoNode(nowhere.into_iter().map(|(row, _)| Wanted::of(row)).collect())
    }

    /// A resource of the refused unit whose plugin is gone and of which too little is left.
    fn plugin_gone(&self, unit: Option<&UnitTrace>) -> Option<Resource> {
        let rows = unit.map_or(&[][..], |unit| &unit.resources);
        let is_gone = |row: &&ResourceTrace| {
            let endpoint = self.before.inventory().endpoint(&row.resource);
            matches!(endpoint, Some(Endpoint::Plugin { life: Life::Stopped(_), .. }))
                && row.amounts.as_ref().is_some_and(|amounts| amounts.free() < amounts.asked)
        };
        rows.iter().find(is_gone).map(Resource::from)
    }
}

fn whole_cores(error: &WholeCoresError) -> Option<BriefReason> {
    let wanted = |cpus: usize| Wanted { resource: Resource::Cpu, amount: u64::try_from(cpus).ok() };
    match error {
        WholeCoresError::NotMultiple { requested, .. } => Some(BriefReason::PartOfCore(wanted(*requested))),
        WholeCoresError::NotEnough { requested, .. } => Some(BriefReason::WholeCores(wanted(*requested))),
        _ => None,
    }
}

impl From<&NotLinked> for BriefReason {
    fn from(not_linked: &NotLinked) -> Self {
        let (demand, together): (_, fn(Vec<Wanted>) -> Self) = match not_linked {
            NotLinked::Lacks(lack) => (&lack.demand, Self::NoLink),
            NotLinked::Elsewhere { demand, .. } => (demand, Self::NotTogether),
        };
        let wanted = demand.asked.iter();
        together(
            wanted
                .map(|(resource, count)| Wanted { resource: resource.into(), amount: Some(*count) })
                .collect(),
        )
    }
}

impl From<Mismatch> for BriefReason {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(mismatch.reason())
    }
}

impl From<&Reason> for BriefReason {
    fn from(reason: &Reason) -> Self {
        Self::Other(alloc::format!("{reason}"))
    }
}

impl Wanted {
    fn of(row: &ResourceTrace) -> Self {
        let amount = row.amounts.as_ref().map(|amounts| amounts.asked);
        Self { resource: Resource::from(row), amount }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, amount } = self;
        match (resource, *amount) {
            (Resource::Cpu, Some(1)) => f.write_str("1 exclusive CPU"),
            (Resource::Cpu, Some(count)) => write!(f, "{count} exclusive CPUs"),
            (Resource::Memory | Resource::HugePages(_), Some(bytes)) => {
                write!(f, "{} of {resource}", resource.amount(bytes))
            }
            (_, Some(count)) => write!(f, "{count} {resource}"),
            (_, None) => resource.fmt(f),
        }
    }
}

impl fmt::Display for BriefReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode(wanted) => write!(f, "no NUMA node has {} free", listed(wanted, " or ")),
            Self::NotTogether(wanted) => {
                write!(f, "no NUMA node has {} free together", listed(wanted, " and "))
            }
            Self::Machine(wanted) => write!(f, "all NUMA nodes together do not have {wanted} free"),
            Self::WiderSets { policy, wanted } => {
                write!(f, "free only on more NUMA nodes than {policy} accepts: {}", listed(wanted, " and "))
            }
            Self::DifferentSizes { policy, resources } => write!(
                f,
                "{} need different numbers of NUMA nodes, which {policy} refuses",
                listed(resources, " and ")
            ),
            Self::Grouped(wanted) => {
                write!(f, "{wanted} is free only in groups of NUMA nodes that serve together")
            }
            Self::HandedOn => f.write_str("CPUs that init containers left are on another NUMA node"),
            Self::PartOfCore(wanted) => {
                write!(f, "full-pcpus-only gives out whole cores, and {wanted} are no whole number of them")
            }
            Self::WholeCores(wanted) => write!(f, "too few whole cores are free for {wanted}"),
            Self::NodeFull(resource) if resource.as_str() == "pods" => {
                f.write_str("as many pods run as maxPods allows")
            }
            Self::NodeFull(resource) => {
                write!(f, "pods would ask for more {resource} than the node has for them")
            }
            Self::NoPlugin(resource) => write!(f, "no device plugin of {resource} has registered"),
            Self::PluginGone(resource) => write!(f, "the device plugin of {resource} is gone"),
            Self::NoLink(wanted) => {
                write!(f, "no PCI switch, port or domain has {} free", listed(wanted, " and "))
            }
            Self::Mismatch(reason) => write!(f, "the kubelet refuses it: {reason}"),
            Self::Fate(words) => f.write_str(words),
            Self::Cut => f.write_str("the search for NUMA nodes was cut before it had an exact answer"),
            Self::Other(reason) => write!(f, "the kubelet refuses it: {reason}"),
        }
    }
}

/// `a, b and c`.
fn listed<T: fmt::Display>(items: &[T], last: &str) -> String {
    and_more(items, items.len(), last)
}
