//! One node of the view: what was published of it, and the pods that it has not published yet.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::{Pod, PodUid};
use topology_admission::{Ledger, Node};

use crate::basis::{Basis, Exact};
use crate::order::{Order, Orders};
use crate::situation::SituationId;
use crate::zones::Zones;

/// Counts the states that a node has published: of two, the greater is the later one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct StateVersion {
    /// Which run of the publisher: it counts from the beginning when it starts again. For example the time of its start.
    pub run: u64,
    /// The number of the change in that run.
    pub change: u64,
}

/// What a node, or another program for it, has published.
#[derive(Clone, Debug)]
pub struct NodeState {
    /// Which state it is.
    pub version: StateVersion,
    /// What it says of the node.
    pub facts: NodeFacts,
    /// Pods of which the node knows besides those that it runs: those that it has refused and those that have ended. With
    /// [`NodeFacts::Approximate`] those that the amounts count, too.
    pub told: BTreeSet<PodUid>,
}

/// What is known of a node.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "it is handed over once, and most are of the large kind")]
pub enum NodeFacts {
    /// The node's own state, by which its kubelet decides.
    Exact {
        /// The machine with its configuration. Nodes that are equal share one value ([`SharedNodes`](crate::SharedNodes));
        /// names, labels and taints are kube-scheduler's business and do not belong into it.
        node: Arc<Node>,
        /// What the pods that run hold.
        ledger: Ledger,
    },
    /// Amounts by NUMA node that another producer has published.
    Approximate(Zones),
}

/// What became of a state that was published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Updated {
    /// It is the newest.
    Applied,
    /// A state of this version, or a later one, is there already.
    Outdated,
}

/// The position of a node; used again when the node is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place(pub(crate) usize);

/// A node of the view.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    published: Option<Published>,
    /// Pods that were bound to the node and that it has not published, in the order of binding.
    assumed: Vec<Arc<Pod>>,
    /// Pods that are ending and that the node still lists: it lets go of them at any moment.
    ending: BTreeSet<PodUid>,
    /// Pods that have ended and that the node still lists: it has released them, and has not published that
    /// yet.
    ended: BTreeSet<PodUid>,
    /// What is published, with the assumed pods that fit.
    now: Option<Arc<Basis>>,
    /// The situation of `now`, which the view keeps in step.
    pub(crate) situation: Option<SituationId>,
    /// What the node may be instead: pods that were bound may have come before others had gone, or after.
    others: Vec<Arc<Basis>>,
    /// The situations of `others`.
    pub(crate) other_situations: Vec<SituationId>,
}

#[derive(Debug)]
struct Published {
    version: StateVersion,
    basis: Arc<Basis>,
    told: BTreeSet<PodUid>,
}

impl Member {
    pub(crate) const fn new(name: Arc<str>) -> Self {
        Self {
            name,
            published: None,
            assumed: Vec::new(),
            ending: BTreeSet::new(),
            ended: BTreeSet::new(),
            now: None,
            situation: None,
            others: Vec::new(),
            other_situations: Vec::new(),
        }
    }

    /// The pods that are not assumed any more; `None` if the state is outdated.
    pub(crate) fn update(&mut self, state: NodeState) -> Option<Vec<PodUid>> {
        if self.published.as_ref().is_some_and(|before| before.version >= state.version) {
            return None;
        }
        let basis = match state.facts {
            NodeFacts::Exact { node, ledger } => {
                self.ended.retain(|pod| ledger.has_pod(pod));
                self.ending.retain(|pod| ledger.has_pod(pod));
                Basis::Exact(Exact { node, ledger: ledger.lean() })
            }
            NodeFacts::Approximate(zones) => Basis::Approximate(zones),
        };
        let published = Published { version: state.version, basis: Arc::new(basis), told: state.told };
        let known = self.assumed.extract_if(.., |pod| published.knows(&pod.uid));
        let known = known.map(|pod| pod.uid.clone()).collect();
        self.published = Some(published);
        self.assume_again();
        Some(known)
    }

    /// Nothing is known of the node any more, except which pods were bound to it.
    pub(crate) fn forget(&mut self) {
        self.published = None;
        self.now = None;
        self.others.clear();
    }

