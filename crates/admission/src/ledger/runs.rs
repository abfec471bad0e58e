//! What really runs, as a runtime or a node's API says, against what is booked.

use alloc::collections::BTreeSet;

use pod_spec::{ContainerKey, ContainerName, Holder, PodUid};

use crate::ledger::Ledger;

impl Ledger {
    /// The ledger of what really runs: of pods that hold something, admitted or from a state file, only those stay of
    /// which `runs` says so for some container. These keep all that they hold, since a container that has not started
    /// yet, or starts again, has what it was granted; what was handed on from finished ones is not torn apart either. `runs`
    /// is asked of pods that hold something as a whole, too. The same ledger, with its version, if nothing goes.
    ///
    /// ```
    /// # use topology_admission::Ledger;
    /// # use pod_spec::{ContainerKey, Holder};
    /// /// After the runtime has listed its containers.
    /// fn after_a_reboot(ledger: &Ledger, running: &[ContainerKey]) -> Ledger {
    ///     ledger.retain(|holder| matches!(holder, Holder::Container(container) if running.contains(container)))
    /// }
    /// ```
    #[must_use]
    pub fn retain(&self, runs: impl Fn(&Holder) -> bool) -> Self {
        let running: BTreeSet<PodUid> = self
            .holders_and_containers()
            .iter()
            .filter(|holder| runs(holder))
            .map(Holder::pod)
            .cloned()
            .collect();
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

    /// The containers of admitted pods, and all other holders.
    fn holders_and_containers(&self) -> BTreeSet<Holder> {
        let container = |pod: &PodUid, container: &ContainerName| {
            Holder::Container(ContainerKey { pod: pod.clone(), container: container.clone() })
        };
        let whole = |pod: &PodUid| Holder::Pod(pod.clone());
        let admitted = self.pods.iter().flat_map(|pod| pod.containers.iter().map(|own| pod.key(own)));
        let mut all: BTreeSet<Holder> = admitted.map(Holder::Container).collect();
        all.extend(self.devices.iter().map(|(pod, name, ..)| container(pod, name)));
        all.extend(self.others.values().flat_map(|held| held.keys().cloned()));
        if let Some(held) = &self.cpus {
            all.extend(held.iter().map(|(pod, name, _)| container(pod, name)));
            all.extend(held.whole_pods().map(|(pod, _)| whole(pod)));
        }
        if let Some(held) = &self.memory {
            all.extend(held.iter().map(|(pod, name, _)| container(pod, name)));
            all.extend(held.whole_pods().map(|(pod, _)| whole(pod)));
        }
        all
    }
}
