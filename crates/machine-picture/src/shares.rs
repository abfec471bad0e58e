//! What pods hold of a machine: exclusive CPUs, memory and devices.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cpuset::{CpuId, CpuSet};
use k8s_quantity::{Amount, Quantity};
use pod_spec::ResourceName;
use terminal_text::Glyphs;
use topology_model::{NodeId, NodeIds, PciDevice};

/// All pods that hold something of a machine, in the order in which they are listed.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    /// Each has a colour by its position.
    pub pods: Vec<PodShare>,
    /// Lines below the list of pods: what is known to be held, and by whom or where is not.
    pub notes: Vec<String>,
}

/// What a pod holds.
#[derive(Clone, Debug)]
pub struct PodShare {
    /// `NAMESPACE/NAME`, or the UID of a pod whose name is not known.
    pub name: String,
    /// Exclusive CPUs; empty for a pod that runs in the shared pool.
    pub cpus: CpuSet,
    /// Identifiers of devices by resource. A PCI function is recognised by its address.
    pub devices: BTreeMap<String, Vec<String>>,
    /// Ordinary memory first, then huge pages by size.
    memory: Vec<MemoryShare>,
}

/// Memory or huge pages on some NUMA nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryShare {
    /// `memory` or `hugepages-*`.
    pub resource: ResourceName,
    /// On all the nodes together.
    pub bytes: u64,
    /// How much lies on each of them is not known.
    pub nodes: NodeIds,
}

/// The position of a pod in [`Shares::pods`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PodIndex(pub usize);

/// Who holds a CPU or a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// No pod alone: a CPU of the shared pool, a free device.
    Nobody,
    /// One pod.
    Pod(PodIndex),
    /// Two pods or more, which no kubelet grants.
    Several,
}

impl Shares {
    fn owner(&self, holds: impl Fn(&PodShare) -> bool) -> Owner {
        let mut owners = self.pods.iter().enumerate().filter(|(_, pod)| holds(pod));
        match (owners.next(), owners.next()) {
            (None, _) => Owner::Nobody,
            (Some((at, _)), None) => Owner::Pod(PodIndex(at)),
            (Some(_), Some(_)) => Owner::Several,
        }
    }

    /// Who holds a CPU exclusively.
    pub fn of_cpu(&self, cpu: CpuId) -> Owner {
        self.owner(|pod| pod.cpus.contains(cpu))
    }

    /// Whether two pods hold the same CPU.
    pub fn has_overlaps(&self) -> bool {
        let total: usize = self.pods.iter().map(|pod| pod.cpus.len()).sum();
        let mut all = CpuSet::new();
        for pod in &self.pods {
            all |= &pod.cpus;
        }
        all.len() < total
    }

    /// Who holds a device: plugins of PCI functions name them by address.
    pub fn of_device(&self, device: &PciDevice) -> Owner {
        if self.pods.is_empty() {
            return Owner::Nobody;
        }
        let address = device.address.to_string();
        self.owner(|pod| pod.devices.values().flatten().any(|id| *id == address))
    }

    /// The pod at a position.
    pub fn pod(&self, at: PodIndex) -> Option<&PodShare> {
        self.pods.get(at.0)
    }

    /// The pods that hold memory of a node, with their memory in words: `3Gi 2×1Gi`, `4Gi on 0-1`.
    pub(crate) fn on_node(
        &self,
        node: NodeId,
        glyphs: Glyphs,
    ) -> impl Iterator<Item = (PodIndex, &PodShare, String)> {
        self.pods.iter().enumerate().filter_map(move |(at, pod)| {
            let held = pod.memory.iter().filter(|held| held.nodes.iter().any(|id| id == node));
            let held: Vec<_> = held
                .map(|held| match held.nodes.single() {
                    Some(_) => held.amount(glyphs),
                    None => format!("{} on {}", held.amount(glyphs), held.nodes),
                })
                .collect();
            (!held.is_empty()).then(|| (PodIndex(at), pod, held.join(" ")))
        })
    }
}

