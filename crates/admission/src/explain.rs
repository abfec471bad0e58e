//! What would have fitted: changes to the pod, the node or the moment under which a refused pod is admitted. Each has
//! been tried by attempting it; none is a guess.

pub(crate) mod trace;
pub(crate) mod standing;
pub(crate) mod change;
pub(crate) mod trial;
pub(crate) mod waits;
pub(crate) mod asks;
pub(crate) mod other_node;

use alloc::vec::Vec;
use core::ops::ControlFlow;

use device_manager::Replies;
use pod_spec::Pod;

use crate::attempt::Placement;
use crate::attempt::refusal::Refused;
use crate::explain::change::Change;
use crate::explain::trace::Trace;
use crate::explain::trial::Trial;
use crate::ledger::Ledger;
use crate::node::Node;

/// How many attempts an explanation may make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tries(pub usize);

impl Default for Tries {
    fn default() -> Self {
        Self(500)
    }
}

/// What would have to be otherwise for a refused pod.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Whether it fits the node when nothing else runs there.
    pub on_empty_node: OnEmptyNode,
    /// What would fit: kind by kind, and of each kind the smallest change first.
    pub would_fit: Vec<WouldFit>,
    /// Whether everything was looked at.
    pub search: Search,
    /// How many attempts were made.
    pub tries: usize,
}

/// Whether a pod fits a node on which nothing else runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEmptyNode {
    /// It does: not now, rather than never.
    Fits,
    /// It does not, and waiting is of no use.
    DoesNotFit,
    /// Not known: there were too few tries.
    #[default]
    Unknown,
}

/// Whether everything was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// It was.
    #[default]
    Complete,
    /// There were more candidates than tries.
    Cut,
}

/// A change under which the pod is admitted.
#[derive(Clone, Debug)]
pub struct WouldFit {
    /// What changes.
    pub change: Change,
    /// Where the pod runs then.
    pub placement: Placement,
    /// What is taken for granted.
    pub plugins: Plugins,
}

/// Whether device plugins would have to agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Plugins {
    /// Nobody has to be asked who has not answered.
    #[default]
    HaveAnswered,
    /// Some would have to be asked, and are taken to prefer no device and to refuse none.
    TakenAsWilling,
}

impl Node {
    /// What would have to be otherwise for `pod`, which was `refused` beside what `ledger` holds with this `trace`.
    ///
    /// Candidates are read off the trace, since acceptance does not follow amounts: under `restricted` a larger
    /// request can fit where a smaller one does not. Of each kind of change the two smallest that fit are told.
    ///
    /// - *Wait*: single pods that hold something, those that ask for least first; pairs where no single one is enough.
    /// - *Ask less*: for each single NUMA node, and unless the policy is `single-numa-node` for all nodes together and
    ///   on machines of up to sixteen nodes for each pair, everything that is short there lowered to what is free.
    /// - *Ask more*: where whole cores are required, the next multiple.
    /// - *Node*: what one node lacks of devices and huge pages, or all nodes together; CPUs reserved on another node;
    ///   unneeded groups of nodes dissolved.
    /// - *Rules*: the other scope, and the strictest looser policy.
    #[must_use]
    pub fn explain(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        why: (&Refused, &Trace),
        tries: Tries,
    ) -> Explanation {
        self.explain_until(ledger, pod, replies, why, tries, &|| ControlFlow::Continue(()))
    }

    /// The same, and no attempt is made any more when `stop`, which is asked before each, has said so.
    #[must_use]
    pub fn explain_until(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        (refused, trace): (&Refused, &Trace),
        tries: Tries,
        stop: &dyn Fn() -> ControlFlow<()>,
    ) -> Explanation {
        let mut trial = Trial::new(self, ledger, pod, replies, (refused, trace), (tries, stop));
        let on_empty_node = trial.on_empty_node();
        // The few candidates first: tries may be short.
        let rules = trial.rules();
        let mut other = trial.more();
        other.extend(trial.reserved());
        other.extend(trial.regroup());
        let mut asks = trial.asks_less();
        asks.extend(trial.asks_more());
        let mut would_fit = trial.waits();
        would_fit.extend(asks);
        would_fit.extend(other);
        would_fit.extend(rules);
        let (search, tries) = trial.end();
        Explanation { on_empty_node, would_fit, search, tries }
    }
}
