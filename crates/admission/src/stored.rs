//! A node of which something was stored: what its files hold, and the pods that run on it.

use alloc::sync::Arc;

use cpu_manager::Holdings as CpuHoldings;
use device_manager::Holdings as DeviceHoldings;
use memory_manager::Stored as StoredMemory;
use node_config::Drift;
use pod_spec::Pod;

use crate::collect::Dead;
use crate::ledger::Ledger;
use crate::node::Node;
use crate::resume::ResumeError;

/// What state files hold, read and not yet checked against a node.
#[derive(Clone, Debug, Default)]
pub struct StoredHoldings {
    /// The CPU manager's; `None`: nothing was stored.
    pub cpus: Option<CpuHoldings>,
    /// The memory manager's; `None`: nothing was stored.
    pub memory: Option<StoredMemory>,
    /// The device manager's.
    pub devices: DeviceHoldings,
}

impl Node {
    /// The ledger with which this node starts that stored `stored` and runs `pods`, in the order in which they came.
    /// What others than these hold is free again with the next collection. What is stored for a manager that this
    /// node does not have is passed over.
    ///
    /// # Errors
    /// What was stored does not fit this node.
    pub fn restore(
        &self,
        stored: StoredHoldings,
        pods: impl IntoIterator<Item = Pod>,
    ) -> Result<Ledger, ResumeError> {
        let mut ledger = self.empty_ledger();
        if let (Some(policy), Some(held)) = (&self.cpus, stored.cpus) {
            ledger.cpus = Some(policy.restore(held)?);
        }
        if let (Some(policy), Some(held)) = (&self.memory, stored.memory) {
            ledger.memory = Some(self.restore_memory(policy, &held)?);
        }
        ledger.devices = stored.devices;
        ledger.store_devices();
        for pod in pods {
            let requests = self.requests(&pod);
            ledger.enter(Arc::new(pod), requests);
        }
        ledger.dead = Dead::EVERYWHERE;
        Ok(ledger)
    }

    /// The memory that was stored, on this machine as it is now.
    pub(crate) fn restore_memory(
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
