//! What would have fitted: changes to the pod, the node or the moment under which a refused pod is admitted. Each has
//! been tried by attempting it; none is a guess.

pub(crate) mod explanation;
pub(crate) mod change;
pub(crate) mod trial;
pub(crate) mod waits;
pub(crate) mod moves;
pub(crate) mod asks;
pub(crate) mod other_node;
pub(crate) mod made;

use alloc::vec::Vec;

use crate::attempt::admission::Admission;
use crate::attempt::refusal::{Cause, Refused};
use crate::attempt::trace::Trace;
use crate::explain::asks::is_aligned;
use crate::explain::change::Change;
use crate::explain::explanation::{Explanation, Limits, OnEmptyNode, WouldFit};
use crate::explain::trial::Trial;

impl<'a> Admission<'a> {
    /// What would have to be otherwise for the pod, which was `refused` with this `trace`.
    ///
    /// Candidates are read off the trace, since acceptance does not follow amounts: under `restricted` a larger
    /// request can fit where a smaller one does not. Of each kind of change the two smallest that fit are listed. No rules but the node's are asked about.
    ///
    /// The list is ranked over all kinds: first the changes after which no container is on more NUMA nodes than it needs; among
    /// these by who has to act: no one, the owner of another pod, this pod's owner, the node's administrator, the administrator
    /// for all pods of the node. Of equal rank the smaller change comes first.
    ///
    /// - *Wait*: single pods that hold something, those that ask for least first; pairs where no single one is enough.
    /// - *Move*: one pod, the one with the least memory, of whose restarts at most forty are tried.
    /// - *Ask less*: for each single NUMA node, and unless the policy is `single-numa-node` for all nodes together and
    ///   on machines of up to sixteen nodes for each pair, everything that is short there lowered to what is free.
    /// - *Ask more*: where whole cores are required, the next multiple.
    /// - *Node*: what one node lacks of devices and huge pages, or all nodes together; CPUs reserved on another node;
    ///   unneeded groups of nodes dissolved; devices of several links.
    /// - *Rules*: the other scope, and the strictest looser policy.
    #[must_use]
    pub fn explain(
        self,
        refused: &'a Refused,
        trace: &'a Trace,
        limits: impl Into<Limits<'a>>,
    ) -> Explanation {
        let mut trial = Trial::new(self, refused, trace, limits.into());
        if matches!(refused.cause, Cause::PodPolicy(_)) {
            // The annotation alone is wrong, whatever is free.
            let (search, tries) = trial.end();
            return Explanation { on_empty_node: OnEmptyNode::Unknown, would_fit: Vec::new(), search, tries };
        }
        let on_empty_node = trial.on_empty_node();
        // The few candidates first: tries may be short.
        let rules = trial.rules();
        let mut other = trial.more();
        other.extend(trial.reserved());
        other.extend(trial.regroup());
        other.extend(trial.prefer_links());
        let mut asks = trial.asks_less();
        asks.extend(trial.asks_more());
        let mut would_fit = match on_empty_node {
            // Then waiting for the end of other pods does not help.
            OnEmptyNode::DoesNotFit => Vec::new(),
            OnEmptyNode::Fits | OnEmptyNode::Unknown => trial.waits(),
        };
        if on_empty_node != OnEmptyNode::DoesNotFit {
            would_fit.extend(trial.moves());
        }
        would_fit.extend(asks);
        would_fit.extend(other);
        would_fit.extend(rules);
        would_fit.sort_by_key(Rank::of);
        let (search, tries) = trial.end();
        Explanation { on_empty_node, would_fit, search, tries }
    }
}

/// Which changes come first: the smallest. The field order is the rule.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// A container is on more NUMA nodes than it needs then.
    is_wide: bool,
    actor: Actor,
}

/// Who has to act for a change, those first to whom it costs least.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    /// No one: other pods leave in time.
    Time,
    /// The owner of another pod, which restarts.
    OtherPod,
    /// The owner of the pod.
    ThisPod,
    /// The administrator, who changes the node.
    Node,
    /// The administrator, who changes the rules for every pod of the node.
    EveryPod,
}

impl Rank {
    fn of(fit: &WouldFit) -> Self {
        let actor = match fit.change {
            Change::Wait(_) => Actor::Time,
            Change::Move(_) => Actor::OtherPod,
            Change::AskLess(_) | Change::AskMore(_) => Actor::ThisPod,
            Change::More { .. } | Change::ReserveCpus(_) | Change::Regroup | Change::PreferLinks => {
                Actor::Node
            }
            Change::Policy(_) | Change::Scope(_) => Actor::EveryPod,
        };
        Self { is_wide: !is_aligned(&fit.placement), actor }
    }
}
