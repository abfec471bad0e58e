//! What every container holds.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use cpuset::CpuSet;
use pod_spec::{ContainerKey, ContainerName, PodUid, Role};
use smallvec::SmallVec;

/// By name. Most pods have one container.
type OfPod = SmallVec<[(ContainerName, CpuSet); 1]>;

/// The shared pool, the exclusive CPUs of each container, and the CPUs of finished init containers that later
/// containers of the same pod may take. A value: cheap to clone, every change gives the next one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holdings {
    shared: CpuSet,
    /// A pod is here without a container only if it was stored so.
    assigned: Arc<BTreeMap<PodUid, Arc<OfPod>>>,
    rare: Arc<Rare>,
    /// Of the pod that was served last; forgotten when another is. Never empty.
    reusable: Option<(PodUid, CpuSet)>,
    /// The pod whose containers may be served with more CPUs than they have.
    resizing: Option<PodUid>,
}

/// What was added to the CPUs of each container of a pod since its admission, in order.
type GrownOfPod = BTreeMap<ContainerName, Vec<CpuSet>>;

/// What few nodes have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Rare {
    /// What pods that are served as a whole hold; their containers' CPUs lie inside.
    pods: BTreeMap<PodUid, CpuSet>,
    /// The CPUs with which containers were admitted, where that is remembered.
    baselines: BTreeMap<PodUid, Arc<OfPod>>,
    /// What was added since. No container is here without an addition.
    grown: BTreeMap<PodUid, GrownOfPod>,
}

/// Dead containers released, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collected {
    /// The holdings of those that live.
    pub after: Holdings,
    /// Those that are gone, in the order in which they were released.
    pub released: Vec<ContainerKey>,
}

/// A CPU that containers of two pods hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TwoOwners {
    /// The two pods.
    pub pods: [PodUid; 2],
    /// What both hold.
    pub cpus: CpuSet,
}

impl Holdings {
    /// Holdings as they were stored. [`Static::restore`](crate::Static::restore) checks them.
    pub fn new(shared: CpuSet, assigned: impl IntoIterator<Item = (PodUid, ContainerName, CpuSet)>) -> Self {
        let mut held = Self { shared, ..Self::default() };
        for (pod, container, cpus) in assigned {
            held.set(&pod, &container, cpus);
        }
        held
    }

    /// The same with pods of which nothing but the name was stored. They count as pods that hold something.
    #[must_use]
    pub fn with_pods(mut self, pods: impl IntoIterator<Item = PodUid>) -> Self {
        for pod in pods {
            Arc::make_mut(&mut self.assigned).entry(pod).or_default();
        }
        self
    }

    /// The same with what pods that were served as a whole hold.
    #[must_use]
    pub fn with_whole_pods(mut self, pods: impl IntoIterator<Item = (PodUid, CpuSet)>) -> Self {
        Arc::make_mut(&mut self.rare).pods.extend(pods);
        self
    }

    /// The same with the CPUs with which containers were admitted.
    #[must_use]
    pub fn with_baselines(
        mut self,
        baselines: impl IntoIterator<Item = (PodUid, ContainerName, CpuSet)>,
    ) -> Self {
        for (pod, container, cpus) in baselines {
            self.keep_baseline(&pod, &container, &cpus);
        }
        self
    }

    /// The same with what was added to containers since, in order. The first addition is the oldest.
    #[must_use]
    pub fn with_grown(
        mut self,
        grown: impl IntoIterator<Item = (PodUid, ContainerName, Vec<CpuSet>)>,
    ) -> Self {
        for (pod, container, added) in grown {
            self.set_grown(&pod, &container, added);
        }
        self
    }

    /// What was added to the CPUs of a container since its admission, in order. The first addition is the oldest.
    #[must_use]
    pub fn grown_of(&self, pod: &PodUid, container: &ContainerName) -> &[CpuSet] {
        self.rare.grown.get(pod).and_then(|of| of.get(container)).map_or(&[], Vec::as_slice)
    }

