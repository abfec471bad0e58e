//! A restart of the kubelet on what it had stored: who held what stays, all else is forgotten.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use cpu_manager::Holdings as CpuHoldings;
use device_manager::Moment;
use pod_spec::ContainerKey;
use thiserror::Error;

use crate::collect::Dead;
use crate::ledger::{Ledger, SourcesReady};
use crate::node::Node;

/// What was stored does not fit the node, and the kubelet would not start. The texts are the kubelet's.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The CPU manager had another policy.
    #[error(
        "start cpu manager error: could not restore state from checkpoint: configured policy {configured:?} differs from \
         state checkpoint policy {stored:?}, please drain this node and delete the CPU manager checkpoint file \
         \"/var/lib/kubelet/cpu_manager_state\" before restarting Kubelet"
    )]
    OtherCpuPolicy {
        /// The policy of now.
        configured: &'static str,
        /// The policy of then.
        stored: &'static str,
    },
    /// The memory manager had another policy.
    #[error(
        "start memory manager error: could not restore state from checkpoint: [memorymanager] configured policy \
         {configured:?} differs from state checkpoint policy {stored:?}, please drain this node and delete the memory \
         manager checkpoint file \"/var/lib/kubelet/memory_manager_state\" before restarting Kubelet"
    )]
    OtherMemoryPolicy {
        /// The policy of now.
        configured: &'static str,
        /// The policy of then.
        stored: &'static str,
    },
    /// The CPUs that were stored.
    #[error("start cpu manager error: {0}")]
    Cpus(#[from] cpu_manager::StateError),
    /// The memory that was stored.
    #[error("start memory manager error: {0}")]
    Memory(#[from] memory_manager::StateError),
}

impl Node {
    /// The ledger with which this node starts where `before` made what `ledger` holds: the same node, or one with
    /// another configuration.
    ///
    /// No pod is admitted and no source of pods is ready; `running` are the containers that the runtime reports.
    /// What init containers had handed on, hints and created containers are forgotten, and device plugins are gone
    /// until they register again, from `now` on.
    ///
    /// # Errors
    /// What was stored does not fit this node.
    pub fn resume(
        &self,
        before: &Self,
        ledger: &Ledger,
        running: BTreeSet<ContainerKey>,
        now: Moment,
    ) -> Result<Ledger, ResumeError> {
        let mut after = self.empty_ledger();
        after.cpus = self.resume_cpus(ledger)?;
        after.memory = self.resume_memory(before, ledger)?;
        after.devices = ledger.device_file.started();
        after.dead = Dead::EVERYWHERE;
        after.store_devices();
        for resource in ledger.inventory.registered() {
            after.inventory.remember(resource, now);
        }
        after.version = ledger.version.next();
        after.sources = SourcesReady::No;
        after.was_running = Arc::new(running);
        Ok(after)
    }

    fn resume_cpus(&self, ledger: &Ledger) -> Result<Option<CpuHoldings>, ResumeError> {
        match (&self.cpus, &ledger.cpus) {
            (None, None) => Ok(None),
            (Some(policy), Some(held)) => Ok(Some(policy.restore(stored_cpus(held))?)),
            (configured, stored) => {
                let name = |is_static| if is_static { "static" } else { "none" };
                let (configured, stored) = (name(configured.is_some()), name(stored.is_some()));
                Err(ResumeError::OtherCpuPolicy { configured, stored })
            }
        }
    }

    fn resume_memory(
        &self,
        before: &Self,
        ledger: &Ledger,
    ) -> Result<Option<memory_manager::Holdings>, ResumeError> {
        match (&self.memory, before.memory.as_ref().zip(ledger.memory.as_ref())) {
            (None, None) => Ok(None),
            (Some(policy), Some((before, held))) => {
                Ok(Some(self.restore_memory(policy, &before.stored(held))?))
            }
            (configured, stored) => {
                let name = |is_static| if is_static { "Static" } else { "None" };
                let (configured, stored) = (name(configured.is_some()), name(stored.is_some()));
                Err(ResumeError::OtherMemoryPolicy { configured, stored })
            }
        }
    }
}

/// What a state file has of CPUs: nothing of what was to be reused.
fn stored_cpus(held: &CpuHoldings) -> CpuHoldings {
    let assigned = held.iter().map(|(pod, container, cpus)| (pod.clone(), container.clone(), cpus.clone()));
    let whole = held.whole_pods().map(|(pod, cpus)| (pod.clone(), cpus.clone()));
    CpuHoldings::new(held.shared().clone(), assigned).with_whole_pods(whole)
}
