//! A node that starts: the ledger of what its files hold and of the pods that run on it.
//!
//! The kubelet and the product start the same way and differ in what they know. A kubelet knows which containers run
//! and admits every pod again, on what its files hold; the product has recorded the admitted pods, and they stay
//! admitted. [`RunningPods`] says which.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use cpu_manager::Holdings as CpuHoldings;
use device_manager::{Holdings as DeviceHoldings, Inventory};
use memory_manager::{Stored as StoredMemory, UnevenPages};
use node_config::Drift;
use pod_spec::{ContainerKey, Pod};
use thiserror::Error;

use crate::ledger::{Ledger, SourcesReady};
use crate::node::Node;

/// The contents of state files, read and not yet checked against a node.
#[derive(Clone, Debug, Default)]
pub struct StoredHoldings {
    /// The CPU manager's; `None`: there is no file.
    pub cpus: Option<CpuHoldings>,
    /// The memory manager's; `None`: there is no file.
    pub memory: Option<StoredMemory>,
    /// The device manager's.
    pub devices: DeviceHoldings,
}

/// The pods that run when a node starts, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct RunningPods {
    /// Pods that stay admitted, in the order in which they were. A kubelet has none: it admits every pod again.
    pub admitted: Vec<Arc<Pod>>,
    /// Containers that the runtime reports as running.
    pub running: BTreeSet<ContainerKey>,
    /// Whether further pods may run: until all sources have reported, nothing that is held is collected.
    pub sources: SourcesReady,
}

impl RunningPods {
    /// Exactly these pods run.
    #[must_use]
    pub fn admitted(pods: impl IntoIterator<Item = impl Into<Arc<Pod>>>) -> Self {
        Self { admitted: pods.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// The stored state does not fit the node, and the kubelet would not start. The texts are the kubelet's, where it has
/// one.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The CPU manager rejects the stored CPUs.
    #[error("start cpu manager error: {0}")]
    Cpus(#[from] cpu_manager::StateError),
    /// The memory manager rejects the stored memory.
    #[error("start memory manager error: {0}")]
    Memory(memory_manager::StateError),
    /// The memory manager crashes on the stored memory. The kubelet prints no more than that a pointer was nil.
    #[error("the memory manager crashes: {0}")]
    Crash(UnevenPages),
}

impl From<memory_manager::StateError> for RestoreError {
    fn from(error: memory_manager::StateError) -> Self {
        match error {
            memory_manager::StateError::UnevenPages(uneven) => Self::Crash(uneven),
            error => Self::Memory(error),
        }
    }
}

impl Node {
    /// The ledger with which this node starts. What `stored` holds for pods that are not in `pods` is released by the
    /// first collection after all sources have reported. Holdings of a manager that this node does not have are
    /// ignored. Hints, created containers and what init containers had handed on are forgotten, and no device plugin
    /// is connected.
    ///
    /// # Errors
    /// The stored state does not fit this node.
    pub fn restore(&self, stored: StoredHoldings, pods: RunningPods) -> Result<Ledger, RestoreError> {
        let cpus = match (&self.cpus, stored.cpus) {
            (Some(policy), Some(held)) => Some(policy.restore(held)?),
            (policy, _) => policy.as_ref().map(cpu_manager::Static::initial),
        };
        let memory = match (&self.memory, stored.memory) {
            (Some(policy), Some(held)) => Some(self.restore_memory(policy, &held)?),
            (policy, _) => policy.as_ref().map(memory_manager::Static::initial),
        };
        let ledger = Ledger::new(cpus, memory, Inventory::new(self.nodes.clone()));
        let mut ledger = ledger.start(stored.devices.started(), pods.running, pods.sources);
        for pod in pods.admitted {
            let chosen = match self.with_chosen(&pod) {
                Cow::Owned(chosen) => Some(Arc::new(chosen)),
                Cow::Borrowed(_) => None,
            };
            let pod = chosen.unwrap_or(pod);
            let requests = self.requests(&pod);
            ledger.enter(pod, requests);
        }
        ledger.settle_pods();
        Ok(ledger)
    }

    /// The contents of the files that a kubelet with this ledger has written. Its device file may be behind the ledger:
    /// it is not written when dead pods are collected.
    #[must_use]
    pub fn stored(&self, ledger: &Ledger) -> StoredHoldings {
        StoredHoldings {
            cpus: ledger.cpus().map(stored_cpus),
            memory: self.memory.as_ref().zip(ledger.memory()).map(|(policy, held)| policy.stored(held)),
            devices: ledger.device_file().clone(),
        }
    }

    /// The stored memory, on this machine as it is now.
    fn restore_memory(
        &self,
        policy: &memory_manager::Static,
        stored: &StoredMemory,
    ) -> Result<memory_manager::Holdings, memory_manager::StateError> {
        match self.options.drift {
            Drift::Refuse => policy.restore(stored),
            Drift::Absorb => Ok(policy.absorb(stored)?.held),
        }
    }
}

/// The CPUs of a state file, which does not list reusable CPUs of init containers.
fn stored_cpus(held: &CpuHoldings) -> CpuHoldings {
    let assigned = held.iter().map(|(pod, container, cpus)| (pod.clone(), container.clone(), cpus.clone()));
    let whole = held.whole_pods().map(|(pod, cpus)| (pod.clone(), cpus.clone()));
    let baselines =
        held.baselines().map(|(pod, container, cpus)| (pod.clone(), container.clone(), cpus.clone()));
    let grown = held.grown().map(|(pod, container, added)| (pod.clone(), container.clone(), added.to_vec()));
    let stored = CpuHoldings::new(held.shared().clone(), assigned).with_whole_pods(whole);
    stored.with_baselines(baselines).with_grown(grown)
}