    /// Every container to which CPUs were added, by pod and name.
    pub fn grown(&self) -> impl Iterator<Item = (&PodUid, &ContainerName, &[CpuSet])> {
        self.rare
            .grown
            .iter()
            .flat_map(|(pod, of)| of.iter().map(move |(name, added)| (pod, name, added.as_slice())))
    }

    /// The CPUs with which a container was admitted; `None` if that is not remembered.
    #[must_use]
    pub fn baseline(&self, pod: &PodUid, container: &ContainerName) -> Option<&CpuSet> {
        let of = self.rare.baselines.get(pod)?;
        of.binary_search_by(|(name, _)| name.cmp(container)).ok().map(|at| &of[at].1)
    }

    /// Every container of which the CPUs are known with which it was admitted, by pod and name.
    pub fn baselines(&self) -> impl Iterator<Item = (&PodUid, &ContainerName, &CpuSet)> {
        self.rare.baselines.iter().flat_map(|(pod, of)| of.iter().map(move |(name, cpus)| (pod, name, cpus)))
    }

    /// The shared pool: CPUs for all containers without exclusive ones. Reserved CPUs are in it, unless they
    /// are for the system alone.
    #[must_use]
    pub const fn shared(&self) -> &CpuSet {
        &self.shared
    }

    /// The CPUs of a container; `None` if it runs in the shared pool.
    #[must_use]
    pub fn assigned(&self, pod: &PodUid, container: &ContainerName) -> Option<&CpuSet> {
        let of = self.assigned.get(pod)?;
        of.binary_search_by(|(name, _)| name.cmp(container)).ok().map(|at| &of[at].1)
    }

    /// Every container with exclusive CPUs, by pod and name.
    pub fn iter(&self) -> impl Iterator<Item = (&PodUid, &ContainerName, &CpuSet)> {
        self.assigned.iter().flat_map(|(pod, of)| of.iter().map(move |(name, cpus)| (pod, name, cpus)))
    }

    /// The containers of one pod with exclusive CPUs, by name.
    pub fn of_pod(&self, pod: &PodUid) -> impl Iterator<Item = (&ContainerName, &CpuSet)> {
        self.assigned.get(pod).into_iter().flat_map(|of| of.iter().map(|(name, cpus)| (name, cpus)))
    }

    /// The CPUs of a pod that was served as a whole; those of its containers lie inside.
    #[must_use]
    pub fn whole_pod(&self, pod: &PodUid) -> Option<&CpuSet> {
        self.rare.pods.get(pod)
    }

    /// Every pod that was served as a whole, by uid.
    pub fn whole_pods(&self) -> impl Iterator<Item = (&PodUid, &CpuSet)> {
        self.rare.pods.iter()
    }

    /// Whether a state file of these holdings is one of `other`.
    #[must_use]
    pub fn is_stored_as(&self, other: &Self) -> bool {
        self.shared == other.shared && self.assigned == other.assigned && self.rare == other.rare
    }