    /// The pod is bound to this node.
    pub(crate) fn assume(&mut self, pod: Arc<Pod>) -> Assumed {
        if self.knows(&pod.uid) || self.assumed.iter().any(|other| other.uid == pod.uid) {
            return Assumed::Already;
        }
        if self.ended.is_empty() && self.ending.is_empty() {
            if let Some(after) = self.now.as_ref().and_then(|now| now.with(&pod)) {
                self.now = Some(Arc::new(after));
            }
            self.assumed.push(pod);
        } else {
            self.assumed.push(pod);
            self.assume_again();
        }
        Assumed::New
    }

    /// The pod is not bound to this node any more. Whether it was assumed.
    pub(crate) fn unassume(&mut self, pod: &PodUid) -> bool {
        let before = self.assumed.len();
        self.assumed.retain(|assumed| assumed.uid != *pod);
        let is_gone = self.assumed.len() < before;
        if is_gone {
            self.assume_again();
        }
        is_gone
    }

    /// The pod is ending. Whether that is news, and the node still lists it.
    pub(crate) fn begin_to_end(&mut self, pod: &PodUid) -> bool {
        let is_news = self.runs(pod) && !self.ended.contains(pod) && self.ending.insert(pod.clone());
        if is_news {
            self.assume_again();
        }
        is_news
    }

    /// The pod has ended. Whether the node still lists it.
    pub(crate) fn end(&mut self, pod: &PodUid) -> bool {
        self.ending.remove(pod);
        let is_listed = self.runs(pod);
        if is_listed && self.ended.insert(pod.clone()) {
            self.assume_again();
        }
        is_listed
    }

    fn runs(&self, pod: &PodUid) -> bool {
        self.published.as_ref().is_some_and(|published| published.runs(pod))
    }

    /// Whether the node has published the pod.
    pub(crate) fn knows(&self, pod: &PodUid) -> bool {
        self.published.as_ref().is_some_and(|published| published.knows(pod))
    }

    pub(crate) fn assumed(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.assumed.iter()
    }

    pub(crate) const fn basis(&self) -> Option<&Arc<Basis>> {
        self.now.as_ref()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.published.is_none() && self.assumed.is_empty()
    }

    /// Works out what the node may be now: what is published, with the assumed pods, after each order in which these may
    /// have come and others gone.
    fn assume_again(&mut self) {
        let Some(published) = &self.published else { return };
        let mut orders = Orders::new(self.assumed.len(), &self.ended, &self.ending);
        let first = orders.next().map(|order| self.after(&published.basis, &order));
        let mut others: Vec<Arc<Basis>> = Vec::new();
        for order in orders {
            let other = self.after(&published.basis, &order);
            if !first.iter().chain(&others).any(|known| known.is_alike(&other)) {
                others.push(other);
            }
        }
        self.now = first;
        self.others = others;
    }

    /// The node after the assumed pods have come and others have gone in this order. An assumed pod that does not fit will
    /// be refused by the node, and holds nothing.
    fn after(&self, listed: &Arc<Basis>, order: &Order<'_>) -> Arc<Basis> {
        let mut basis = without(listed, order.gone_before(0));
        for (number, pod) in self.assumed.iter().enumerate() {
            if let Some(after) = basis.with(pod) {
                basis = Arc::new(after);
            }
            basis = without(&basis, order.gone_before(number + 1));
        }
        basis
    }

    pub(crate) fn others(&self) -> &[Arc<Basis>] {
        &self.others
    }
}

/// The same after these pods have gone.
fn without<'a>(basis: &Arc<Basis>, pods: impl Iterator<Item = &'a PodUid>) -> Arc<Basis> {
    let mut pods = pods.peekable();
    match &**basis {
        Basis::Exact(exact) if pods.peek().is_some() => Arc::new(Basis::Exact(exact.without(pods))),
        Basis::Exact(_) | Basis::Approximate(_) => Arc::clone(basis),
    }
}

/// Whether a binding is news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Assumed {
    New,
    /// The node has published the pod, or it is assumed already.
    Already,
}

impl Published {
    fn runs(&self, pod: &PodUid) -> bool {
        match &*self.basis {
            Basis::Exact(exact) => exact.ledger.has_pod(pod),
            Basis::Approximate(_) => false,
        }
    }

    fn knows(&self, pod: &PodUid) -> bool {
        self.runs(pod) || self.told.contains(pod)
    }
}
