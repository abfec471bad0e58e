//! A change that was cut short between two files, as a crash leaves it.
//!
//! The owner writes a pod that comes into the state files first and gives it its own file last. It removes the file of
//! a pod that goes first and takes the pod out of the state files afterwards. In both cases a crash leaves the state
//! files ahead of the pods' own: they have one pod more. When a container starts, the memory of the init containers before
//! it goes from the memory file first and from the pod's own file last. A resize changes the state files first too, and
//! one that was cut short has not happened. Every other difference is a repair: a file was edited or restored.
//!
//! Of the pods that one pod preempts each goes by itself, so that a crash in a preemption leaves one such pod as well.
//! More than one is a repair, which keeps backups.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cpu_manager::Holdings;
use cpuset::CpuSet;
use device_manager::Held as HeldDevices;
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::memory::MemoryState;
use kubelet_checkpoint::store::StateFile;
use memory_manager::Stored;
use pod_spec::{ContainerName, PodUid, ResourceName, Role};

use super::damage::Read;
use super::{PodList, Work};
use crate::fault::FaultKind;
use crate::files;
use crate::record::Record;

/// What follows where the state files are ahead in one pod.
const FOLLOWING: [FaultKind; 5] = [
    FaultKind::Disagreement,
    FaultKind::PodGone,
    FaultKind::SharedPool,
    FaultKind::CpusNew,
    FaultKind::Books,
];

/// The devices of one pod.
type Devices<'a> = BTreeMap<(&'a ContainerName, &'a ResourceName), &'a HeldDevices>;

