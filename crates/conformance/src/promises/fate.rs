//! What becomes of a kubelet beside its answer: whether it crashes, never answers, answers late, or gives CPUs twice.
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
//! The first three are asked under every policy but `none`; a hint walk is left out where the container has what it asks
//! for and that is told at once (memory), and made over what it has where it is not (CPUs, devices). Under
//! `single-numa-node` only hints of single nodes are combined.

use std::collections::BTreeSet;

use cpu_manager::{Granted, Walk, WalkEnd};
use cpuset::CpuSet;
use device_manager::{BlockedDevices, Devices, Replies, Request};
use node_config::{KubeletConfiguration, Scope, parse_bool};
use pod_spec::{Container, Pod, PodUid, ResourceName, Unit};
use topology_admission::{Admission, Detail, Ledger, Node, SourcesReady, Verdict};
use topology_hint::{Affinity, Answer, Answers, Hint, Preference};
use topology_model::{KubeletView, NodeId, NodeMemory};
use topology_policy::{Admit, KubeletPolicy};

/// A kubelet of which something is asked.
#[derive(Clone, Copy)]
pub struct Kubelet<'a> {
    /// What it starts as.
    pub node: &'a Node,
    /// The machine.
    pub view: &'a KubeletView,
    /// What it was started with.
    pub config: &'a KubeletConfiguration,
}

/// What the kubelet walks through before it answers.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// CPUs looked at in sets of nodes.
    pub cpus: f64,
    /// Sets of nodes whose memory is summed up.
    pub memory: f64,
    /// Nodes in those sets, in sum.
    pub memory_nodes: f64,
    /// Devices looked at in sets of nodes.
    pub devices: f64,
    /// Combinations of hints.
    pub combinations: f64,
    /// Combinations and subsets of nodes that CPUs are distributed over; a lower bound where the walk was cut.
    pub shares: u64,
}

/// What happens in place of an answer, or with it.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// The process dies.
    Crashes(Crash),
    /// CPUs are handed out for ever.
    NeverAnswers,
    /// The pod is admitted, and these of its CPUs are reserved or another pod's as well.
    GivesTwice(CpuSet),
}

/// What the kubelet dies of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Crash {
    /// The id of a NUMA node is no bit of a mask of 64.
    NodeId(NodeId),
    /// A node does not list pages of a size that is asked for.
    PageSize {
        /// The node.
        node: NodeId,
        /// What is asked for.
        resource: ResourceName,
    },
    /// A row of distances has no entry for the id of a node.
    Distance,
}

/// What is known of an admission beforehand.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fates {
    /// Until the answer, or the crash, or the loop without end.
    pub work: Work,
    /// What happens in place of the answer, or with it.
    pub fate: Option<Fate>,
}

impl Work {
    /// Seconds that a kubelet takes for it on an ordinary machine, to an order of magnitude.
    pub fn seconds(&self) -> f64 {
        const CPU: f64 = 190.0;
        const MEMORY_SET: f64 = 1000.0;
        const MEMORY_NODE: f64 = 75.0;
        const DEVICE: f64 = 60.0;
        const COMBINATION: f64 = 220.0;
        const SHARE: f64 = 1500.0;
        #[expect(clippy::cast_precision_loss, reason = "at most some millions")]
        let shares = self.shares as f64;
        let nanoseconds = self.cpus * CPU
            + self.memory * MEMORY_SET
            + self.memory_nodes * MEMORY_NODE
            + self.devices * DEVICE
            + self.combinations * COMBINATION
            + shares * SHARE;
        nanoseconds / 1e9
    }
}

/// What a start of the kubelet walks through to choose reserved CPUs that are not listed. What keeps it from starting is
/// what `Node::start` says.
pub fn of_configuration(kubelet: Kubelet<'_>) -> Fates {
    let mut fates = Fates::default();
    if let Some(cpus) = kubelet.node.cpus().filter(|_| kubelet.config.reserved_cpus().is_empty()) {
        let _ = fates.walked(cpus.walk_of_reservation());
    }
    fates
}

