//! Who holds what of a machine, pod by pod: exclusive CPUs, memory and devices, as a kubelet's files say.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use k8s_quantity::Quantity;
use pod_spec::ResourceName;
use topology_model::{Machine, NodeId, PciDevice};

use crate::render::{Amount, Glyphs, ranges};
use crate::state::{ContainerLine, Shown};

/// All pods that hold something, by name; and what is not shown with any of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    pub(crate) pods: Vec<PodShare>,
    /// What the files say that cannot be, on this machine.
    pub(crate) notes: Vec<String>,
}

/// What a pod holds.
#[derive(Clone, Debug)]
pub(crate) struct PodShare {
    /// `NAMESPACE/NAME`, or the UID where the name is not known.
    pub(crate) name: String,
    /// Exclusive CPUs.
    pub(crate) cpus: CpuSet,
    pub(crate) memory: Vec<MemoryShare>,
    /// Identifiers by resource.
    pub(crate) devices: BTreeMap<String, Vec<String>>,
}

/// Memory or huge pages, somewhere on some nodes.
#[derive(Clone, Debug)]
pub(crate) struct MemoryShare {
    resource: ResourceName,
    bytes: u64,
    nodes: Vec<i64>,
}

/// A pod by its place in [`Shares::pods`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PodIndex(pub(crate) usize);

/// Whose something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// Nobody's alone: a CPU of the shared pool, a free device.
    Nobody,
    Pod(PodIndex),
    /// Two pods have it, which no kubelet does.
    Several,
}

impl Shares {
    /// What the files of a kubelet say of this machine.
    pub(crate) fn new(shown: &Shown, machine: Option<&Machine>) -> Self {
        let unreadable = shown.files.iter().filter(|line| !line.readable);
        let mut notes: Vec<_> = unreadable.map(|line| format!("{} {}", line.file, line.contents)).collect();
        let same_pod = |one: &ContainerLine, other: &ContainerLine| one.uid == other.uid;
        let mut pods = Vec::new();
        for containers in shown.containers.chunk_by(same_pod) {
            let pod = PodShare::new(containers, &mut notes);
            let missing = machine.map_or_else(CpuSet::new, |machine| &pod.cpus - machine.online());
            if !missing.is_empty() {
                notes.push(format!("{} holds CPUs {missing}, which are not there", pod.name));
            }
            if !(pod.cpus.is_empty() && pod.memory.is_empty() && pod.devices.is_empty()) {
                pods.push(pod);
            }
        }
        Self { pods, notes }
    }

    fn owner(&self, holds: impl Fn(&PodShare) -> bool) -> Owner {
        let mut owners = self.pods.iter().enumerate().filter(|(_, pod)| holds(pod));
        match (owners.next(), owners.next()) {
            (None, _) => Owner::Nobody,
            (Some((at, _)), None) => Owner::Pod(PodIndex(at)),
            (Some(_), Some(_)) => Owner::Several,
        }
    }

    pub(crate) fn of_cpu(&self, cpu: CpuId) -> Owner {
        self.owner(|pod| pod.cpus.contains(cpu))
    }

    /// Whether two pods have the same CPU.
    pub(crate) fn has_overlaps(&self) -> bool {
        let total: usize = self.pods.iter().map(|pod| pod.cpus.len()).sum();
        let mut all = CpuSet::new();
        for pod in &self.pods {
            all |= &pod.cpus;
        }
        all.len() < total
    }

    /// By its address, which is what plugins of PCI functions call it.
    pub(crate) fn of_device(&self, device: &PciDevice) -> Owner {
        if self.pods.is_empty() {
            return Owner::Nobody;
        }
        let address = device.address.to_string();
        self.owner(|pod| pod.devices.values().flatten().any(|id| *id == address))
    }

    pub(crate) fn pod(&self, at: PodIndex) -> Option<&PodShare> {
        self.pods.get(at.0)
    }

    /// The pods that hold memory of a node, with what of it.
    pub(crate) fn on_node(
        &self,
        node: NodeId,
        glyphs: Glyphs,
    ) -> impl Iterator<Item = (PodIndex, &PodShare, String)> {
        self.pods.iter().enumerate().filter_map(move |(at, pod)| {
            let held = pod.memory.iter().filter(|held| held.nodes.contains(&node.0));
            let held: Vec<_> = held
                .map(|held| match held.nodes.as_slice() {
                    [_] => held.amount(glyphs),
                    nodes => format!("{} on {}", held.amount(glyphs), ranges(nodes.iter().copied())),
                })
                .collect();
            (!held.is_empty()).then(|| (PodIndex(at), pod, held.join(" ")))
        })
    }
}

