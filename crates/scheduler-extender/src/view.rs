//! The view: every node by name, with the pods that are on their way to it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::{Pod, PodUid, ResourceName};
use topology_admission::Node;

use crate::basis::Basis;
use crate::in_flight::InFlight;
use crate::member::{Assumed, Member, NodeState, Place, Updated};
use crate::mix::Mix;
use crate::question::Questions;
use crate::rooms::Rooms;
use crate::shape::Shape;
use crate::situation::Situations;

/// How many shapes of pods are remembered, unless [`View::remembering`] says otherwise.
const SHAPES: usize = 64;

/// All nodes of a cluster as a scheduler has to see them: what they have published, with the pods of which they do not
/// know yet.
#[derive(Debug)]
pub struct View {
    pub(crate) by_name: BTreeMap<Arc<str>, Place>,
    pub(crate) members: Vec<Member>,
    free: Vec<Place>,
    /// Where each assumed pod is.
    assumed: BTreeMap<PodUid, Place>,
    pub(crate) in_flight: InFlight,
    pub(crate) situations: Situations,
    pub(crate) questions: Questions,
    /// For which kinds of pods room is kept.
    pub(crate) mix: Mix,
    pub(crate) rooms: Rooms,
}

/// How large a view is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Nodes of which something is known.
    pub nodes: usize,
    /// States that nodes are in, of which each is decided on once; empty nodes of refused pods are counted too.
    pub situations: usize,
    /// Shapes of pods, with and without pods in flight, whose verdicts are kept.
    pub questions: usize,
    /// Verdicts that are kept.
    pub verdicts: usize,
    /// Pods that were bound to a node and that it has not published.
    pub assumed: usize,
}

impl Default for View {
    fn default() -> Self {
        Self::new()
    }
}

