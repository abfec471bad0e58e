//! What every container has booked.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Container, ContainerName, Pod, PodUid, ResourceName, Role};
use smallvec::SmallVec;

use crate::books::Books;
use crate::{Amounts, Block, NodeList};

type OfPod = BTreeMap<ContainerName, Arc<[Block]>>;

/// The books of every node, the blocks of every container, and what finished init containers leave to later
/// containers of their pod. A value: cheap to clone, every change gives the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holdings {
    pub(crate) books: Arc<Books>,
    /// No pod is here without a container.
    assigned: Arc<BTreeMap<PodUid, Arc<OfPod>>>,
    /// Pods that are booked as a whole; the blocks of their containers are then only where these run.
    whole: Arc<BTreeMap<PodUid, Arc<[Block]>>>,
    reusable: Option<Arc<Reusable>>,
}

/// What of a pod's init containers its later containers may take over. Of the pod that was served last; forgotten
/// when another is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reusable {
    pod: PodUid,
    /// Bytes by exact node set and resource.
    pub(crate) amounts: Vec<(NodeMask, ResourceName, u64)>,
}

impl Holdings {
    pub(crate) fn unbooked(books: Books) -> Self {
        Self { books: Arc::new(books), assigned: Arc::default(), whole: Arc::default(), reusable: None }
    }

    /// The blocks of a container, by resource as they were booked; `None` if nothing is booked for it. An empty
    /// list is a booking of nothing.
    #[must_use]
    pub fn assigned(&self, pod: &PodUid, container: &ContainerName) -> Option<&[Block]> {
        self.assigned.get(pod)?.get(container).map(AsRef::as_ref)
    }

    /// The same, to be kept without copying them.
    pub(crate) fn shared_blocks(&self, pod: &PodUid, container: &ContainerName) -> Option<Arc<[Block]>> {
        self.assigned.get(pod)?.get(container).cloned()
    }

    /// The blocks of every container, by pod and name.
    pub fn iter(&self) -> impl Iterator<Item = (&PodUid, &ContainerName, &[Block])> {
        self.assigned
            .iter()
            .flat_map(|(pod, of)| of.iter().map(move |(name, blocks)| (pod, name, blocks.as_ref())))
    }

    /// The blocks of one pod's containers, by name.
    pub fn of_pod(&self, pod: &PodUid) -> impl Iterator<Item = (&ContainerName, &[Block])> {
        self.assigned
            .get(pod)
            .into_iter()
            .flat_map(|of| of.iter().map(|(name, blocks)| (name, blocks.as_ref())))
    }

    /// The blocks of pods that are booked as a whole, by pod.
    pub fn whole_pods(&self) -> impl Iterator<Item = (&PodUid, &[Block])> {
        self.whole.iter().map(|(pod, blocks)| (pod, blocks.as_ref()))
    }

    /// The pods that have `resource` of `node` booked, each once, by uid.
    #[must_use]
    pub fn holders(&self, node: NodeIndex, resource: &ResourceName) -> BTreeSet<&PodUid> {
        let is_there = |block: &Block| {
            block.resource == *resource && block.size > 0 && block.nodes.mask().contains(node)
        };
        let containers = self.iter().map(|(pod, _, blocks)| (pod, blocks));
        let booked = containers.chain(self.whole_pods()).filter(|(_, blocks)| blocks.iter().any(is_there));
        booked.map(|(pod, _)| pod).collect()
    }

    /// The blocks of a pod that is booked as a whole.
    #[must_use]
    pub fn whole_pod(&self, pod: &PodUid) -> Option<&[Block]> {
        self.whole.get(pod).map(AsRef::as_ref)
    }

