//! Whether the CPU manager's file and the memory manager's are of one moment, pod by pod.
//!
//! A kubelet with both static policies admits a container in two writes: its CPUs, then its memory. Between them the
//! CPU file has a container that the memory file lacks, or has the CPUs of a new pod beside the memory of the one
//! before it.
//!
//! The rule is one-sided. A container has exclusive CPUs only in a Guaranteed pod, in which every container has a memory
//! limit, so that the memory manager books it too. The reverse does not hold: a Guaranteed container with a fraction of
//! a CPU is in the memory file only, and so is a pod that has ended until the next admission, since the CPU manager
//! cleans up every 10 s and the memory manager only when it is asked. Where a pod is booked as a whole, its
//! containers without exclusive memory are in the CPU file only, and the pod is compared instead.

use std::collections::BTreeSet;

use kubelet_checkpoint::store::StateFile;
use node_input::LoadedNode;
use node_state::{Contents, PodNames};
use pod_spec::{ContainerName, PodUid};

/// At most this many containers are named.
const MOST_NAMED: usize = 3;

/// Why the files cannot be of one moment; `None`: they can. Files that cannot be read are reported elsewhere.
pub(super) fn misfit(contents: &Contents, node: &LoadedNode, names: &PodNames) -> Option<String> {
    node.node.cpus()?;
    node.node.memory()?;
    let cpus = contents.cpu.as_ref()?.as_ref().ok()?;
    let memory = match &contents.memory {
        Some(read) => Some(&read.as_ref().ok()?.state),
        None => None,
    };
    let is_whole = |pod: &PodUid| {
        let in_memory = memory.as_ref().is_some_and(|state| state.pod_entries.contains_key(pod));
        cpus.pod_entries.contains_key(pod) || in_memory
    };
    let has_memory = |pod: &PodUid, container: &ContainerName| {
        memory.as_ref().is_some_and(|state| {
            let containers = state.entries.get(pod).and_then(Option::as_ref);
            let is_there = containers.is_some_and(|all| all.contains_key(container));
            is_there || is_whole(pod) && (containers.is_some() || state.pod_entries.contains_key(pod))
        })
    };
    let held = cpus.entries.iter().filter(|(pod, _)| !names.is_gone(pod));
    let missing: BTreeSet<String> = held
        .flat_map(|(pod, containers)| containers.keys().map(move |container| (pod, container)))
        .filter(|(pod, container)| !has_memory(pod, container))
        .map(|(pod, container)| format!("container {container} of pod {}", names.name(pod)))
        .collect();
    message(&missing)
}

fn message(missing: &BTreeSet<String>) -> Option<String> {
    let named = missing.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = match missing.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (cpu, memory) = (StateFile::Cpu.path(), StateFile::Memory.path());
    (!missing.is_empty()).then(|| format!("{cpu} has {named}{more}, and {memory} does not"))
}