/// What is known before `pod` is admitted on what `ledger` holds.
pub fn of_pod(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Fates {
    let ledger = ledger.collect();
    let admission = kubelet.node.admission(&ledger, pod).with(replies);
    let mut replay = Replay {
        kubelet,
        devices: Devices::new(kubelet.node.kubelet_rules(), BlockedDevices::UntilPodGoes),
        held: Held {
            cpus: ledger.cpus().cloned(),
            memory: ledger.memory().cloned(),
            devices: ledger.devices().clone(),
        },
        ledger: &ledger,
        pod,
        replies,
        fates: Fates::default(),
    };
    // A step that stops ends the admission, with a fate or a refusal.
    let _ = replay.play(admission);
    let mut fates = replay.fates;
    if fates.fate.is_none() {
        fates.fate = given_twice(kubelet, &ledger, pod, admission).map(Fate::GivesTwice);
    }
    fates
}

/// What is known of a restart before each of `pods`, in the order in which the kubelet admits them again, on the ledger
/// with which it starts. A pod that is refused holds its share until all are admitted.
pub fn of_restart(kubelet: Kubelet<'_>, ledger: &Ledger, pods: &[Pod]) -> Vec<(PodUid, Fates)> {
    let (mut ledger, mut known) = (ledger.clone(), Vec::new());
    for pod in pods {
        let fates = of_pod(kubelet, &ledger, pod, &Replies::new());
        let ends = matches!(fates.fate, Some(Fate::Crashes(_) | Fate::NeverAnswers));
        known.push((pod.uid.clone(), fates));
        if ends {
            break;
        }
        let attempt = kubelet.node.admission(&ledger, pod).attempt();
        ledger = ledger.commit(attempt).unwrap_or(ledger);
    }
    known
}

/// CPUs that the pod would be given and that are reserved, or held by others.
fn given_twice(kubelet: Kubelet<'_>, ledger: &Ledger, pod: &Pod, admission: Admission<'_>) -> Option<CpuSet> {
    let attempt = admission.attempt();
    let (policy, before, after) = (kubelet.node.cpus()?, ledger.cpus()?, attempt.after.cpus()?);
    if !matches!(attempt.verdict, Verdict::Admitted(_)) {
        return None;
    }
    let mut others = policy.reserved().clone();
    for (_, _, cpus) in before.iter().filter(|(uid, ..)| **uid != pod.uid) {
        others |= cpus;
    }
    for (_, cpus) in before.whole_pods().filter(|(uid, _)| **uid != pod.uid) {
        others |= cpus;
    }
    let mut own = after.whole_pod(&pod.uid).cloned().unwrap_or_default();
    for (_, cpus) in after.of_pod(&pod.uid) {
        own |= cpus;
    }
    let twice = &own & &others;
    (!twice.is_empty()).then_some(twice)
}

/// What the managers hold on the way.
struct Held {
    cpus: Option<cpu_manager::Holdings>,
    memory: Option<memory_manager::Holdings>,
    devices: device_manager::Holdings,
}

/// The admission is over: refused, or with a fate.
struct Over;

struct Replay<'a> {
    kubelet: Kubelet<'a>,
    devices: Devices,
    ledger: &'a Ledger,
    pod: &'a Pod,
    replies: &'a Replies,
    held: Held,
    fates: Fates,
}

impl Fates {
    fn ends(&mut self, fate: Fate) -> Result<(), Over> {
        self.fate = Some(fate);
        Err(Over)
    }

    fn walked(&mut self, walk: Walk) -> Result<(), Over> {
        self.work.shares += walk.steps;
        match walk.end {
            WalkEnd::Found => Ok(()),
            WalkEnd::Never => self.ends(Fate::NeverAnswers),
            // Slow enough to be that.
            WalkEnd::Cut => Err(Over),
        }
    }
}

impl<'a> Replay<'a> {
    fn play(&mut self, admission: Admission<'_>) -> Result<(), Over> {
        let node = self.kubelet.node;
        let rules = node.rules();
        let (pod, containers) = (self.pod, self.pod.containers.iter());
        if rules.policy == KubeletPolicy::None {
            return containers.into_iter().try_for_each(|own| self.allocate(own, Hint::NONE));
        }
        let (_, trace) = admission.trace(Detail::Short);
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
        self.cpu_hints(unit, &mut answers)?;
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
        self.combine(&answers)
    }

