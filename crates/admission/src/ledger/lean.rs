//! A ledger that takes little memory, for a process that keeps those of thousands of nodes.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use device_manager::Holdings as DeviceHoldings;
use pod_spec::{Constraints, Container, Pod, PodUid, ResourceList};

use crate::ledger::Ledger;
use crate::ledger::layered::Layered;

impl Ledger {
    /// The same to every pod that is new to it, in less than half of the memory: what a node keeps for itself is left out.
    /// That is the hints and the devices of its state file, which containers were created, and of its pods everything but
    /// UID, priority, host ports and the names of containers. What they request is known in sum and for each; which pods a
    /// kubelet would preempt for a critical one is not.
    ///
    /// Dead pods hold nothing in it, if all sources of pods have reported.
    #[must_use]
    pub fn lean(&self) -> Self {
        let mut after = self.collected();
        after.pods = after.pods.with_pods(|pod| Arc::new(lean(pod)));
        after.hints = Layered::default();
        after.created = Arc::new(BTreeMap::new());
        after.device_file = DeviceHoldings::default();
        after.version = self.version.next();
        after
    }
}

fn lean(pod: &Pod) -> Pod {
    let container = |own: &Container| Container {
        name: own.name.clone(),
        role: own.role,
        requests: ResourceList::new(),
        limits: ResourceList::new(),
    };
    Pod {
        uid: PodUid::clone(&pod.uid),
        namespace: String::new(),
        name: String::new(),
        containers: pod.containers.iter().map(container).collect(),
        resources: None,
        overhead: ResourceList::new(),
        status_qos: pod.status_qos,
        constraints: Constraints {
            host_ports: pod.constraints.host_ports.clone(),
            priority: pod.constraints.priority,
            origin: pod.constraints.origin,
            ..Constraints::default()
        },
        phase: pod.phase,
        created: pod.created,
    }
}
