//! The steps of an admission, replayed on copies of what the managers hold.
//!
//! Nothing here runs a slow search: walks are counted. The order is the kubelet's. For each container, or once for the pod
//! by scope:
//!
//! 1. device hints: every set of the nodes with devices of the resource;
//! 2. CPU hints: every set of the nodes with CPUs, in each of which every CPU is looked at;
//! 3. memory hints: every set of all nodes; a node that lacks a page size crashes the first set that has it;
//! 4. the merge: every combination of one hint of each list. A node id that is no bit crashes the first combination,
//!    a distance that is not in its row the first comparison that asks for it;
//! 5. allocation of devices, then of CPUs (the walk of `distribute-cpus-across-numa`, which may never end), then of memory,
//!    where sets are walked again if there is no hint (policy `none`) or the hint has too little.
//!
//! The first three are asked under every policy but `none`; a hint walk is left out where the container has
//! what it asks for and the manager answers that at once (memory), and made over what it has where it does not
//! (CPUs, devices). Under `single-numa-node` only hints of single nodes are combined.

use alloc::vec::Vec;

use cpu_manager::Granted;
use device_manager::{Devices, NotServed, Replies, Request, Sources};
use node_config::{Scope, parse_bool};
use pod_spec::{Container, ContainerKey, Pod, PodUid, ResourceName, Unit};
use topology_admission::{Admission, Detail, Ledger, Search};
use topology_hint::{Affinity, Answer, Answers, Hint};
use topology_model::NodeId;
use topology_policy::{Admit, KubeletPolicy};

use crate::fate::{Crash, Fate};
use crate::fates::{Fates, Over};
use crate::kubelet::Kubelet;
use crate::merge::{MergeEnd, combined, merge_end};
use crate::sets::{count, has_gaps, is_no_bit, lists, sets};

/// What the managers hold on the way.
pub(crate) struct Held {
    pub(crate) cpus: Option<cpu_manager::Holdings>,
    pub(crate) memory: Option<memory_manager::Holdings>,
    pub(crate) devices: device_manager::Holdings,
}

pub(crate) struct Replay<'a> {
    pub(crate) kubelet: Kubelet<'a>,
    pub(crate) devices: Devices,
    pub(crate) ledger: &'a Ledger,
    pub(crate) pod: &'a Pod,
    pub(crate) replies: &'a Replies,
    pub(crate) held: Held,
    pub(crate) fates: Fates,
}

impl<'a> Replay<'a> {
    pub(crate) fn play(&mut self, admission: Admission<'_>) -> Result<(), Over> {
        let node = self.kubelet.node;
        let rules = node.rules();
        let (pod, containers) = (self.pod, self.pod.containers.iter());
        if rules.policy == KubeletPolicy::None {
            return containers.into_iter().try_for_each(|own| self.allocate(own, Hint::NONE));
        }
        let (_, trace) = admission.trace(Detail::Answers);
        self.fates.is_cut |= trace.units.iter().any(|unit| unit.search == Search::Cut);
        let mut hints = trace.units.iter().map(|unit| unit.merged);
        let mut align = |replay: &mut Self, unit| {
            replay.merge(unit)?;
            match hints.next().flatten() {
                Some(merged) if merged.admit == Admit::Yes => Ok(merged.hint),
                _ => Err(Over),
            }
        };
        match rules.scope {
            Scope::Container => containers.into_iter().try_for_each(|own| {
                let hint = align(self, Unit::Container(pod, own))?;
                self.allocate(own, hint)
            }),
            Scope::Pod => {
                let hint = align(self, Unit::Pod(pod))?;
                let is_whole =
                    node.pod_level() == pod_spec::PodLevel::Managed && pod.has_pod_level_resources();
                if is_whole {
                    return self.allocate_whole(hint);
                }
                containers.into_iter().try_for_each(|own| self.allocate(own, hint))
            }
        }
    }