impl PodShare {
    fn new(containers: &[ContainerLine], notes: &mut Vec<String>) -> Self {
        let name = containers.first().map_or_else(String::new, |line| line.pod.clone());
        let mut pod = Self { name, cpus: CpuSet::new(), memory: Vec::new(), devices: BTreeMap::new() };
        // What containers have of what their pod holds as a whole is the pod's.
        let has_whole =
            containers.iter().any(|line| line.container.is_empty() && !line.held.memory.is_empty());
        for line in containers {
            match line.held.cpus.parse::<CpuSet>() {
                Ok(cpus) => pod.cpus |= &cpus,
                Err(error) => notes.push(format!("{} {}: {error}", pod.name, line.container)),
            }
            if line.container.is_empty() || !has_whole {
                pod.memory.extend(line.held.memory.iter().filter(|held| held.bytes > 0).map(|held| {
                    MemoryShare {
                        resource: ResourceName::new(&held.resource),
                        bytes: held.bytes,
                        nodes: held.nodes.clone(),
                    }
                }));
            }
            for held in line.held.devices.iter().filter(|held| !held.ids.is_empty()) {
                pod.devices.entry(held.resource.clone()).or_default().extend(held.ids.iter().cloned());
            }
        }
        pod.add_up();
        pod
    }

    /// Memory of several containers on the same nodes is one amount.
    fn add_up(&mut self) {
        let mut sums: BTreeMap<(ResourceName, Vec<i64>), u64> = BTreeMap::new();
        for held in self.memory.drain(..) {
            let sum = sums.entry((held.resource, held.nodes)).or_default();
            *sum = sum.saturating_add(held.bytes);
        }
        let sums = sums.into_iter().map(|((resource, nodes), bytes)| MemoryShare { resource, bytes, nodes });
        self.memory.extend(sums);
        // Ordinary memory first, as a node's own size is told.
        self.memory.sort_by_key(|held| held.resource.is_hugepages());
    }

    /// The name without its namespace.
    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit_once('/').map_or(&self.name, |(_, name)| name)
    }

    /// All that it holds but devices, in parts: `CPUs 1-4`, `4Gi on NUMA 0`.
    pub(crate) fn told(&self, glyphs: Glyphs) -> Vec<String> {
        let plural = if self.cpus.len() == 1 { "" } else { "s" };
        let cpus = (!self.cpus.is_empty()).then(|| format!("CPU{plural} {}", self.cpus));
        let memory = self.memory.iter();
        let memory = memory
            .map(|held| format!("{} on NUMA {}", held.amount(glyphs), ranges(held.nodes.iter().copied())));
        cpus.into_iter().chain(memory).collect()
    }
}

impl MemoryShare {
    /// `4Gi`, `8×1Gi`.
    fn amount(&self, glyphs: Glyphs) -> String {
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
    use topology_model::NodeId;

    use super::*;
    use crate::state::{Held, MemoryHeld};

    fn line(pod: &str, container: &str, cpus: &str, memory: &[(&str, u64, &[i64])]) -> ContainerLine {
        let memory = memory.iter().map(|(resource, gib, nodes)| MemoryHeld {
            resource: (*resource).to_owned(),
            bytes: gib << 30,
            nodes: nodes.to_vec(),
        });
        ContainerLine {
            pod: format!("space/{pod}"),
            uid: pod.to_owned(),
            container: container.to_owned(),
            held: Held { cpus: cpus.to_owned(), memory: memory.collect(), devices: Vec::new() },
        }
    }

    #[test]
    fn containers_of_a_pod_add_up_and_what_cannot_be_is_told() {
        let containers = vec![
            line("a", "one", "1-2", &[("memory", 1, &[0]), ("hugepages-1Gi", 2, &[0])]),
            line("a", "two", "3", &[("memory", 2, &[0])]),
            // The container has a part of what its pod has.
            line("b", "", "4-5", &[("memory", 4, &[0, 1])]),
            line("b", "one", "4", &[("memory", 1, &[0, 1])]),
            line("c", "one", "5-6", &[]),
            line("d", "one", "six", &[]),
        ];
        let shares =
            Shares::new(&Shown { files: Vec::new(), containers, quarantined: BTreeMap::new() }, None);
        assert_eq!(
            shares.pods.iter().map(|pod| pod.told(Glyphs::Unicode).join("; ")).collect::<Vec<_>>(),
            ["CPUs 1-3; 3Gi on NUMA 0; 2×1Gi on NUMA 0", "CPUs 4-5; 4Gi on NUMA 0-1", "CPUs 5-6"]
        );
        let cpu = |id| shares.of_cpu(CpuId::new(id).unwrap());
        assert_eq!([cpu(0), cpu(3), cpu(5)], [Owner::Nobody, Owner::Pod(PodIndex(0)), Owner::Several]);
        let on_node: Vec<_> = shares
            .on_node(NodeId(0), Glyphs::Unicode)
            .map(|(_, pod, held)| (pod.short_name(), held))
            .collect();
        assert_eq!(on_node, [("a", "3Gi 2×1Gi".to_owned()), ("b", "4Gi on 0-1".to_owned())]);
        assert_eq!(shares.notes.len(), 1, "{:?}", shares.notes);
    }
}
