//! What really runs, as a runtime or a node's API says, against what is booked.

use alloc::collections::BTreeSet;

use pod_spec::{ContainerKey, ContainerName, PodUid};

use crate::ledger::Ledger;

impl Ledger {
    /// The ledger of what really runs: of pods that hold something, admitted or from a state file, only those stay of
    /// which `runs` says so for some container. These keep all that they hold, since a container that has not started
    /// yet, or starts again, has what it was granted; what was handed on from finished ones is not torn apart either. Of
    /// what a pod holds as a whole the container's name is empty. The same ledger, with its version, if nothing goes.
    ///
    /// ```
    /// # use topology_admission::Ledger;
    /// # use pod_spec::ContainerKey;
    /// /// After the runtime has listed its containers.
    /// fn after_a_reboot(ledger: &Ledger, running: &[ContainerKey]) -> Ledger {
    ///     ledger.retain(|container| running.contains(container))
    /// }
    /// ```
    #[must_use]
    pub fn retain(&self, runs: impl Fn(&ContainerKey) -> bool) -> Self {
        let running: BTreeSet<PodUid> =
            self.containers().into_iter().filter(|key| runs(key)).map(|key| key.pod).collect();
        let known = self.pods.iter().map(|pod| pod.uid.clone());
        let mut gone: BTreeSet<PodUid> = self.holders().into_iter().chain(known).collect();
        gone.retain(|pod| !running.contains(pod));
        if gone.is_empty() {
            return self.clone();
        }
        let mut after = gone.iter().fold(self.clone(), |ledger, pod| ledger.without(pod));
        after.version = self.version.next();
        after.store_devices();
        after
    }

    /// The containers of admitted pods, and whatever else something is held by.
    fn containers(&self) -> BTreeSet<ContainerKey> {
        let key = |(pod, container): (&PodUid, &ContainerName)| ContainerKey {
            pod: pod.clone(),
            container: container.clone(),
        };
        let unnamed = ContainerName::new("");
        let whole = |pod: &PodUid| key((pod, &unnamed));
        let admitted = self.pods.iter().flat_map(|pod| pod.containers.iter().map(|own| pod.key(own)));
        let mut all: BTreeSet<ContainerKey> = admitted.collect();
        all.extend(self.devices.iter().map(|(pod, container, ..)| key((pod, container))));
        all.extend(self.others.values().flat_map(|held| held.keys().cloned()));
        if let Some(held) = &self.cpus {
            all.extend(held.iter().map(|(pod, container, _)| key((pod, container))));
            all.extend(held.whole_pods().map(|(pod, _)| whole(pod)));
        }
        if let Some(held) = &self.memory {
            all.extend(held.iter().map(|(pod, container, _)| key((pod, container))));
            all.extend(held.whole_pods().map(|(pod, _)| whole(pod)));
        }
        all
    }
}