    /// The hints of every manager, and their combinations.
    fn merge(&mut self, unit: Unit<'_>) -> Result<(), Over> {
        let node = self.kubelet.node;
        let mut answers = Answers::with_storage();
        self.device_hints(unit, &mut answers)?;
        let of_devices = answers.len();
        self.cpu_hints(unit, &mut answers)?;
        let of_cpus = answers.len() - of_devices;
        if let (Some(policy), Some(held)) = (node.memory(), &self.held.memory) {
            let before = answers.len();
            let _ = policy.hints(held, unit, &mut answers);
            let is_booked = |own: &Container| held.assigned(&self.pod.uid, &own.name).is_some();
            let is_told = match unit {
                Unit::Container(_, own) => is_booked(own),
                Unit::Pod(pod) => pod.containers.iter().any(is_booked),
            };
            let mut own = answers.iter().skip(before);
            if !is_told
                && !own.any(|(_, answer)| matches!(answer, Answer::Impossible))
                && let Ok(request) = policy.asked(unit)
                // A pod that asks for nothing is not walked for; a container is.
                && (matches!(unit, Unit::Container(..)) || !request.is_empty())
            {
                self.memory_walk(&request)?;
            }
        }
        let of_memory = answers.len() - of_devices - of_cpus;
        self.combine(&answers, [of_devices, of_cpus, of_memory])
    }

    fn device_hints(&mut self, unit: Unit<'_>, answers: &mut Answers) -> Result<(), Over> {
        let inventory = self.ledger.inventory();
        self.devices.hints(inventory, &self.held.devices, unit, answers);
        for (resource, walked) in self.devices.walked(inventory, &self.held.devices, unit) {
            let ids = self.kubelet.view.nodes().iter().filter(|(index, _)| walked.contains(*index));
            if let Some((_, id)) = ids.into_iter().find(|(_, id)| is_no_bit(*id)) {
                return self.fates.ends(Fate::Crashes(Crash::NodeId(id)));
            }
            self.fates.work.devices +=
                sets(walked.len() as usize) * count(inventory.devices(&resource).count());
        }
        Ok(())
    }

    fn cpu_hints(&mut self, unit: Unit<'_>, answers: &mut Answers) -> Result<(), Over> {
        let (Some(policy), Some(held)) = (self.kubelet.node.cpus(), &self.held.cpus) else { return Ok(()) };
        let before = answers.len();
        policy.hints(held, unit, answers);
        let Some((_, Answer::Family(_) | Answer::List(_))) = answers.get(before) else { return Ok(()) };
        let table = self.kubelet.view.cpus();
        let nodes = table.nodes().filter(|(_, cpus)| !cpus.is_empty()).map(|(id, _)| id);
        let nodes: Vec<NodeId> = nodes.collect();
        if let Some(id) = nodes.iter().copied().find(|id| is_no_bit(*id)) {
            return self.fates.ends(Fate::Crashes(Crash::NodeId(id)));
        }
        self.fates.work.cpus += sets(nodes.len()) * count(table.num_cpus());
        Ok(())
    }

    /// A walk over all sets of nodes, of which the single ones come first.
    fn memory_walk(&mut self, request: &memory_manager::Request) -> Result<(), Over> {
        let memory = self.kubelet.view.node_memory();
        for node in memory {
            if is_no_bit(node.id) {
                return self.fates.ends(Fate::Crashes(Crash::NodeId(node.id)));
            }
            if let Some((resource, _)) = request.iter().find(|(resource, _)| !lists(node, resource)) {
                let (node, resource) = (node.id, resource.clone());
                return self.fates.ends(Fate::Crashes(Crash::PageSize { node, resource }));
            }
        }
        let walked = sets(memory.len());
        self.fates.work.memory += walked;
        self.fates.work.memory_nodes += walked * count(memory.len()) * count(request.len().max(1));
        Ok(())
    }

    /// `managers` has how many of the answers are of devices, CPUs and memory.
    fn combine(&mut self, answers: &Answers, managers: [usize; 3]) -> Result<(), Over> {
        let view = self.kubelet.view;
        if let Some(id) = view.nodes().ids().find(|id| is_no_bit(*id)) {
            return self.fates.ends(Fate::Crashes(Crash::NodeId(id)));
        }
        let is_single = self.kubelet.node.rules().policy == KubeletPolicy::SingleNumaNode;
        let combinations: f64 = answers.iter().map(|(_, answer)| combined(answer, view, is_single)).product();
        let closest = self.kubelet.config.topology_manager_policy_options.get("prefer-closest-numa-nodes");
        let is_closest = closest.and_then(|value| parse_bool(value)).unwrap_or(false);
        if is_closest && !is_single && has_gaps(view) {
            match merge_end(view, answers, managers) {
                MergeEnd::Merged => {}
                MergeEnd::Crashed(at) => {
                    self.fates.work.combinations += at;
                    return self.fates.ends(Fate::Crashes(Crash::Distance));
                }
                MergeEnd::Cut => self.fates.is_cut = true,
            }
        }
        self.fates.work.combinations += combinations;
        Ok(())
    }