impl PodShare {
    /// A pod that holds nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), cpus: CpuSet::new(), devices: BTreeMap::new(), memory: Vec::new() }
    }

    /// Adds memory of one container. Memory of one kind on the same nodes is one amount; 0 bytes are left out.
    pub fn add_memory(&mut self, share: MemoryShare) {
        if share.bytes == 0 {
            return;
        }
        let is_same = |held: &&mut MemoryShare| held.resource == share.resource && held.nodes == share.nodes;
        match self.memory.iter_mut().find(is_same) {
            Some(held) => held.bytes = held.bytes.saturating_add(share.bytes),
            None => self.memory.push(share),
        }
        self.memory.sort_by(|one, other| one.rank().cmp(&other.rank()));
    }

    /// Memory and huge pages: ordinary memory first, then by resource and nodes.
    pub fn memory(&self) -> &[MemoryShare] {
        &self.memory
    }

    /// Whether the pod holds nothing.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty() && self.memory.is_empty() && self.devices.is_empty()
    }

    /// The name without its namespace.
    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit_once('/').map_or(&self.name, |(_, name)| name)
    }

    /// CPUs and memory in words: `CPUs 1-4`, `4Gi on NUMA 0`.
    pub(crate) fn parts(&self, glyphs: Glyphs) -> Vec<String> {
        let plural = if self.cpus.len() == 1 { "" } else { "s" };
        let cpus = (!self.cpus.is_empty()).then(|| format!("CPU{plural} {}", self.cpus));
        let memory = self.memory.iter();
        let memory = memory.map(|held| format!("{} on NUMA {}", held.amount(glyphs), held.nodes));
        cpus.into_iter().chain(memory).collect()
    }
}

impl MemoryShare {
    /// The order in which the memory of a pod is listed.
    fn rank(&self) -> (bool, &ResourceName, &NodeIds) {
        (self.resource.is_hugepages(), &self.resource, &self.nodes)
    }

    /// `4Gi`, `8×1Gi`.
    pub(crate) fn amount(&self, glyphs: Glyphs) -> String {
        let amount = Amount::Bytes(self.bytes);
        let Some(size) = self.resource.as_str().strip_prefix("hugepages-") else { return amount.to_string() };
        let bytes = size.parse::<Quantity>().ok().and_then(|size| u64::try_from(size.value()).ok());
        match bytes.filter(|size| *size > 0 && self.bytes.is_multiple_of(*size)) {
            Some(size) => format!("{}{}{}", self.bytes / size, glyphs.times(), Amount::Bytes(size)),
            None => format!("{amount} {}", self.resource),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::vec;

    use super::*;

    fn pod(name: &str, cpus: &str, memory: &[(&str, u64, &[i64])]) -> PodShare {
        let mut pod = PodShare::new(name);
        pod.cpus = cpus.parse().unwrap();
        for (resource, gib, nodes) in memory {
            let nodes = nodes.iter().copied().map(NodeId).collect();
            pod.add_memory(MemoryShare { resource: (*resource).into(), bytes: gib << 30, nodes });
        }
        pod
    }

    #[test]
    fn memory_adds_up_and_everything_has_an_owner() {
        let pods = vec![
            pod("a/one", "1-3", &[("hugepages-1Gi", 2, &[0]), ("memory", 1, &[0]), ("memory", 2, &[0])]),
            pod("two", "4-5", &[("memory", 4, &[0, 1]), ("hugepages-2Mi", 0, &[0])]),
            pod("three", "5-6", &[]),
        ];
        let shares = Shares { pods, notes: Vec::new() };
        assert_eq!(
            shares.pods.iter().map(|pod| pod.parts(Glyphs::Unicode).join("; ")).collect::<Vec<_>>(),
            ["CPUs 1-3; 3Gi on NUMA 0; 2×1Gi on NUMA 0", "CPUs 4-5; 4Gi on NUMA 0-1", "CPUs 5-6"]
        );
        let cpu = |id| shares.of_cpu(CpuId::new(id).unwrap());
        assert_eq!([cpu(0), cpu(3), cpu(5)], [Owner::Nobody, Owner::Pod(PodIndex(0)), Owner::Several]);
        assert!(shares.has_overlaps());
        let on_node: Vec<_> = shares
            .on_node(NodeId(0), Glyphs::Unicode)
            .map(|(_, pod, held)| (pod.short_name(), held))
            .collect();
        assert_eq!(on_node, [("one", "3Gi 2×1Gi".to_owned()), ("two", "4Gi on 0-1".to_owned())]);
    }
}