impl Work<'_> {
    /// The pod of the one change that was cut short, if nothing else is wrong.
    pub(super) fn unfinished(&self) -> Option<PodUid> {
        fn is_whole<T>(read: &Read<T>) -> bool {
            read.fault.is_none() && read.doubt.is_none()
        }
        let Self { result, reads, .. } = self;
        let is_plain = matches!(self.runs, PodList::Recorded)
            && result.findings.iter().all(|repair| FOLLOWING.contains(&repair.finding.fault.kind()))
            && self.quarantined.is_empty()
            && result.aside.is_empty()
            && result.records.is_empty();
        let are_whole = is_whole(&reads.cpu) && is_whole(&reads.memory) && is_whole(&reads.device);
        if !is_plain || !are_whole {
            return None;
        }
        let disagreements =
            result.findings.iter().filter(|repair| repair.finding.fault.kind() == FaultKind::Disagreement);
        let disagreeing: Vec<&Path> = disagreements.map(|repair| &*repair.finding.file).collect();
        let mut other = BTreeSet::new();
        if let (Some(state), Some(held)) = (&reads.cpu.state, &result.start.stored.cpus) {
            other.extend(other_cpus(state, held)?);
        }
        if let (Some(state), Some(stored)) = (&reads.memory.state, &result.start.stored.memory) {
            other.extend(self.other_memory(state, stored)?);
        }
        if let Some(state) = &reads.device.state {
            let was = files::devices(state);
            let pods: BTreeSet<&PodUid> = was.pods().chain(result.start.stored.devices.pods()).collect();
            let is_other = |pod: &&PodUid| {
                let was: Devices<'_> = was.of_pod(pod).map(|(name, of, held)| ((name, of), held)).collect();
                let is = result.start.stored.devices.of_pod(pod);
                was != is.map(|(name, of, held)| ((name, of), held)).collect::<Devices<'_>>()
            };
            other.extend(pods.into_iter().filter(is_other).cloned());
        }
        let mut other = other.into_iter();
        let is_ahead = |pod: &PodUid| match self.record(pod) {
            Some(record) => {
                let is_memory = disagreeing == [Path::new(StateFile::Memory.path())];
                (is_memory && self.has_started(record)) || self.is_resized(record)
            }
            None => true,
        };
        other.next().filter(|pod| other.next().is_none() && is_ahead(pod))
    }

    /// Whether the state files differ from the pod's own file as in the middle of a resize: the same containers have more
    /// CPUs or fewer, and more memory or less on the same nodes.
    fn is_resized(&self, record: &Record) -> bool {
        let uid = &record.pod.uid;
        let Some(grants) = &record.grants else { return false };
        let cpus = match (&grants.cpus, &self.reads.cpu.state) {
            (Some(own), Some(state)) => {
                let was = state.containers.get(uid).cloned().unwrap_or_default();
                let is_part = |(name, own): (&ContainerName, &CpuSet)| {
                    was.get(name).is_some_and(|was| (own - was).is_empty() || (was - own).is_empty())
                };
                own.whole.is_none() && own.containers.len() == was.len() && own.containers.iter().all(is_part)
            }
            (own, _) => own.is_none(),
        };
        let memory = match (&grants.memory, &self.reads.memory.state) {
            (Some(own), Some(state)) => files::memory(state).is_ok_and(|was| {
                let was = was.entries.get(uid).cloned().unwrap_or_default();
                let places = |blocks: &[memory_manager::StoredBlock]| -> Vec<_> {
                    blocks.iter().map(|block| (block.resource.clone(), block.nodes.clone())).collect()
                };
                let is_there = |(name, own): (&ContainerName, &Vec<memory_manager::StoredBlock>)| {
                    was.get(name).is_some_and(|was| places(was) == places(own))
                };
                own.whole.is_none()
                    && own.containers.len() == was.len()
                    && own.containers.iter().all(is_there)
            }),
            (own, _) => own.is_none(),
        };
        self.node.can_resize_pods() && cpus && memory
    }

    /// Whether the memory file lacks memory of a pod's init containers and nothing else of it.
    fn has_started(&self, record: &Record) -> bool {
        let uid = &record.pod.uid;
        let own = record.grants.as_ref().and_then(|grants| grants.memory.as_ref());
        let (Some(own), Some(state)) = (own, &self.reads.memory.state) else { return false };
        let Ok(was) = files::memory(state) else { return false };
        let was_whole = was.pod_entries.get(uid);
        let was = was.entries.get(uid).cloned().unwrap_or_default();
        let is_init = |name| record.pod.container(name).is_some_and(|own| own.role == Role::Init);
        let is_left = |(name, blocks)| was.get(name).map_or_else(|| is_init(name), |left| left == blocks);
        own.whole.as_ref() == was_whole
            && own.containers.iter().all(is_left)
            && was.keys().all(|name| own.containers.contains_key(name))
    }

    /// The pods of which the memory file says something else; `None`: it does not agree with itself.
    fn other_memory(&self, state: &MemoryState, stored: &Stored) -> Option<BTreeSet<PodUid>> {
        let was = files::memory(state).ok()?;
        if self.books_of(state)?.nodes != was.nodes {
            return None;
        }
        let pods = was.entries.keys().chain(stored.entries.keys());
        let pods = pods.chain(was.pod_entries.keys()).chain(stored.pod_entries.keys());
        let is_other = |pod: &&PodUid| {
            was.entries.get(*pod) != stored.entries.get(*pod)
                || was.pod_entries.get(*pod) != stored.pod_entries.get(*pod)
        };
        Some(pods.filter(is_other).cloned().collect())
    }
}

/// The pods of which the CPU file says something else; `None`: its shared pool is not what follows from that.
fn other_cpus(state: &CpuState, held: &Holdings) -> Option<BTreeSet<PodUid>> {
    let was = files::cpus(state);
    let of = |held: &Holdings, pod: &PodUid| -> BTreeMap<ContainerName, CpuSet> {
        held.of_pod(pod).map(|(name, cpus)| (name.clone(), cpus.clone())).collect()
    };
    let pods = [&was, held]
        .into_iter()
        .flat_map(|held| held.iter().map(|(pod, ..)| pod).chain(held.whole_pods().map(|(pod, _)| pod)));
    let is_other =
        |pod: &&PodUid| of(&was, pod) != of(held, pod) || was.whole_pod(pod) != held.whole_pod(pod);
    let other: BTreeSet<PodUid> = pods.filter(is_other).cloned().collect();
    let all_of = |held: &Holdings| {
        let cpus =
            other.iter().flat_map(|pod| held.of_pod(pod).map(|(_, cpus)| cpus).chain(held.whole_pod(pod)));
        cpus.fold(CpuSet::new(), |all, cpus| &all | cpus)
    };
    let shared = &(was.shared() | &all_of(&was)) - &all_of(held);
    (shared == *held.shared()).then_some(other)
}