    fn device_hints(&mut self, unit: Unit<'_>, answers: &mut Answers) -> Result<(), Over> {
        let inventory = self.ledger.inventory();
        self.devices.hints(inventory, &self.held.devices, unit, answers);
        for (resource, answer) in answers.iter() {
            let nodes: BTreeSet<NodeId> = match answer {
                Answer::NoOpinion => continue,
                _ => inventory.devices(resource).flat_map(|device| device.topology.ids().to_vec()).collect(),
            };
            let known = nodes.into_iter().filter(|id| self.kubelet.view.nodes().index_of(*id).is_some());
            let known: Vec<NodeId> = known.collect();
            let walked = if known.is_empty() { self.kubelet.view.nodes().len() } else { known.len() };
            if !matches!(answer, Answer::Impossible)
                && let Some(id) = known.into_iter().find(|id| is_no_bit(*id))
            {
                return self.fates.ends(Fate::Crashes(Crash::NodeId(id)));
            }
            self.fates.work.devices += sets(walked) * count(inventory.devices(resource).count());
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

    fn combine(&mut self, answers: &Answers) -> Result<(), Over> {
        let view = self.kubelet.view;
        if let Some(id) = view.nodes().ids().find(|id| is_no_bit(*id)) {
            return self.fates.ends(Fate::Crashes(Crash::NodeId(id)));
        }
        let is_single = self.kubelet.node.rules().policy == KubeletPolicy::SingleNumaNode;
        let combinations: f64 = answers.iter().map(|(_, answer)| combined(answer, view, is_single)).product();
        self.fates.work.combinations += combinations;
        let closest = self.kubelet.config.topology_manager_policy_options.get("prefer-closest-numa-nodes");
        let is_closest = closest.and_then(|value| parse_bool(value)).unwrap_or(false);
        if is_closest && !is_single && has_gaps(view) {
            // Of more some are as wide as others, and have a distance that is missing.
            if combinations > MOST_COMBINATIONS || Merge::new(view, answers).crashes() {
                return self.fates.ends(Fate::Crashes(Crash::Distance));
            }
        }
        Ok(())
    }

    fn allocate(&mut self, container: &'a Container, hint: Hint) -> Result<(), Over> {
        let pod = self.pod;
        if self.ledger.sources() == SourcesReady::Yes {
            let is_active = |uid: &PodUid| *uid == pod.uid || self.ledger.has_pod(uid);
            let request = Request { is_active: &is_active, ..Request::new(pod, container, hint.affinity) };
            let (inventory, held) = (self.ledger.inventory(), &mut self.held.devices);
            self.devices.allocate_in(inventory, held, &request, self.replies).map_err(|_| Over)?;
        }
        if let (Some(policy), Some(held)) = (self.kubelet.node.cpus(), &mut self.held.cpus) {
            self.fates.walked(policy.walk(held, pod, container, hint.affinity))?;
            let decision = policy.allocate_in(held, pod, container, hint.affinity);
            let _: Granted = decision.granted.map_err(|_| Over)?;
        }
        let Some(policy) = self.kubelet.node.memory() else { return Ok(()) };
        let booked = self.held.memory.as_ref().and_then(|held| held.assigned(&pod.uid, &container.name));
        if let (None, Ok(request)) = (booked, policy.asked(Unit::Container(pod, container))) {
            self.memory_again(&request, hint)?;
        }
        let Some(held) = &mut self.held.memory else { return Ok(()) };
        policy.allocate_in(held, pod, container, hint).granted.map(drop).map_err(|_| Over)
    }

    fn allocate_whole(&mut self, hint: Hint) -> Result<(), Over> {
        let pod = self.pod;
        if let (Some(policy), Some(held)) = (self.kubelet.node.cpus(), &mut self.held.cpus) {
            self.fates.walked(policy.walk_of_pod(held, pod, hint.affinity))?;
            policy.allocate_pod_in(held, pod, hint.affinity).granted.map_err(|_| Over)?;
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

/// Up to so many combinations are compared as the kubelet does.
const MOST_COMBINATIONS: f64 = 2_000_000.0;
/// On more nodes hints are not counted one by one: the walk alone takes seconds.
const MOST_NODES: u32 = 20;

/// How many hints of a list are combined.
fn combined(answer: Answer<'_>, view: &KubeletView, is_single: bool) -> f64 {
    let is_combined = |hint: &Hint| match hint.affinity {
        _ if !is_single => true,
        Affinity::Any => hint.is_preferred(),
        Affinity::Nodes(mask) => mask.len() == 1 && hint.is_preferred(),
    };
    match answer {
        Answer::Impossible if is_single => 0.0,
        Answer::NoOpinion | Answer::Impossible => 1.0,
        Answer::List(list) => count(list.iter().filter(|listed| is_combined(&listed.hint)).count()),
        Answer::Family(family) if is_single => {
            let single = view.nodes().all().iter().filter_map(|node| family.accepts(node.into()));
            count(single.chain(family.any()).filter(|own| *own == Preference::Preferred).count())
        }
        Answer::Family(family) => {
            let within = family.within().unwrap_or_default();
            let open = if within.len() > MOST_NODES {
                sets(within.len() as usize)
            } else {
                count(within.subsets().filter(|mask| family.open_accepts(*mask)).count())
            };
            let apart = family.masks().iter().filter(|(mask, _)| !family.open_accepts(*mask)).count();
            open + count(apart + usize::from(family.any().is_some()))
        }
    }
}

/// The kubelet's merge with `prefer-closest-numa-nodes`, where a distance may be missing.
struct Merge {
    lists: Vec<Vec<(Option<u64>, bool)>>,
    all: u64,
    /// The rows by node id.
    rows: Vec<Option<Vec<u64>>>,
    best_count: u32,
    best: Option<(u64, bool)>,
    crashes: bool,
}

impl Merge {
    fn new(view: &KubeletView, answers: &Answers) -> Self {
        let nodes = view.nodes();
        let bits = |mask| nodes.ids_of(mask).fold(0, |bits, id| bits | bit(id));
        let of = |hint: Hint| (hint.affinity.nodes().map(bits), hint.is_preferred());
        let lists: Vec<Vec<(Option<u64>, bool)>> = answers
            .iter()
            .map(|(_, answer)| match answer {
                Answer::NoOpinion => vec![(None, true)],
                Answer::Impossible => vec![(None, false)],
                Answer::List(list) => list.iter().map(|listed| of(listed.hint)).collect(),
                Answer::Family(family) => {
                    let masks = family.masks().iter().map(|(mask, _)| *mask);
                    let within = masks.fold(family.within().unwrap_or_default(), |all, mask| all | mask);
                    family.listed(within).map(|listed| of(listed.hint)).collect()
                }
            })
            .collect();
        let narrowest = |list: &Vec<(Option<u64>, bool)>| {
            list.iter().filter_map(|(mask, _)| mask.map(u64::count_ones)).min().unwrap_or(0)
        };
        let mut rows = vec![None; 64];
        for node in view.node_memory() {
            if let Some(row) = usize::try_from(node.id.0).ok().and_then(|id| rows.get_mut(id)) {
                row.clone_from(&node.distances);
            }
        }
        Self {
            all: bits(nodes.all()),
            best_count: lists.iter().map(narrowest).max().unwrap_or(0),
            lists,
            rows,
            best: None,
            crashes: false,
        }
    }

    fn crashes(mut self) -> bool {
        self.descend(0, self.all, true, None);
        self.crashes
    }

    fn descend(&mut self, at: usize, mask: u64, is_preferred: bool, first: Option<u64>) {
        if self.crashes {
            return;
        }
        let Some(list) = self.lists.get(at) else {
            self.offer(mask, is_preferred);
            return;
        };
        for (own, own_preferred) in list.clone() {
            let is_same = own.is_none_or(|own| first.is_none_or(|first| own == first));
            let preferred = is_preferred && own_preferred && is_same;
            self.descend(at + 1, own.map_or(mask, |own| mask & own), preferred, first.or(own));
        }
    }

    fn offer(&mut self, mask: u64, is_preferred: bool) {
        if mask == 0 {
            return;
        }
        let Some((best, best_preferred)) = self.best else {
            self.best = Some((mask, is_preferred));
            return;
        };
        let wins = match (best_preferred, is_preferred) {
            (false, true) => true,
            (true, false) => false,
            (true, true) => self.is_closer(best, mask),
            (false, false) => {
                let (own, other, wanted) = (best.count_ones(), mask.count_ones(), self.best_count);
                if own > wanted {
                    self.is_closer(best, mask)
                } else if own == wanted {
                    other == wanted && self.is_closer(best, mask)
                } else if other > wanted {
                    false
                } else if other == wanted || other > own {
                    true
                } else {
                    other == own && self.is_closer(best, mask)
                }
            }
        };
        if wins {
            self.best = Some((mask, is_preferred));
        }
    }

    /// Whether `candidate` comes before `current`.
    fn is_closer(&mut self, current: u64, candidate: u64) -> bool {
        if current == candidate {
            return false;
        }
        if current.count_ones() != candidate.count_ones() {
            return candidate.count_ones() < current.count_ones();
        }
        let (Some(own), Some(other)) = (self.average(current), self.average(candidate)) else {
            self.crashes = true;
            return false;
        };
        other.total_cmp(&own).then(candidate.cmp(&current)).is_lt()
    }

    fn average(&self, mask: u64) -> Option<f64> {
        let nodes = || (0..64_usize).filter(|node| mask & (1 << node) != 0);
        let mut sum = 0.0;
        for from in nodes() {
            for to in nodes() {
                #[expect(clippy::cast_precision_loss, reason = "the kubelet converts each distance too")]
                let distance = *self.rows.get(from)?.as_ref()?.get(to)? as f64;
                sum += distance;
            }
        }
        Some(sum / f64::from(mask.count_ones() * mask.count_ones()))
    }
}

/// Whether a node lists that kind of memory, be it with nothing.
fn lists(node: &NodeMemory, resource: &ResourceName) -> bool {
    let mut sizes =
        node.hugepages.iter().map(|pages| k8s_quantity::hugepage_resource_name(pages.page_size_kib));
    resource.as_str() == "memory" || sizes.any(|size| size == resource.as_str())
}

/// Whether a distance may be missing: an id that is no column of a row.
fn has_gaps(view: &KubeletView) -> bool {
    let rows = || view.node_memory().iter().filter_map(|node| node.distances.as_ref());
    view.nodes().ids().any(|id| rows().any(|row| usize::try_from(id.0).is_ok_and(|id| id >= row.len())))
}

fn is_no_bit(id: NodeId) -> bool {
    !(0..64).contains(&id.0)
}

fn bit(id: NodeId) -> u64 {
    u32::try_from(id.0).ok().and_then(|id| 1_u64.checked_shl(id)).unwrap_or(0)
}

/// The number of sets of so many nodes, without the empty one.
fn sets(nodes: usize) -> f64 {
    f64::from(u32::try_from(nodes.min(1000)).unwrap_or(1000)).exp2() - 1.0
}

fn count(number: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let number = number as f64;
    number
}

#[cfg(test)]
mod tests {
    use k8s_quantity::{Format, Quantity};
    use pod_spec::{PodLevelResources, ResourceList, Role};
    use serde_json::json;
    use topology_admission::Compat;
    use topology_manifest::{Source, read_kubelet_config};
    use topology_model::{HugePages, MachineCore, MachineInfo, MachineNode};

    use super::*;

    /// Nodes with these ids of four cores of two CPUs; the first has pages of 1Gi.
    fn machine(ids: &[i64]) -> KubeletView {
        let nodes = ids.iter().zip(0..).map(|(id, at)| {
            let core = |core: i64| {
                let cpu = 8 * at + 2 * core;
                MachineCore { thread_ids: Some(vec![cpu, cpu + 1]), socket_id: at, ..MachineCore::default() }
            };
            let pages = HugePages { page_size_kib: 1 << 20, num_pages: 8 };
            MachineNode {
                id: *id,
                memory: 64 << 30,
                cores: Some((0..4).map(core).collect()),
                hugepages: (at == 0).then(|| vec![pages]),
                distances: Some(vec![10; ids.len()]),
                ..MachineNode::default()
            }
        });
        let count = i64::try_from(ids.len()).unwrap();
        KubeletView::new(&MachineInfo {
            num_cpus: 8 * count,
            num_physical_cores: 4 * count,
            num_sockets: count,
            memory_capacity: (64 << 30) * ids.len() as u64,
            topology: Some(nodes.collect()),
            hugepages: Some(vec![HugePages { page_size_kib: 1 << 20, num_pages: 8 }]),
            ..MachineInfo::default()
        })
        .unwrap()
    }

    #[track_caller]
    fn known(ids: &[i64], fields: serde_json::Value, limits: &[(&str, i64)]) -> Fates {
        let view = machine(ids);
        let mut text = fields;
        text["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
        text["kind"] = json!("KubeletConfiguration");
        text["systemReserved"] = json!({ "memory": "924Mi" });
        if text["memoryManagerPolicy"] == "Static" {
            text["reservedMemory"] = json!([{ "numaNode": ids[0], "limits": { "memory": "1Gi" } }]);
        }
        let text = text.to_string();
        let config = read_kubelet_config(&Source { name: "config", text: &text }).unwrap().config;
        let node = Node::start(&view, &config, None, Compat::KUBELET).unwrap();
        let limits: ResourceList = limits
            .iter()
            .map(|(name, amount)| ((*name).into(), Quantity::from_units(*amount, Format::BinarySi)))
            .collect();
        let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
        let pod = Pod::new("default", "pod", vec![container]).with_defaults(PodLevelResources::Count);
        let kubelet = Kubelet { node: &node, view: &view, config: &config };
        of_pod(kubelet, &node.empty_ledger(), &pod, &Replies::new())
    }

    #[test]
    fn cpus_that_are_handed_out_for_ever_are_known() {
        let fields = || {
            json!({
                "cpuManagerPolicy": "static", "reservedSystemCPUs": "0,8,16,24",
                "cpuManagerPolicyOptions": { "distribute-cpus-across-numa": "true", "full-pcpus-only": "true" },
            })
        };
        for (cpus, fate) in [(24, None), (22, Some(Fate::NeverAnswers)), (4, None)] {
            let known = known(&[0, 1, 2, 3], fields(), &[("cpu", cpus), ("memory", 1 << 30)]);
            assert_eq!(known.fate, fate, "{cpus}");
        }
    }

    #[test]
    fn crashes_are_known_by_what_is_missing() {
        let fields =
            |policy: &str| json!({ "memoryManagerPolicy": "Static", "topologyManagerPolicy": policy });
        let memory = &[("memory", 1 << 30), ("cpu", 1)][..];
        let pages = &[("memory", 1 << 30), ("cpu", 1), ("hugepages-1Gi", 1 << 30)][..];
        let page = Crash::PageSize { node: NodeId(1), resource: "hugepages-1Gi".into() };
        for policy in ["none", "restricted"] {
            assert_eq!(known(&[0, 1], fields(policy), memory).fate, None);
            assert_eq!(known(&[0, 1], fields(policy), pages).fate, Some(Fate::Crashes(page.clone())));
            let crash = Fate::Crashes(Crash::NodeId(NodeId(72)));
            assert_eq!(known(&[0, 72], fields(policy), memory).fate, Some(crash));
        }
        // Without a policy nobody makes a set of nodes.
        assert_eq!(known(&[0, 72], json!({}), memory).fate, None);
        let closest = json!({
            "memoryManagerPolicy": "Static", "topologyManagerPolicy": "best-effort",
            "topologyManagerPolicyOptions": { "prefer-closest-numa-nodes": "true" },
        });
        assert_eq!(known(&[0, 1], closest.clone(), memory).fate, None);
        assert_eq!(known(&[0, 2], closest, memory).fate, Some(Fate::Crashes(Crash::Distance)));
    }

    #[test]
    fn combinations_are_the_product_of_the_lists() {
        let fields = |policy: &str| {
            json!({
                "memoryManagerPolicy": "Static", "topologyManagerPolicy": policy,
                "cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1",
            })
        };
        let asked = &[("cpu", 4), ("memory", 1 << 30)][..];
        let of = |policy| known(&[0, 1, 2], fields(policy), asked).work;
        assert!((of("restricted").combinations - 49.0).abs() < 0.1, "{:?}", of("restricted"));
        assert!((of("single-numa-node").combinations - 9.0).abs() < 0.1, "{:?}", of("single-numa-node"));
        assert!(of("none").combinations.abs() < 0.1);
        assert!((of("none").memory - 7.0).abs() < 0.1);
    }
}
