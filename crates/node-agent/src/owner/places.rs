//! Where running containers belong, and what is to be written when that changes.

use cpu_manager::ContainerId;
use numa_bitmask::NodeMask;
use pod_spec::{ContainerKey, ContainerName, PodUid};

use super::Owner;
use crate::effect::{Effect, Enforcement, Pinning};

impl Owner {
    /// Where every running container belongs.
    pub(super) fn enforcements(&self) -> Vec<Enforcement> {
        let of_pods = self.pods.values().flat_map(|record| {
            record.running.iter().map(|(id, running)| Enforcement {
                container: ContainerKey { pod: record.pod.uid.clone(), container: running.container.clone() },
                id: id.clone(),
                cgroup: running.cgroup.clone(),
                pinning: self.place(&record.pod.uid, &running.container),
            })
        });
        of_pods.collect()
    }

    /// Its own CPUs or the shared pool, and the nodes of its memory.
    fn place(&self, pod: &PodUid, container: &ContainerName) -> Pinning {
        let cpus = self.ledger.cpus().map(|held| held.assigned(pod, container).unwrap_or(held.shared()));
        let mems = self.ledger.memory().and_then(|held| {
            let own = held.nodes_of(pod, container);
            own.or_else(|| {
                let blocks = held.whole_pod(pod)?;
                let nodes = blocks.iter().fold(NodeMask::EMPTY, |nodes, block| nodes | block.nodes.mask());
                (!nodes.is_empty()).then_some(nodes)
            })
        });
        Pinning {
            // An empty set is never written.
            cpus: cpus.filter(|cpus| !cpus.is_empty()).cloned(),
            mems: mems.map(|nodes| {
                self.node.nodes().iter().filter(|(at, _)| nodes.contains(*at)).map(|(_, id)| id).collect()
            }),
        }
    }

    /// What is to be written since the last time.
    pub(super) fn place_all(&mut self) {
        let all = self.enforcements();
        let is_there = |id: &ContainerId| all.iter().any(|one| one.id == *id);
        self.places.retain(|id, _| is_there(id));
        for one in all {
            if self.places.get(&one.id) != Some(&one.pinning) {
                self.places.insert(one.id.clone(), one.pinning.clone());
                self.effects.push(Effect::Enforce(one));
            }
        }
    }
}
