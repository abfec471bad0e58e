//! A change that was cut short between two files, as a crash leaves it.
//!
//! A pod that comes is written into the state files first and gets its own file last; the file of a pod that goes is
//! removed first. So after a crash whole state files say something else of that one pod, and nothing else is different.
//! The pods' own files decide, and what the state files had besides is of no use to anybody.

use std::collections::{BTreeMap, BTreeSet};

use cpu_manager::Holdings;
use cpuset::CpuSet;
use device_manager::Held as HeldDevices;
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::memory::MemoryState;
use memory_manager::Stored;
use pod_spec::{ContainerName, PodUid, ResourceName};

use super::damage::Read;
use super::{Cause, Runs, Work};
use crate::files;

/// What follows where files differ in one pod.
const FOLLOWING: [Cause; 5] =
    [Cause::Disagreement, Cause::PodGone, Cause::SharedPool, Cause::CpusNew, Cause::Books];

/// The devices of one pod.
type Devices<'a> = BTreeMap<(&'a ContainerName, &'a ResourceName), &'a HeldDevices>;

impl Work<'_> {
    /// The pod of the one change that was cut short, if nothing else is wrong.
    pub(super) fn unfinished(&self) -> Option<PodUid> {
        fn is_whole<T>(read: &Read<T>) -> bool {
            read.fault.is_none() && read.doubt.is_none()
        }
        let Self { result, reads, .. } = self;
        let is_plain = matches!(self.runs, Runs::Recorded)
            && result.findings.iter().all(|repair| FOLLOWING.contains(&repair.cause))
            && result.quarantined.is_empty()
            && result.aside.is_empty()
            && result.records.is_empty();
        let are_whole = is_whole(&reads.cpu) && is_whole(&reads.memory) && is_whole(&reads.device);
        if !is_plain || !are_whole {
            return None;
        }
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
        other.next().filter(|_| other.next().is_none())
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
