//! What pods hold of a machine, as the files of a kubelet record it.

use cpuset::CpuSet;
use machine_picture::{MemoryShare, PodShare, Shares};
use pod_spec::ResourceName;
use topology_model::{Machine, NodeId};

use crate::held::{ContainerLine, Shown};

/// The pods of these files on this machine. Files that cannot be read and CPUs that the machine lacks are notes.
#[must_use]
pub fn shares(shown: &Shown, machine: Option<&Machine>) -> Shares {
    let unreadable = shown.files.iter().filter(|line| !line.readable);
    let mut notes: Vec<_> = unreadable.map(|line| format!("{} {}", line.file, line.contents)).collect();
    let same_pod = |one: &ContainerLine, other: &ContainerLine| one.uid == other.uid;
    let mut pods = Vec::new();
    for containers in shown.containers.chunk_by(same_pod) {
        let pod = share(containers, &mut notes);
        let missing = machine.map_or_else(CpuSet::new, |machine| &pod.cpus - machine.online());
        if !missing.is_empty() {
            notes.push(format!("{} holds CPUs {missing}, which are not there", pod.name));
        }
        if !pod.is_empty() {
            pods.push(pod);
        }
    }
    Shares { pods, notes }
}

fn share(containers: &[ContainerLine], notes: &mut Vec<String>) -> PodShare {
    let mut pod = PodShare::new(containers.first().map_or("", |line| &line.pod));
    // Memory of a container is a part of the memory that its pod holds as a whole.
    let has_whole = containers.iter().any(|line| line.container.is_empty() && !line.held.memory.is_empty());
    for line in containers {
        match line.held.cpus.parse::<CpuSet>() {
            Ok(cpus) => pod.cpus |= &cpus,
            Err(error) => notes.push(format!("{} {}: {error}", pod.name, line.container)),
        }
        for held in line.held.memory.iter().filter(|_| line.container.is_empty() || !has_whole) {
            pod.add_memory(MemoryShare {
                resource: ResourceName::new(&held.resource),
                bytes: held.bytes,
                nodes: held.nodes.iter().copied().map(NodeId).collect(),
            });
        }
        for held in line.held.devices.iter().filter(|held| !held.ids.is_empty()) {
            pod.devices.entry(held.resource.clone()).or_default().extend(held.ids.iter().cloned());
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::held::{Held, MemoryHeld};

    fn line(pod: &str, container: &str, cpus: &str, memory: &[(&str, u64, &[i64])]) -> ContainerLine {
        let memory = memory.iter().map(|(resource, gib, nodes)| MemoryHeld {
            resource: (*resource).to_owned(),
            bytes: gib << 30,
            nodes: nodes.to_vec(),
        });
        ContainerLine {
            pod: format!("space/{pod}"),
            uid: pod.to_owned(),
            container: container.to_owned(),
            held: Held { cpus: cpus.to_owned(), memory: memory.collect(), devices: Vec::new() },
        }
    }

    #[test]
    fn containers_of_a_pod_add_up_and_bad_cpu_lists_are_notes() {
        let containers = vec![
            line("a", "one", "1-2", &[("memory", 1, &[0]), ("hugepages-1Gi", 2, &[0])]),
            line("a", "two", "3", &[("memory", 2, &[0])]),
            // The container has a part of what its pod has.
            line("b", "", "4-5", &[("memory", 4, &[0, 1])]),
            line("b", "one", "4", &[("memory", 1, &[0, 1])]),
            line("d", "one", "six", &[]),
        ];
        let shown = Shown { files: Vec::new(), containers, quarantined: BTreeMap::new() };
        let shares = shares(&shown, Some(&"core:5 pu:1".parse().unwrap()));
        let held = |pod: &PodShare| -> Vec<String> {
            let memory = pod.memory().iter();
            memory.map(|held| format!("{} {} on {}", held.resource, held.bytes >> 30, held.nodes)).collect()
        };
        let pods: Vec<_> = shares.pods.iter().map(|pod| (pod.cpus.to_string(), held(pod))).collect();
        assert_eq!(
            pods,
            [
                ("1-3".to_owned(), vec!["memory 3 on 0".to_owned(), "hugepages-1Gi 2 on 0".to_owned()]),
                ("4-5".to_owned(), vec!["memory 4 on 0-1".to_owned()])
            ]
        );
        assert_eq!(shares.notes.len(), 2, "{:?}", shares.notes);
        assert_eq!(shares.notes[0], "space/b holds CPUs 5, which are not there");
    }
}
