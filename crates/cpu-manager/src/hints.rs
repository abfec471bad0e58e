//! Where a unit's CPUs could come from.
//!
//! The kubelet lists every set of NUMA nodes on which enough CPUs are free. More nodes never have fewer CPUs,
//! so the answer is one open family: nodes with CPUs, all nodes of the CPUs that the pod can reuse, and enough
//! in sum. Preferred are sets as small as the *installed* CPUs allow, held or free; so there may be an answer
//! without a preferred set.

use alloc::collections::BTreeSet;

use cpuset::CpuSet;
use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, PodUid, Role, Unit};
use topology_hint::Answers;

use crate::guaranteed::Guarantee as _;
use crate::policy::NodeCpus;
use crate::{Alignment, Holdings, Static};

/// What a unit can draw on.
#[derive(Clone, Copy)]
enum Supply<'a> {
    /// CPUs that it holds already, and nothing else.
    Own(&'a CpuSet),
    /// The shared pool without reserved CPUs, and what the pod can reuse. A CPU in both counts twice, as upstream:
    /// that is possible after an init container was removed.
    Pool { shared: &'a CpuSet, reusable: Option<&'a CpuSet> },
}

/// What one NUMA node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnNode {
    /// The node.
    pub node: NodeMask,
    /// CPUs that the pod could get there now: free, or left by its finished init containers.
    pub free: usize,
    /// CPUs that the pod could get there on a node without other pods.
    pub allocatable: usize,
}

impl Static {
    /// How many exclusive CPUs `unit` is to get; `None` if it runs in a shared pool, the node's or its pod's.
    #[must_use]
    pub fn asked(&self, unit: Unit<'_>) -> Option<usize> {
        match unit {
            Unit::Container(pod, container) => self.pod_level.exclusive_cpus(pod, container).ok(),
            Unit::Pod(pod) => self.pod_level.exclusive_cpus_of_pod(pod).ok(),
        }
    }

