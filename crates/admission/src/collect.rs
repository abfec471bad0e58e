//! What dead pods hold is collected at the kubelet's own points, and only when all sources of pods have reported.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use device_manager::Sources;
use pod_spec::ContainerKey;

use crate::ledger::{Ledger, SourcesReady};

impl Ledger {
    pub(crate) fn collect_all(&mut self) {
        self.collect_devices();
        self.collect_cpus();
        self.collect_memory();
        let providers: Vec<String> = self.others.keys().cloned().collect();
        for provider in &providers {
            self.collect_others(provider);
        }
    }

    pub(crate) fn collect_others(&mut self, provider: &str) {
        if self.sources == SourcesReady::No {
            return;
        }
        // What a pod was given as a whole is under no container.
        let is_alive = |key: &ContainerKey| {
            (key.container.as_str().is_empty() && self.pods.contains(&key.pod))
                || self.pods.runs(&key.pod, &key.container)
        };
        if self.others.get(provider).is_some_and(|held| !held.keys().all(is_alive))
            && let Some(held) = Arc::make_mut(&mut self.others).get_mut(provider)
        {
            held.retain(|key, _| is_alive(key));
        }
    }

    /// What the device manager is told of a container.
    pub(crate) fn sources_for(&self, container: &ContainerKey) -> Sources {
        match self.sources {
            SourcesReady::Yes => Sources::Ready,
            SourcesReady::No if self.was_running.contains(container) => Sources::PendingRunning,
            SourcesReady::No => Sources::PendingNotRunning,
        }
    }

    pub(crate) fn collect_devices(&mut self) {
        if self.sources == SourcesReady::Yes {
            self.devices = self.devices.retain(|pod| self.pods.contains(pod));
        }
    }

    pub(crate) fn collect_cpus(&mut self) {
        if self.sources == SourcesReady::Yes {
            let collected =
                self.cpus.as_ref().map(|held| held.retain(|pod, container| self.pods.runs(pod, container)));
            self.cpus = collected;
        }
    }

    pub(crate) fn collect_memory(&mut self) {
        if self.sources == SourcesReady::Yes {
            let collected =
                self.memory.as_ref().map(|held| held.retain(|pod, container| self.pods.runs(pod, container)));
            self.memory = collected;
        }
    }
}
