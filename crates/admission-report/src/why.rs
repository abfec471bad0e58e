//! The obstacles behind a refusal, read off its cause and its trace.

use alloc::vec::Vec;

use cpu_manager::AllocateError;
use device_manager::AllocateError as DevicesError;
use memory_manager::AllocateError as MemoryError;
use pod_spec::QosClass;
use topology_admission::{Answered, Cause, Cell, NodeAmounts, Refused, ResourceTrace, Standing, UnitTrace};
use topology_policy::KubeletPolicy;

use crate::facts::Facts;
use crate::handed_on::HandedOnCpus;
use crate::lacks::Lacks;
use crate::obstacle::{MachineLack, Obstacle, SetSize, WiderSet};
use crate::parts_of_bytes::PartsOfBytes;
use crate::resource::Resource;
use crate::unread_bytes::UnreadBytes;

impl Facts<'_> {
    /// The obstacles in the order in which they are printed; none where the kubelet's message is enough.
    pub(crate) fn obstacles(&self, refused: &Refused) -> Vec<Obstacle> {
        let unit = self.trace.units.last();
        let mut obstacles = self.of_cause(refused, unit);
        let is_of_memory = matches!(refused.cause, Cause::NotAligned(_) | Cause::Memory(_));
        let names_groups =
            is_of_memory && self.trace.held_back.is_some() && self.machine_lack(unit).is_none();
        let grouped = unit.filter(|_| !names_groups).and_then(|unit| self.grouped_memory(unit));
        obstacles.extend(grouped.map(Obstacle::GroupedMemory));
        self.with_unavailable(refused, obstacles)
    }

    fn of_cause(&self, refused: &Refused, unit: Option<&UnitTrace>) -> Vec<Obstacle> {
        let machine_lack = || self.machine_lack(unit).map(Obstacle::MachineLacks);
        let held_back = || self.held_back().map(Obstacle::HeldBackMemory);
        let only = match &refused.cause {
            Cause::MergeFailed(error) => Some(Obstacle::MergeFailed(*error)),
            Cause::Shortage(shortages) => return shortages.iter().cloned().map(Obstacle::NodeFull).collect(),
            Cause::NotAligned(_) => match (machine_lack(), unit) {
                (None, Some(unit)) => {
                    let handed_on = self.handed_on(unit).map(Obstacle::HandedOn);
                    let not_read = self.books_memory().then(|| self.not_read(refused)).flatten();
                    let all = [self.not_aligned(unit)].into_iter().chain(handed_on).chain(held_back());
                    return all.chain(not_read).collect();
                }
                (lack, _) => lack,
            },
            Cause::Cpus(AllocateError::WholeCores(error)) => Some(Obstacle::WholeCores(*error)),
            Cause::Memory(MemoryError::NotInt64) => self.not_read(refused),
            Cause::Memory(_) => machine_lack().or_else(held_back),
            Cause::Devices(DevicesError::Unregistered(resource)) => Some(Obstacle::UnknownDevices {
                resource: Resource::from(resource),
                advice: self.advice.no_plugin,
            }),
            Cause::NotLinked(not_linked) => Some(Obstacle::NotLinked(not_linked.clone())),
            Cause::Mismatch(mismatch) => {
                return self.unsuited(*mismatch).into_iter().map(Obstacle::Unsuited).collect();
            }
            Cause::PodPolicy(_) => Some(Obstacle::PodPolicy(self.node.rules())),
            _ => machine_lack(),
        };
        only.into_iter().collect()
    }

    /// Whether memory of the pod is booked on NUMA nodes.
    fn books_memory(&self) -> bool {
        self.node.memory().is_some() && self.pod.qos_class(self.node.pod_rules()) == QosClass::Guaranteed
    }

    /// The amount of the refused unit that the memory manager does not read as a number of bytes.
    fn not_read(&self, refused: &Refused) -> Option<Obstacle> {
        let is_meant = |name| refused.container.as_ref().is_none_or(|container| container == name);
        let asked = || self.pod.containers.iter().filter(|asked| is_meant(&asked.name));
        let parts = asked().find_map(PartsOfBytes::of).map(|(_, parts)| Obstacle::PartsOfBytes(parts));
        parts.or_else(|| asked().find_map(UnreadBytes::of).map(Obstacle::UnreadBytes))
    }

    fn not_aligned(&self, unit: &UnitTrace) -> Obstacle {
        let policy = self.rules().policy;
        if policy == KubeletPolicy::SingleNumaNode {
            return Obstacle::NoSingleNode(Lacks::new(self, unit));
        }
        let resources = wider_sets(&unit.resources);
        if !resources.is_empty() {
            return Obstacle::WiderSets { policy, resources };
        }
        let sizes = set_sizes(&unit.resources);
        let counts = || sizes.iter().map(|size| size.nodes);
        if counts().min() < counts().max() {
            return Obstacle::DifferentSizes { policy, sizes };
        }
        Obstacle::NotTogether(Lacks::new(self, unit))
    }

    /// That the resources of the refused unit would prefer different numbers of NUMA nodes even if nothing ran, which policy
    /// `restricted` refuses.
    pub(crate) fn sizes_on_empty_node(&self) -> Option<Obstacle> {
        let policy = self.rules().policy;
        let unit = self.trace.units.last().filter(|_| policy == KubeletPolicy::Restricted)?;
        let rows = unit.resources.iter().filter(|row| !matches!(row.answer, Answered::NoOpinion));
        let sizes = rows.map(|row| {
            let nodes = match row.answer {
                Answered::Sets { preferred: Some(nodes), .. } => nodes,
                _ => fewest_nodes(row.amounts.as_ref()?)?,
            };
            Some(SetSize { resource: Resource::from(row), nodes })
        });
        let sizes = sizes.collect::<Option<Vec<_>>>()?;
        let counts = || sizes.iter().map(|size| size.nodes);
        let differ = counts().min() < counts().max();
        differ.then_some(Obstacle::DifferentSizes { policy, sizes })
    }

    /// That no NUMA node would have all of the refused unit even if nothing ran, which policy `single-numa-node` refuses; `None`:
    /// one would, or that is known already.
    pub(crate) fn lacks_on_empty_node(&self, known: &[Obstacle]) -> Option<Obstacle> {
        let is_single = self.rules().policy == KubeletPolicy::SingleNumaNode;
        let unit = self.trace.units.last().filter(|_| is_single)?;
        let lacks = Lacks::on_empty_node(self, unit);
        let is_known = known.iter().any(|known| match known {
            Obstacle::NoSingleNode(now) => *now == lacks,
            Obstacle::MachineLacks(lack) => lack.allocatable < lack.asked,
            _ => false,
        });
        (lacks.are_everywhere() && !is_known).then_some(Obstacle::NoSingleEmptyNode(lacks))
    }

    /// CPUs of init containers that keep the unit from nodes which have enough.
    fn handed_on(&self, unit: &UnitTrace) -> Option<HandedOnCpus> {
        let handed_on = unit.handed_on.as_ref()?;
        let row = unit.resources.iter().find(|row| Resource::from(*row) == Resource::Cpu)?;
        let is_closed = |index| unit.standing(row, index) == Standing::Closed;
        let keeps = self.nodes().iter().any(|(index, _)| is_closed(index));
        keeps.then(|| HandedOnCpus::new(self, handed_on))
    }

    /// The first resource of which the whole machine has too little.
    pub(crate) fn machine_lack(&self, unit: Option<&UnitTrace>) -> Option<MachineLack> {
        let rows = unit.map_or(&[][..], |unit| &unit.resources);
        let lacks = rows.iter().filter_map(|row| {
            let amounts = row.amounts.as_ref()?;
            let sum = |of: fn(&Cell) -> u64| {
                let cells = amounts.nodes.iter().chain([&amounts.elsewhere]);
                cells.map(of).fold(0, u64::saturating_add)
            };
            Some(MachineLack {
                resource: Resource::from(row),
                asked: amounts.asked,
                free: sum(|cell| cell.free),
                allocatable: sum(|cell| cell.allocatable),
                advice: self.advice.no_huge_pages,
            })
        });
        lacks.into_iter().find(MachineLack::is_one)
    }
}