    fn allocate(&mut self, container: &'a Container, hint: Hint) -> Result<(), Over> {
        let pod = self.pod;
        let is_active = |uid: &PodUid| *uid == pod.uid || self.ledger.has_pod(uid);
        let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
        let sources = self.ledger.sources_for(&key);
        let request =
            Request { is_active: &is_active, sources, ..Request::new(pod, container, hint.affinity) };
        let (inventory, held) = (self.ledger.inventory(), &mut self.held.devices);
        match self.devices.allocate_in(inventory, held, &request, self.replies) {
            Ok(_) => {}
            // A plugin that comes back during a restart is asked then, and what it answers is not known here.
            Err(NotServed::NeedsPlugin(_)) if sources != Sources::Ready => {}
            Err(_) => return Err(Over),
        }
        if let (Some(policy), Some(held)) = (self.kubelet.node.cpus(), &mut self.held.cpus) {
            self.fates.walked(policy.walk(held, pod, container, hint.affinity))?;
            let decision = policy.allocate_in(held, pod, container, hint.affinity);
            self.fates.is_cut |= decision.is_cut;
            let _: Granted = decision.granted.map_err(|_| Over)?;
        }
        let Some(policy) = self.kubelet.node.memory() else { return Ok(()) };
        let booked = self.held.memory.as_ref().and_then(|held| held.assigned(&pod.uid, &container.name));
        if let (None, Ok(request)) = (booked, policy.asked(Unit::Container(pod, container))) {
            self.memory_again(&request, hint)?;
        }
        let Some(held) = &mut self.held.memory else { return Ok(()) };
        let decision = policy.allocate_in(held, pod, container, hint);
        self.fates.is_cut |= decision.is_cut;
        decision.granted.map(drop).map_err(|_| Over)
    }

    fn allocate_whole(&mut self, hint: Hint) -> Result<(), Over> {
        let pod = self.pod;
        if let (Some(policy), Some(held)) = (self.kubelet.node.cpus(), &mut self.held.cpus) {
            self.fates.walked(policy.walk_of_pod(held, pod, hint.affinity))?;
            let decision = policy.allocate_pod_in(held, pod, hint.affinity);
            self.fates.is_cut |= decision.is_cut;
            decision.granted.map_err(|_| Over)?;
        }
        if let Some(policy) = self.kubelet.node.memory()
            && let Ok(request) = policy.asked(Unit::Pod(pod))
        {
            self.memory_again(&request, hint)?;
        }
        Ok(())
    }

    /// The walk over sets of nodes where memory is allocated without a hint, or with one that has too little.
    fn memory_again(&mut self, request: &memory_manager::Request, hint: Hint) -> Result<(), Over> {
        let Affinity::Nodes(mask) = hint.affinity else { return self.memory_walk(request) };
        // What the hint has is looked up node by node, too.
        let view = self.kubelet.view;
        for id in view.nodes().ids_of(mask) {
            let Some(node) = view.node_memory().iter().find(|node| node.id == id) else { continue };
            if let Some((resource, _)) = request.iter().find(|(resource, _)| !lists(node, resource)) {
                let (node, resource) = (node.id, resource.clone());
                return self.fates.ends(Fate::Crashes(Crash::PageSize { node, resource }));
            }
        }
        let Some(held) = &self.held.memory else { return Ok(()) };
        let free = |resource: &ResourceName| {
            let free = mask.iter().map(|node| held.amounts(node, resource).free);
            free.fold(0, u64::wrapping_add)
        };
        if request.iter().all(|(resource, bytes)| free(resource) >= bytes) {
            return Ok(());
        }
        self.memory_walk(request)
    }
}