    /// What the container's memory may come from: all nodes of its blocks. `None` if nothing is booked for it: its
    /// memory may come from anywhere.
    #[must_use]
    pub fn nodes_of(&self, pod: &PodUid, container: &ContainerName) -> Option<NodeMask> {
        let blocks = self.assigned(pod, container)?;
        let nodes = blocks.iter().fold(NodeMask::EMPTY, |nodes, block| nodes | block.nodes.mask());
        Some(nodes).filter(|nodes| !nodes.is_empty())
    }

    /// How many blocks name a node.
    #[must_use]
    pub fn assignments(&self, node: NodeIndex) -> i64 {
        self.books.node(node).map_or(0, |books| books.assignments)
    }

    /// The nodes that a node is bound to, itself included; one node if it stands alone.
    #[must_use]
    pub fn group(&self, node: NodeIndex) -> NodeList {
        self.books.node(node).map_or_else(|| NodeMask::single(node).into(), |books| books.group.clone())
    }

    /// What of a resource is booked and free on a node; zeros if it does not have it.
    #[must_use]
    pub fn amounts(&self, node: NodeIndex, resource: &ResourceName) -> Amounts {
        self.position(resource).map(|at| self.amounts_at(node, at)).unwrap_or_default()
    }

    /// The position of a resource, for who reads many nodes; `None`: no node has it.
    pub(crate) fn position(&self, resource: &ResourceName) -> Option<usize> {
        self.books.position(resource)
    }

    /// The same as [`amounts`](Self::amounts) by position.
    pub(crate) fn amounts_at(&self, node: NodeIndex, at: usize) -> Amounts {
        self.books.amounts(node, at)
    }

    /// Whether every node has the same booked, free and bound, by the same containers or by others.
    #[must_use]
    pub fn is_booked_like(&self, other: &Self) -> bool {
        self.books == other.books
    }

    /// What the pod's init containers leave to its later containers: bytes by exact node set and resource.
    pub fn reusable(&self, pod: &PodUid) -> impl Iterator<Item = (NodeMask, &ResourceName, u64)> {
        let left = self.reusable_of(pod).into_iter().flatten();
        left.map(|(mask, resource, bytes)| (*mask, resource, *bytes))
    }

    pub(crate) fn reusable_of(&self, pod: &PodUid) -> Option<&[(NodeMask, ResourceName, u64)]> {
        self.reusable.as_ref().filter(|left| left.pod == *pod).map(|left| left.amounts.as_slice())
    }

