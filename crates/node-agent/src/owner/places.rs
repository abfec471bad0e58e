//! Where running containers belong, and what is to be written when that changes.

use cpu_manager::ContainerId;
use node_state::Record;
use pod_spec::{ContainerKey, ContainerName};

use super::Owner;
use super::order::in_order;
use crate::effect::Effect;
use crate::enforcement::{Enforcement, Limits, Pinning};

impl Owner {
    /// Where every running container belongs.
    pub(super) fn enforcements(&self) -> Vec<Enforcement> {
        let of_pods = self.pods.values().flat_map(|record| {
            record.running.iter().map(|(id, running)| Enforcement {
                container: ContainerKey { pod: record.pod.uid.clone(), container: running.container.clone() },
                id: id.clone(),
                cgroup: running.cgroup.clone(),
                pinning: self.pinning(record, &running.container),
            })
        });
        of_pods.collect()
    }

    /// Where a container of a pod belongs.
    fn pinning(&self, record: &Record, container: &ContainerName) -> Pinning {
        let pinning = Pinning::new(&self.node, &self.ledger, &record.pod.uid, container);
        let resized = record.resized.then(|| record.pod.container(container)).flatten();
        Pinning { limits: resized.map(Limits::of), ..pinning }
    }

    /// What is to be written since the last time.
    pub(super) fn place_all(&mut self) {
        let all = self.enforcements();
        let is_there = |id: &ContainerId| all.iter().any(|one| one.id == *id);
        self.places.retain(|id, _| is_there(id));
        let wanted = all.into_iter().filter(|one| self.places.get(&one.id) != Some(&one.pinning)).collect();
        let pool = self.ledger.cpus().map(|held| held.shared().clone()).unwrap_or_default();
        for one in in_order(&self.places, &pool, wanted) {
            self.places.insert(one.id.clone(), one.pinning.clone());
            self.effects.push(Effect::Enforce(one));
        }
    }
}