    /// What the nodes with CPUs have for a container of `pod`, in ascending order of nodes.
    pub fn on_nodes<'a>(
        &'a self,
        held: &'a Holdings,
        pod: &PodUid,
    ) -> impl Iterator<Item = OnNode> + use<'a> {
        let supply = Supply::Pool { shared: held.shared(), reusable: held.reusable(pod) };
        self.nodes.iter().map(move |node| OnNode {
            node: node.mask,
            free: supply.on(node),
            allocatable: node.not_reserved.len(),
        })
    }

    /// The pods that hold exclusive CPUs on `node`, each once, by uid.
    #[must_use]
    pub fn holders<'a>(&self, held: &'a Holdings, node: NodeMask) -> BTreeSet<&'a PodUid> {
        let Some(node) = self.nodes.iter().find(|of| of.mask == node) else { return BTreeSet::new() };
        let containers = held.iter().map(|(pod, _, cpus)| (pod, cpus));
        let on_node = containers.chain(held.whole_pods()).filter(|(_, cpus)| !cpus.is_disjoint(&node.cpus));
        on_node.map(|(pod, _)| pod).collect()
    }

    /// The nodes of which each set must have all: those of CPUs that finished init containers of `pod` have left, which
    /// are used before others.
    #[must_use]
    pub fn required_nodes(&self, held: &Holdings, pod: &PodUid) -> NodeMask {
        Supply::Pool { shared: held.shared(), reusable: held.reusable(pod) }.must(&self.nodes)
    }

    /// Pushes the answer for `unit`: none if it gets no exclusive CPUs, impossible if it holds another number
    /// than it asks for, else a family.
    pub fn hints(&self, held: &Holdings, unit: Unit<'_>, answers: &mut Answers) {
        match unit {
            Unit::Container(pod, container) => self.container_hints(held, pod, container, answers),
            Unit::Pod(pod) => self.pod_hints(held, pod, answers),
        }
    }

    fn container_hints(&self, held: &Holdings, pod: &Pod, container: &Container, answers: &mut Answers) {
        let Ok(request) = self.pod_level.exclusive_cpus(pod, container) else { return };
        match held.assigned(&pod.uid, &container.name) {
            Some(own) if own.len() == request && held.is_resizing(&pod.uid) => {
                self.push_what_it_has(own, answers);
            }
            Some(own) if own.len() == request => self.push_family(request, Supply::Own(own), answers),
            // What it has stays; the rest can come from the shared pool.
            Some(own) if held.is_resizing(&pod.uid) => {
                let supply = Supply::Pool { shared: held.shared(), reusable: Some(own) };
                self.push_family(request, supply, answers);
            }
            Some(_) => answers.push_impossible(self.resource.clone()),
            None => {
                let supply = Supply::Pool { shared: held.shared(), reusable: held.reusable(&pod.uid) };
                self.push_family(request, supply, answers);
            }
        }
    }

    fn pod_hints(&self, held: &Holdings, pod: &Pod, answers: &mut Answers) {
        let Ok(request) = self.pod_level.exclusive_cpus_of_pod(pod) else { return };
        let is_whole = self.pod_level.allocates_whole(pod);
        if is_whole && self.pod_level.check_shared_pool(pod, request).is_err() {
            answers.push_impossible(self.resource.clone());
            return;
        }
        if held.is_resizing(&pod.uid) {
            self.pod_hints_of_running(held, pod, answers);
            return;
        }
        let mut own = CpuSet::new();
        for container in &pod.containers {
            let Some(cpus) = held.assigned(&pod.uid, &container.name) else { continue };
            let asked = self.pod_level.exclusive_cpus(pod, container).unwrap_or(0);
            if cpus.len() != asked {
                answers.push_impossible(self.resource.clone());
                return;
            }
            own |= cpus;
        }
        if own.len() == request {
            self.push_family(request, Supply::Own(&own), answers);
            return;
        }
        if let Some(reusable) = held.reusable(&pod.uid) {
            own |= reusable;
        }
        let supply = Supply::Pool { shared: held.shared(), reusable: Some(&own) };
        self.push_family(request, supply, answers);
    }

    /// Of a pod under resize. CPUs of finished init containers do not count.
    fn pod_hints_of_running(&self, held: &Holdings, pod: &Pod, answers: &mut Answers) {
        let (mut own, mut request) = (CpuSet::new(), 0);
        for container in pod.containers.iter().filter(|container| container.role != Role::Init) {
            request += self.pod_level.exclusive_cpus(pod, container).unwrap_or(0);
            own |= held.assigned(&pod.uid, &container.name).unwrap_or(&CpuSet::new());
        }
        if request == 0 {
            return;
        }
        if own.len() == request {
            self.push_what_it_has(&own, answers);
        } else {
            let supply = Supply::Pool { shared: held.shared(), reusable: Some(&own) };
            self.push_family(request, supply, answers);
        }
    }

    /// What runs and gets no more stays where it is, though fewer nodes would do after it has given CPUs back.
    fn push_what_it_has(&self, own: &CpuSet, answers: &mut Answers) {
        let size = self.preferred_size(own.len()).max(self.nodes_of(own).len());
        self.push_family_of(size, own.len(), Supply::Own(own), answers);
    }

    fn push_family(&self, request: usize, supply: Supply<'_>, answers: &mut Answers) {
        self.push_family_of(self.preferred_size(request), request, supply, answers);
    }

    /// `size`: the number of nodes of a hint that is preferred.
    fn push_family_of(&self, size: u32, request: usize, supply: Supply<'_>, answers: &mut Answers) {
        let within = self.nodes.iter().fold(NodeMask::EMPTY, |mask, node| mask | node.mask);
        let supplies = self.nodes.iter().map(|node| (node.mask, supply.on(node) as u64));
        let must = supply.must(&self.nodes);
        let mut family = answers.push_family(self.resource.clone());
        family.open(within).must(must).need(request as u64, supplies);
        match (self.options.alignment, self.nodes_per_socket) {
            (Alignment::BySocket, per_socket @ 1..) => {
                let sockets = size.div_ceil(count(per_socket));
                family.preferred_size_or_sockets(
                    size,
                    sockets,
                    self.sockets.iter().map(|socket| socket.nodes),
                );
            }
            _ => {
                family.preferred_size(size);
            }
        }
    }

    /// How many nodes hold `request` CPUs when nothing runs; all of them if none do.
    fn preferred_size(&self, request: usize) -> u32 {
        // The largest nodes first, without sorting: at most 64 nodes.
        let (mut left, mut size, mut largest) = (request, 0, NodeMask::EMPTY);
        while left > 0 {
            let rest = self.nodes.iter().filter(|node| !largest.meets(node.mask));
            let Some(node) = rest.max_by_key(|node| node.installed) else { break };
            largest |= node.mask;
            left = left.saturating_sub(node.installed);
            size += 1;
        }
        size
    }
}

impl Supply<'_> {
    fn on(self, node: &NodeCpus) -> usize {
        match self {
            Self::Own(own) => own.intersection_len(&node.cpus),
            Self::Pool { shared, reusable } => {
                shared.intersection_len(&node.not_reserved)
                    + reusable.map_or(0, |reusable| reusable.intersection_len(&node.cpus))
            }
        }
    }

    /// The nodes of reusable CPUs: a set without one of them is not considered.
    fn must(self, nodes: &[NodeCpus]) -> NodeMask {
        let Self::Pool { reusable: Some(reusable), .. } = self else { return NodeMask::EMPTY };
        let holding = nodes.iter().filter(|node| !node.cpus.is_disjoint(reusable));
        holding.fold(NodeMask::EMPTY, |mask, node| mask | node.mask)
    }
}

/// A number of nodes, of which a machine has at most 64.
fn count(nodes: usize) -> u32 {
    u32::try_from(nodes).unwrap_or(u32::MAX)
}