impl View {
    /// A view without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::remembering(SHAPES)
    }

    /// A view without nodes that keeps the verdicts on so many shapes of pods.
    #[must_use]
    pub fn remembering(shapes: usize) -> Self {
        Self {
            by_name: BTreeMap::new(),
            members: Vec::new(),
            free: Vec::new(),
            assumed: BTreeMap::new(),
            in_flight: InFlight::default(),
            situations: Situations::default(),
            questions: Questions::new(shapes),
            mix: Mix::default(),
            rooms: Rooms::default(),
        }
    }

    /// The node has published a state. Pods of which it tells (they run, were refused or have ended) are assumed no
    /// longer; those of which it does not are admitted on the new state, in the order in which they were bound. A pod of which it
    /// tells is not in flight any more either.
    pub fn update(&mut self, node: &str, state: NodeState) -> Updated {
        let place = self.place(node);
        let Some(member) = self.members.get_mut(place.0) else { return Updated::Outdated };
        let Some(known) = member.update(state) else { return Updated::Outdated };
        for pod in &known {
            self.assumed.remove(pod);
        }
        self.in_flight.end_known(|pod| member.knows(pod));
        self.enter(place);
        Updated::Applied
    }

    /// The node is gone, or what it has published is too old to be relied on. Pods that were bound to it stay assumed, for
    /// the case that it comes back.
    pub fn remove(&mut self, node: &str) {
        let Some(place) = self.by_name.get(node).copied() else { return };
        if let Some(member) = self.members.get_mut(place.0) {
            member.forget();
        }
        self.in_flight.leave(place);
        self.enter(place);
        self.forget_if_idle(place);
    }

    /// The names of those of these nodes of which something is known, shared with the view.
    pub fn known<N: AsRef<str>>(&self, nodes: impl IntoIterator<Item = N>) -> Vec<Arc<str>> {
        let known = nodes.into_iter().filter_map(|node| self.by_name.get_key_value(node.as_ref()));
        known.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// The pod passed a filter on these nodes and may soon be bound to any of them. A former offer of it ends.
    pub fn offered<N: AsRef<str>>(&mut self, pod: &Pod, nodes: impl IntoIterator<Item = N>) {
        let places = nodes.into_iter().filter_map(|node| self.by_name.get(node.as_ref()).copied());
        let places: BTreeSet<Place> = places.collect();
        self.in_flight.offer(pod.uid.clone(), Shape::of(pod), places);
    }

    /// The pod is bound to the node. Until the node tells of it, it is assumed to be there.
    pub fn bound(&mut self, pod: Arc<Pod>, node: &str) {
        self.in_flight.end(&pod.uid);
        let place = self.place(node);
        if self.assumed.get(&pod.uid).is_some_and(|at| *at != place) {
            self.unassume(&pod.uid);
        }
        let uid = pod.uid.clone();
        let Some(member) = self.members.get_mut(place.0) else { return };
        if member.assume(pod) == Assumed::New {
            self.assumed.insert(uid, place);
            self.enter(place);
        }
        self.forget_if_idle(place);
    }

    /// The pod was deleted or has ended, or it is not going to be bound after all.
    pub fn gone(&mut self, pod: &PodUid) {
        self.in_flight.end(pod);
        self.unassume(pod);
    }

    /// The pod runs on the node and is being ended: what it holds may be free at any moment, and pods that were bound may have
    /// come before or after. Other pods fit the node only if they fit in both cases.
    pub fn ending(&mut self, pod: &PodUid, node: &str) {
        let Some(place) = self.by_name.get(node).copied() else { return };
        if self.members.get_mut(place.0).is_some_and(|member| member.begin_to_end(pod)) {
            self.enter(place);
        }
    }

    /// The pod has run on the node and has ended, or its object is gone: a kubelet has let go of what it held by then, even
    /// if the state that it published last lists the pod.
    pub fn ended(&mut self, pod: &PodUid, node: &str) {
        self.gone(pod);
        let Some(place) = self.by_name.get(node).copied() else { return };
        if self.members.get_mut(place.0).is_some_and(|member| member.end(pod)) {
            self.enter(place);
        }
    }

    /// The machine and configuration of a node; `None`: its state is not known.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        match self.members.get(self.by_name.get(name)?.0)?.basis()?.as_ref() {
            Basis::Exact(exact) => Some(&exact.node),
            Basis::Approximate(_) => None,
        }
    }

    /// How many healthy devices of a resource the device plugins of a node have; 0 where its state is not known.
    #[must_use]
    pub fn plugin_devices(&self, node: &str, resource: &ResourceName) -> usize {
        let basis = self.by_name.get(node).and_then(|place| self.members.get(place.0)?.basis());
        match basis.map(AsRef::as_ref) {
            Some(Basis::Exact(exact)) => exact.ledger.inventory().healthy(resource).count(),
            Some(Basis::Approximate(_)) | None => 0,
        }
    }

    /// The pods that were offered nodes and are neither bound nor gone, in the order in which they were offered. While
    /// there are any, another pod passes a node only if it fits there with and without them; so it is worth waiting a
    /// moment for their binding.
    pub fn in_flight(&self) -> impl Iterator<Item = &PodUid> {
        self.in_flight.pods()
    }

    /// The pods that were bound to a node and that it has not published, in the order of binding.
    pub fn assumed(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let member = self.by_name.get(node).and_then(|place| self.members.get(place.0));
        member.into_iter().flat_map(Member::assumed)
    }

    /// How large it is.
    #[must_use]
    pub fn size(&self) -> Size {
        Size {
            nodes: self.members.iter().filter(|member| member.basis().is_some()).count(),
            situations: self.situations.len(),
            questions: self.questions.len(),
            verdicts: self.situations.outcomes(),
            assumed: self.assumed.len(),
        }
    }

    /// The place of a node, which gets one if it has none.
    fn place(&mut self, node: &str) -> Place {
        if let Some(place) = self.by_name.get(node) {
            return *place;
        }
        let name: Arc<str> = Arc::from(node);
        let member = Member::new(Arc::clone(&name));
        let place = self.free.pop().unwrap_or(Place(self.members.len()));
        match self.members.get_mut(place.0) {
            Some(free) => *free = member,
            None => self.members.push(member),
        }
        self.by_name.insert(name, place);
        place
    }

    /// What is known of the node has changed.
    fn enter(&mut self, place: Place) {
        self.leave_room(place);
        let Some(member) = self.members.get_mut(place.0) else { return };
        // The new one first: the old one's verdicts stay if nothing has changed.
        let after = member.basis().map(|basis| self.situations.enter(Arc::clone(basis)));
        let others = member.others().iter().map(|basis| self.situations.enter(Arc::clone(basis))).collect();
        let others = core::mem::replace(&mut member.other_situations, others);
        let before = core::mem::replace(&mut member.situation, after);
        for other in others {
            self.situations.leave(other);
        }
        if let Some(before) = before {
            self.situations.leave(before);
        }
        self.enter_room(place);
    }

    /// A pod has come to the cluster: it counts in the mix of kinds for which room is kept, each once. Pods that came lately count
    /// most; room is kept for the 16 kinds that weigh most.
    pub fn learn(&mut self, pod: &Pod) {
        self.mix.learn(pod);
    }

    /// Room is kept for these kinds of pods from now on, each as often as it says, and nothing is learnt any more. Of more than 16
    /// those count that come most often; of none, nodes are compared by how full they become.
    pub fn pin_mix(&mut self, kinds: impl IntoIterator<Item = (Pod, u32)>) {
        self.mix = self.mix.pinned(kinds);
    }

    /// The kinds of pods for which room is kept, the heaviest first: what each weighs against the others, and how many more of it
    /// fit on all nodes together. The pods have no names.
    pub fn mix(&mut self) -> Vec<(&Pod, f64, f64)> {
        self.follow_mix();
        let kinds = self.mix.pods().zip(self.mix.weights()).zip(self.rooms.places());
        let mut kinds: Vec<(&Pod, f64, f64)> =
            kinds.map(|((pod, weight), places)| (pod, *weight, places)).collect();
        kinds.sort_by(|(_, one, _), (_, other, _)| other.total_cmp(one));
        kinds
    }

    /// Counts all places anew if the mix has other kinds now.
    pub(crate) fn follow_mix(&mut self) {
        if self.rooms.follow(&self.mix) {
            self.situations.forget_room();
            for place in 0..self.members.len() {
                self.enter_room(Place(place));
            }
        }
    }

    /// The places of a node count.
    fn enter_room(&mut self, place: Place) {
        let Some(id) = self.members.get(place.0).and_then(|member| member.situation) else { return };
        let Some(situation) = self.situations.get_mut(id) else { return };
        if situation.room.is_none()
            && self.rooms.epoch() == self.mix.epoch()
            && let Basis::Exact(exact) = &*situation.basis
        {
            situation.room = self.rooms.there(&self.mix, &exact.node, &exact.ledger);
        }
        if let Some(room) = &situation.room {
            self.rooms.enter(room);
        }
    }

    /// They count no more.
    fn leave_room(&mut self, place: Place) {
        let Some(id) = self.members.get(place.0).and_then(|member| member.situation) else { return };
        if let Some(room) = self.situations.get(id).and_then(|situation| situation.room.as_ref()) {
            self.rooms.leave(room);
        }
    }

    fn unassume(&mut self, pod: &PodUid) {
        let Some(place) = self.assumed.remove(pod) else { return };
        if self.members.get_mut(place.0).is_some_and(|member| member.unassume(pod)) {
            self.enter(place);
            self.forget_if_idle(place);
        }
    }

    fn forget_if_idle(&mut self, place: Place) {
        if let Some(member) = self.members.get(place.0).filter(|member| member.is_idle())
            && self.by_name.remove(&member.name).is_some()
        {
            self.in_flight.leave(place);
            self.free.push(place);
        }
    }
}
