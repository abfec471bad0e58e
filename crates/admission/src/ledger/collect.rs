//! What dead pods hold is collected at the kubelet's own points, and only when all sources of pods have reported.
//!
//! Each slice knows whether a pod has gone since it was collected last: without that, every step of every attempt would
//! look at everything that is held.

use alloc::sync::Arc;

use device_manager::Sources;
use pod_spec::{ContainerKey, Holder, PodUid};

use crate::ledger::dead::{Dead, Left, Point};
use crate::ledger::{Ledger, SourcesReady};
use crate::placement::KnownMix;

impl Ledger {
    /// The pod does not run any more; what it holds stays until it is collected.
    pub(crate) fn remove_pod(&mut self, pod: &PodUid) {
        self.pods.remove(pod);
        self.dead = Dead::EVERYWHERE;
    }

    /// The same ledger, in which dead pods hold nothing.
    pub(crate) fn collected(&self) -> Self {
        let mut after = self.clone();
        after.collect_all();
        after
    }

    pub(crate) fn collect_all(&mut self) {
        for point in [Point::Devices, Point::Cpus, Point::Memory, Point::Others] {
            self.collect_at(point);
        }
    }

    /// Frees what dead pods hold in one slice, if all sources of pods have reported.
    pub(crate) fn collect_at(&mut self, point: Point) {
        match point {
            Point::Devices => self.collect_devices(),
            Point::Cpus => self.collect_cpus(),
            Point::Memory => self.collect_memory(),
            Point::Others => self.collect_others(),
        }
    }

    /// Whether a slice is to be collected now; it then is.
    fn is_due(sources: SourcesReady, slice: &mut Left) -> bool {
        let is_due = sources == SourcesReady::Yes && *slice == Left::Perhaps;
        if is_due {
            *slice = Left::Nothing;
        }
        is_due
    }

    fn collect_others(&mut self) {
        if !Self::is_due(self.sources, &mut self.dead.others) {
            return;
        }
        let is_alive = |holder: &Holder| match holder {
            Holder::Container(key) => self.pods.runs(&key.pod, &key.container),
            Holder::Pod(pod) => self.pods.contains(pod),
        };
        if self.others.values().any(|held| !held.keys().all(is_alive)) {
            for held in Arc::make_mut(&mut self.others).values_mut() {
                held.retain(|key, _| is_alive(key));
            }
        }
    }

    /// Whether all sources of pods have reported, and if not, whether the container ran before the kubelet restarted. The
    /// device manager allocates by it.
    #[must_use]
    pub fn sources_for(&self, container: &ContainerKey) -> Sources {
        match self.sources {
            SourcesReady::Yes => Sources::Ready,
            SourcesReady::No if self.was_running.contains(container) => Sources::PendingRunning,
            SourcesReady::No => Sources::PendingNotRunning,
        }
    }

    fn collect_devices(&mut self) {
        if Self::is_due(self.sources, &mut self.dead.devices) {
            self.mix = KnownMix::default();
            self.devices = self.devices.retain(|pod| self.pods.contains(pod));
        }
    }

    fn collect_cpus(&mut self) {
        if Self::is_due(self.sources, &mut self.dead.cpus)
            && let Some(held) = &mut self.cpus
        {
            self.mix = KnownMix::default();
            *held = held.retain(|pod, container| self.pods.runs(pod, container));
        }
    }

    fn collect_memory(&mut self) {
        if Self::is_due(self.sources, &mut self.dead.memory)
            && let Some(held) = &mut self.memory
        {
            self.mix = KnownMix::default();
            *held = held.retain(|pod, container| self.pods.runs(pod, container));
        }
    }
}
