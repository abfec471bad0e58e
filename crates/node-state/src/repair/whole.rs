//! Whether a pod holds all that it requests.

use pod_spec::{Pod, QosClass, Role, Unit};
use topology_admission::Node;

use super::RepairPlan;
use super::doubt::{Count, count, is_device, is_full};
use crate::grants::Cpus;

impl RepairPlan {
    /// Whether the node starts with all that the manifest requests of exclusive CPUs, memory and devices. `false` where
    /// the manifest does not say, as for pods with resources at pod level.
    #[must_use]
    pub fn is_whole(&self, node: &Node, manifest: &Pod) -> bool {
        let manifest = &*node.with_chosen(manifest);
        is_full(manifest)
            && !manifest.has_pod_level_resources()
            && self.has_cpus(node, manifest)
            && self.has_memory(node, manifest)
            && self.has_devices(manifest)
    }

    fn has_cpus(&self, node: &Node, manifest: &Pod) -> bool {
        let Some(policy) = node.cpus() else { return true };
        let held = self.start.stored.cpus.iter().flat_map(|held| held.of_pod(&manifest.uid));
        let containers = held.map(|(name, cpus)| (name.clone(), cpus.clone())).collect();
        count(policy, manifest, &Cpus { containers, whole: None }) == Count::AsRequested
    }

    fn has_memory(&self, node: &Node, manifest: &Pod) -> bool {
        let Some(policy) = node.memory() else { return true };
        if manifest.qos_class(node.pod_rules()) != QosClass::Guaranteed {
            return true;
        }
        let stored = self.start.stored.memory.as_ref();
        let of_pod = stored.and_then(|stored| stored.entries.get(&manifest.uid));
        // The memory of an init container is handed on.
        let mut staying = manifest.containers.iter().filter(|container| container.role != Role::Init);
        staying.all(|container| {
            let Ok(request) = policy.asked(Unit::Container(manifest, container)) else { return false };
            request.iter().all(|(resource, bytes)| {
                let blocks = of_pod.and_then(|of_pod| of_pod.get(&container.name)).into_iter().flatten();
                let held = blocks.filter(|block| block.resource == *resource).map(|block| block.size);
                held.sum::<u64>() == bytes
            })
        })
    }

    fn has_devices(&self, manifest: &Pod) -> bool {
        let devices = &self.start.stored.devices;
        manifest.containers.iter().filter(|container| container.role != Role::Init).all(|container| {
            let asked = container.limits.iter().filter(|(resource, _)| is_device(resource));
            asked.into_iter().all(|(resource, amount)| {
                let held = devices.held(&manifest.uid, &container.name, resource);
                let held = held.map_or(0, |held| held.devices().len());
                i64::try_from(held).is_ok_and(|held| held == amount.value())
            })
        })
    }
}