/// How many NUMA nodes a resource would need if nothing ran; `None`: all of them would have too little.
fn fewest_nodes(amounts: &NodeAmounts) -> Option<u32> {
    let mut there: Vec<u64> = amounts.nodes.iter().map(|cell| cell.allocatable).collect();
    there.sort_unstable_by(|one, other| other.cmp(one));
    let mut sum = amounts.elsewhere.allocatable;
    let mut needed = 0;
    for own in there {
        if needed > 0 && sum >= amounts.asked {
            break;
        }
        sum = sum.saturating_add(own);
        needed += 1;
    }
    (sum >= amounts.asked).then_some(needed)
}

pub(crate) fn wider_sets(rows: &[ResourceTrace]) -> Vec<WiderSet> {
    let wider = rows.iter().filter_map(|row| match row.answer {
        Answered::Sets { narrowest, preferred: Some(preferred), .. } if narrowest > preferred => {
            Some(WiderSet { resource: Resource::from(row), needed: narrowest, preferred })
        }
        _ => None,
    });
    wider.collect()
}

/// How many nodes each resource prefers.
pub(crate) fn set_sizes(rows: &[ResourceTrace]) -> Vec<SetSize> {
    let sizes = rows.iter().filter_map(|row| match row.answer {
        Answered::Sets { preferred: Some(nodes), .. } => {
            Some(SetSize { resource: Resource::from(row), nodes })
        }
        _ => None,
    });
    sizes.collect()
}