    /// Whether no pod holds exclusive CPUs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assigned.is_empty()
    }

    /// CPUs of the pod's finished init containers that its later containers may take.
    #[must_use]
    pub fn reusable(&self, pod: &PodUid) -> Option<&CpuSet> {
        self.reusable.as_ref().filter(|(owner, _)| owner == pod).map(|(_, cpus)| cpus)
    }

    /// A CPU that two pods hold, if there is one. Containers of one pod may share: init containers leave theirs
    /// to those that follow.
    #[must_use]
    pub fn two_owners(&self) -> Option<TwoOwners> {
        let mut seen = CpuSet::new();
        for (pod, _, cpus) in self.iter() {
            if !seen.is_disjoint(cpus) {
                let other = self.iter().find(|(other, _, theirs)| *other != pod && !theirs.is_disjoint(cpus));
                if let Some((other, _, theirs)) = other {
                    return Some(TwoOwners { pods: [other.clone(), pod.clone()], cpus: theirs & cpus });
                }
            }
            seen |= cpus;
        }
        None
    }

    /// The holdings without one container. Its CPUs go back to the shared pool, except those that other containers
    /// of the same pod hold too; those of a pod that was served as a whole, all of them, with its last container.
    /// Nothing changes if it has none.
    #[must_use]
    pub fn release(&self, pod: &PodUid, container: &ContainerName) -> Self {
        let mut after = self.clone();
        after.give_back(pod, container);
        after
    }

    /// The holdings without one pod: all its containers are released.
    #[must_use]
    pub fn release_pod(&self, pod: &PodUid) -> Self {
        let mut after = self.clone();
        let Some(of) = self.assigned.get(pod).filter(|of| !of.is_empty()) else { return after };
        Arc::make_mut(&mut after.assigned).remove(pod);
        of.iter().for_each(|(container, _)| after.forget_baseline(pod, container));
        match self.whole_pod(pod) {
            Some(cpus) => {
                after.shared |= cpus;
                after.forget_whole(pod);
            }
            None => of.iter().for_each(|(_, cpus)| after.shared |= cpus),
        }
        after
    }

    /// The holdings of those containers that `keep` says yes to; the rest is released. What becomes of dead pods.
    #[must_use]
    pub fn retain(&self, keep: impl FnMut(&PodUid, &ContainerName) -> bool) -> Self {
        self.collect(keep).after
    }

    /// The same, and which containers were released in which order.
    pub fn collect(&self, mut keep: impl FnMut(&PodUid, &ContainerName) -> bool) -> Collected {
        let mut collected = Collected { after: self.clone(), released: Vec::new() };
        for (pod, container, _) in self.iter().filter(|(pod, container, _)| !keep(pod, container)) {
            collected.after.give_back(pod, container);
            collected.released.push(ContainerKey { pod: pod.clone(), container: container.clone() });
        }
        collected
    }

    /// What went back to the shared pool; `None` where that was not the question, since the pod holds it as a whole
    /// or the container had nothing.
    pub(crate) fn give_back(&mut self, pod: &PodUid, container: &ContainerName) -> Option<CpuSet> {
        let mut cpus = self.assigned(pod, container)?.clone();
        for (_, other) in self.of_pod(pod).filter(|(name, _)| *name != container) {
            cpus -= other;
        }
        self.forget_baseline(pod, container);
        let is_last = remove(Arc::make_mut(&mut self.assigned), pod, container);
        if self.rare.pods.contains_key(pod) {
            if !is_last {
                return None;
            }
            cpus = Arc::make_mut(&mut self.rare).pods.remove(pod)?;
        }
        self.shared |= &cpus;
        Some(cpus)
    }

    /// Takes `cpus` out of the shared pool for a pod as a whole.
    pub(crate) fn assign_whole(&mut self, pod: &PodUid, cpus: CpuSet) {
        self.shared -= &cpus;
        Arc::make_mut(&mut self.rare).pods.insert(pod.clone(), cpus);
    }

    /// The shared pool and everything that is held.
    pub(crate) fn accounted(&self) -> CpuSet {
        let mut all = self.held();
        all |= &self.shared;
        self.rare.pods.values().for_each(|cpus| all |= cpus);
        all
    }

    /// What containers hold.
    pub(crate) fn held(&self) -> CpuSet {
        let mut held = CpuSet::new();
        self.iter().for_each(|(_, _, cpus)| held |= cpus);
        held
    }

    /// The same with what `other` says that pods hold as a whole.
    pub(crate) fn with_whole_pods_of(mut self, other: &Self) -> Self {
        let pods = other.rare.pods.clone();
        if self.rare.pods != pods {
            Arc::make_mut(&mut self.rare).pods = pods;
        }
        self
    }

    /// Puts CPUs without a holder into the shared pool.
    pub(crate) fn give_to_shared(&mut self, cpus: &CpuSet) {
        self.shared |= cpus;
    }

    /// Puts some CPUs into the shared pool and takes others out of it.
    pub(crate) fn swap_shared(&mut self, put: &CpuSet, taken: &CpuSet) {
        self.shared |= put;
        self.shared -= taken;
    }

    /// Forgets what a pod holds as a whole.
    pub(crate) fn forget_whole(&mut self, pod: &PodUid) -> Option<CpuSet> {
        Arc::make_mut(&mut self.rare).pods.remove(pod)
    }

    /// Takes `cpus` out of the shared pool for a container.
    pub(crate) fn assign(&mut self, pod: &PodUid, container: &ContainerName, cpus: CpuSet) {
        self.shared -= &cpus;
        self.set(pod, container, cpus);
    }

    /// Says what a container holds, whatever is in the shared pool.
    pub(crate) fn set(&mut self, pod: &PodUid, container: &ContainerName, cpus: CpuSet) {
        let of = Arc::make_mut(Arc::make_mut(&mut self.assigned).entry(pod.clone()).or_default());
        match of.binary_search_by(|(name, _)| name.cmp(container)) {
            Ok(at) => of[at].1 = cpus,
            Err(at) => of.insert(at, (container.clone(), cpus)),
        }
    }

    /// Remembers the CPUs with which a container was admitted; those that are remembered stay.
    pub(crate) fn keep_baseline(&mut self, pod: &PodUid, container: &ContainerName, cpus: &CpuSet) {
        let of = Arc::make_mut(&mut self.rare).baselines.entry(pod.clone()).or_default();
        if let Err(at) = of.binary_search_by(|(name, _)| name.cmp(container)) {
            Arc::make_mut(of).insert(at, (container.clone(), cpus.clone()));
        }
    }

    fn forget_baseline(&mut self, pod: &PodUid, container: &ContainerName) {
        if self.rare.baselines.contains_key(pod) {
            remove(&mut Arc::make_mut(&mut self.rare).baselines, pod, container);
        }
        self.set_grown(pod, container, Vec::new());
    }

    /// Remembers what was added to a container.
    pub(crate) fn set_grown(&mut self, pod: &PodUid, container: &ContainerName, added: Vec<CpuSet>) {
        if added.is_empty() && !self.rare.grown.contains_key(pod) {
            return;
        }
        let grown = &mut Arc::make_mut(&mut self.rare).grown;
        let of = grown.entry(pod.clone()).or_default();
        if added.is_empty() {
            of.remove(container);
        } else {
            of.insert(container.clone(), added);
        }
        if of.is_empty() {
            grown.remove(pod);
        }
    }

    /// A container has only `stays` of its CPUs from now on. The rest goes to the shared pool, except what other
    /// containers of the pod hold too.
    pub(crate) fn give_part_back(&mut self, pod: &PodUid, container: &ContainerName, stays: CpuSet) {
        let Some(own) = self.assigned(pod, container) else { return };
        let mut given = own - &stays;
        for (_, other) in self.of_pod(pod).filter(|(name, _)| *name != container) {
            given -= other;
        }
        self.shared |= &given;
        self.set(pod, container, stays);
    }

    /// Containers of the pod may be served with more CPUs than they have, until [`Holdings::end_resize`].
    pub(crate) fn begin_resize(&mut self, pod: &PodUid) {
        self.resizing = Some(pod.clone());
        self.reusable = None;
    }

    /// No pod is under resize any more.
    pub fn end_resize(&mut self) {
        self.resizing = None;
    }

    /// Whether the pod is under resize.
    pub(crate) fn is_resizing(&self, pod: &PodUid) -> bool {
        self.resizing.as_ref() == Some(pod)
    }

    /// A container of `pod` has been served with `cpus`: init containers leave them to later ones, the others keep
    /// theirs. What other pods could reuse is forgotten.
    pub(crate) fn served(&mut self, pod: &PodUid, role: Role, cpus: &CpuSet) {
        let mut reusable = match self.reusable.take() {
            Some((owner, cpus)) if owner == *pod => cpus,
            _ => CpuSet::new(),
        };
        match role {
            Role::Init => reusable |= cpus,
            Role::Sidecar | Role::App => reusable -= cpus,
        }
        self.reusable = (!reusable.is_empty()).then(|| (pod.clone(), reusable));
    }
}

/// Takes a container out, and its pod with its last one; whether nothing is left of the pod.
fn remove(from: &mut BTreeMap<PodUid, Arc<OfPod>>, pod: &PodUid, container: &ContainerName) -> bool {
    let Some(of) = from.get_mut(pod) else { return true };
    let of = Arc::make_mut(of);
    of.retain(|(name, _)| name != container);
    let is_last = of.is_empty();
    if is_last {
        from.remove(pod);
    }
    is_last
}