    /// The holdings without one container: what it has booked is free again. Of a pod that is booked as a whole
    /// everything stays until its last container is released. Nothing changes if nothing is booked for it.
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
        let Some(of) = self.assigned.get(pod) else { return after };
        Arc::make_mut(&mut after.assigned).remove(pod);
        match self.whole.get(pod) {
            Some(blocks) => {
                Arc::make_mut(&mut after.whole).remove(pod);
                after.unbook(blocks);
            }
            None => of.values().for_each(|blocks| after.unbook(blocks)),
        }
        after
    }

    /// The holdings when `container` starts: the ordinary init containers before it have finished and are
    /// released.
    #[must_use]
    pub fn start(&self, pod: &Pod, container: &ContainerName) -> Self {
        let mut after = self.clone();
        for earlier in earlier_init(pod, container) {
            after.give_back(&pod.uid, &earlier.name);
        }
        after
    }

    /// The holdings of those containers that `keep` says yes to; the rest is released. What becomes of dead pods.
    #[must_use]
    pub fn retain(&self, mut keep: impl FnMut(&PodUid, &ContainerName) -> bool) -> Self {
        let mut after = self.clone();
        for (pod, container, _) in self.iter().filter(|(pod, container, _)| !keep(pod, container)) {
            after.give_back(pod, container);
        }
        after
    }

    fn give_back(&mut self, pod: &PodUid, container: &ContainerName) {
        let removed = self.remove(pod, container);
        let blocks = match self.whole.get(pod) {
            Some(_) if self.assigned.contains_key(pod) => return,
            Some(_) => Arc::make_mut(&mut self.whole).remove(pod),
            None => removed,
        };
        if let Some(blocks) = blocks {
            self.unbook(&blocks);
        }
    }

    fn unbook(&mut self, blocks: &[Block]) {
        let books = self.books_mut();
        for block in blocks {
            books.give_back(block);
        }
    }

    fn remove(&mut self, pod: &PodUid, container: &ContainerName) -> Option<Arc<[Block]>> {
        self.assigned(pod, container)?;
        let assigned = Arc::make_mut(&mut self.assigned);
        let of = Arc::make_mut(assigned.get_mut(pod)?);
        let blocks = of.remove(container);
        if of.is_empty() {
            assigned.remove(pod);
        }
        blocks
    }

    pub(crate) fn books_mut(&mut self) -> &mut Books {
        Arc::make_mut(&mut self.books)
    }

    pub(crate) fn set(&mut self, pod: &PodUid, container: &ContainerName, blocks: Arc<[Block]>) {
        let of = Arc::make_mut(&mut self.assigned).entry(pod.clone()).or_default();
        Arc::make_mut(of).insert(container.clone(), blocks);
    }

    pub(crate) fn set_whole(&mut self, pod: &PodUid, blocks: Arc<[Block]>) {
        Arc::make_mut(&mut self.whole).insert(pod.clone(), blocks);
    }

    /// A container of `pod` has been served with `blocks`: init containers leave theirs to later ones, the others
    /// take from what is left. What other pods could reuse is forgotten.
    pub(crate) fn served(&mut self, pod: &PodUid, role: Role, blocks: &[Block]) {
        let mut amounts = self.reusable_of(pod).map(<[_]>::to_vec).unwrap_or_default();
        for block in blocks {
            let mask = block.nodes.mask();
            let known = amounts.iter_mut().find(|(nodes, of, _)| *nodes == mask && *of == block.resource);
            match (role, known) {
                (Role::Init, Some((_, _, left))) => *left = block.size.max(*left),
                (Role::Init, None) => amounts.push((mask, block.resource.clone(), block.size)),
                (Role::Sidecar | Role::App, Some((_, _, left))) => *left = left.saturating_sub(block.size),
                (Role::Sidecar | Role::App, None) => {}
            }
        }
        amounts.retain(|(_, _, left)| *left > 0);
        self.reusable = (!amounts.is_empty()).then(|| Arc::new(Reusable { pod: pod.clone(), amounts }));
    }

    /// Nothing on `group` is left to later containers any more.
    pub(crate) fn forget_reusable_on(&mut self, group: NodeMask) {
        let is_there = |left: &Arc<Reusable>| left.amounts.iter().any(|(mask, ..)| mask.meets(group));
        self.reusable = self.reusable.take().filter(|left| !is_there(left));
    }

    /// Takes what `container` took over off the blocks of the ordinary init containers before it, so that the
    /// blocks of a pod sum to what is booked.
    pub(crate) fn shrink_init(&mut self, pod: &Pod, container: &ContainerName, blocks: &[Block]) {
        let mut left: SmallVec<[u64; 4]> = blocks.iter().map(|block| block.size).collect();
        for earlier in earlier_init(pod, container) {
            let Some(mut own) = self.shared_blocks(&pod.uid, &earlier.name) else { continue };
            for (block, left) in blocks.iter().zip(&mut left) {
                for own in Arc::make_mut(&mut own).iter_mut().filter(|own| own.is_like(block)) {
                    let taken = own.size.min(*left);
                    own.size -= taken;
                    *left -= taken;
                }
            }
            self.set(&pod.uid, &earlier.name, own);
        }
    }
}

/// The ordinary init containers of `pod` that run before `container`.
fn earlier_init<'a>(pod: &'a Pod, container: &'a ContainerName) -> impl Iterator<Item = &'a Container> {
    let earlier = pod.containers.iter().take_while(move |earlier| earlier.name != *container);
    earlier.filter(|earlier| earlier.role == Role::Init)
}
