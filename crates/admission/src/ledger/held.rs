//! What one pod holds, for those who give it back and take it again.

use alloc::collections::BTreeSet;

use pod_spec::{Holder, PodUid, ResourceName};

use crate::ledger::Ledger;

impl Ledger {
    /// The resources of which the pod holds some; names of providers for what they have granted.
    pub(crate) fn kinds_held(&self, pod: &PodUid) -> BTreeSet<ResourceName> {
        let has_cpus = self.cpus.as_ref().is_some_and(|held| {
            held.of_pod(pod).any(|(_, cpus)| !cpus.is_empty()) || held.whole_pod(pod).is_some()
        });
        let cpus = has_cpus.then(|| ResourceName::new("cpu"));
        let devices = self.devices.of_pod(pod).map(|(_, resource, _)| resource.clone());
        let granted = self.others.iter().filter(|(_, held)| held.keys().any(|holder| holder.pod() == pod));
        let granted = granted.map(|(provider, _)| ResourceName::new(provider));
        let blocks = self.blocks_of(pod).map(|block| block.resource.clone());
        blocks.chain(cpus).chain(devices).chain(granted).collect()
    }

    /// The memory and huge pages that are booked for the pod.
    pub(crate) fn blocks_of<'a>(
        &'a self,
        pod: &'a PodUid,
    ) -> impl Iterator<Item = &'a memory_manager::Block> + 'a {
        let of_containers =
            self.memory.iter().flat_map(|held| held.of_pod(pod)).flat_map(|(_, blocks)| blocks);
        let whole = self.memory.iter().filter_map(|held| held.whole_pod(pod)).flatten();
        of_containers.chain(whole)
    }

    /// How many bytes of memory and huge pages the pod has: what is booked for it, or what it requests if that is more.
    pub(crate) fn bytes_of(&self, pod: &PodUid) -> u64 {
        let booked = self.blocks_of(pod).map(|block| block.size).fold(0, u64::saturating_add);
        let requests = self.pods.requests(pod).iter();
        let requested = requests
            .filter(|(resource, _)| resource.as_str() == "memory" || resource.is_hugepages())
            .map(|(_, amount)| u64::try_from(*amount).unwrap_or(0))
            .fold(0, u64::saturating_add);
        booked.max(requested)
    }

    /// Whether the pod holds the same in both: the same CPUs, memory on the same nodes, the same devices.
    pub(crate) fn holds_as_in(&self, other: &Self, pod: &PodUid) -> bool {
        let cpus = |ledger: &Self| {
            let held = ledger.cpus.as_ref();
            let assigned = held.into_iter().flat_map(|held| held.of_pod(pod));
            let assigned = assigned.map(|(container, cpus)| (container.clone(), cpus.clone()));
            (assigned.collect::<alloc::vec::Vec<_>>(), held.and_then(|held| held.whole_pod(pod)).cloned())
        };
        let devices = |ledger: &Self| {
            let held = ledger.devices.of_pod(pod);
            let held =
                held.map(|(container, resource, held)| (container.clone(), resource.clone(), held.devices()));
            held.collect::<alloc::vec::Vec<_>>()
        };
        let granted = |ledger: &Self| {
            let all = ledger.others.values().flatten();
            let own = all.filter(|(holder, _)| Holder::pod(holder) == pod);
            own.map(|(holder, grant)| (holder.clone(), grant.clone())).collect::<alloc::vec::Vec<_>>()
        };
        let memory = |ledger: &Self| {
            let held = ledger.memory.as_ref();
            let assigned = held.into_iter().flat_map(|held| held.of_pod(pod));
            let assigned = assigned.map(|(container, blocks)| (container.clone(), blocks.to_vec()));
            let whole = held.and_then(|held| held.whole_pod(pod)).map(<[_]>::to_vec);
            (assigned.collect::<alloc::vec::Vec<_>>(), whole)
        };
        cpus(self) == cpus(other)
            && devices(self) == devices(other)
            && memory(self) == memory(other)
            && granted(self) == granted(other)
    }
}
