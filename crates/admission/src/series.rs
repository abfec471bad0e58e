//! Pods decided on one after the other, each beside those admitted before it.
//!
//! A long list has many pods that differ in their names only, and on a full node each of them is refused for the same
//! reason. What would have fitted takes hundreds of attempts; it is worked out once for all of them, for as long as
//! nothing changes on the ledger.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use device_manager::{Question, Replies};
use memory_manager::Moved;
use pod_spec::{Pod, PodUid};

use crate::attempt::refusal::Refused;
use crate::attempt::trace::{Detail, Trace};
use crate::attempt::{Placement, Verdict};
use crate::explain::explanation::{Explanation, Limits, Tries};
use crate::ledger::Ledger;
use crate::node::Node;

/// So many explanations are kept: more than the templates of a usual list, and few enough to be compared one by one.
const MOST_KEPT: usize = 64;

/// A node's ledger, from pod to pod.
#[derive(Debug)]
pub struct Series<'n> {
    node: &'n Node,
    detail: Detail,
    tries: Tries,
    kept: BTreeSet<PodUid>,
    ledger: Ledger,
    /// Of pods refused beside what the ledger holds; the latest is the last one.
    explained: VecDeque<(Pod, Explanation)>,
    attempts: usize,
}

/// What came of one pod.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The ledger that it came to.
    pub before: Ledger,
    /// What was looked at on the way.
    pub trace: Trace,
    /// Containers of other pods whose memory moves to one node.
    pub moved: Vec<Moved>,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out for a pod.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It runs there.
    Admitted(Placement),
    /// It does not run, and this would have fitted.
    Refused(Refused, Explanation),
    /// A device plugin must be asked first; nothing has changed.
    NeedsPlugin(Question),
}

impl<'n> Series<'n> {
    /// Beside what `ledger` holds. Each explanation makes at most so many `tries`.
    #[must_use]
    pub const fn new(node: &'n Node, ledger: Ledger, detail: Detail, tries: Tries) -> Self {
        Self { node, detail, tries, kept: BTreeSet::new(), ledger, explained: VecDeque::new(), attempts: 0 }
    }

    /// Explanations move none of these pods, such as those that are quarantined.
    #[must_use]
    pub fn keeping(self, kept: BTreeSet<PodUid>) -> Self {
        Self { kept, ..self }
    }

    /// What everything holds after the pods so far.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// How many attempts were made so far, those of explanations included.
    #[must_use]
    pub const fn attempts(&self) -> usize {
        self.attempts
    }

    /// Decides on the next pod; `replies` is what plugins have answered.
    pub fn decide(&mut self, pod: &Pod, replies: &Replies) -> Decided {
        let before = self.ledger.clone();
        let (attempt, trace) = self.node.admission(&before, pod).with(replies).trace(self.detail);
        self.attempts += 1;
        let (verdict, moved) = (attempt.verdict.clone(), attempt.moved.clone());
        self.ledger = before.committed(attempt);
        let outcome = match verdict {
            Verdict::Admitted(placement) => {
                self.explained.clear();
                Outcome::Admitted(placement)
            }
            Verdict::Refused(refused) => {
                let explanation = self.explain(&before, pod, replies, &refused, &trace);
                Outcome::Refused(refused, explanation)
            }
            Verdict::NeedsPlugin(question) => Outcome::NeedsPlugin(question),
        };
        Decided { before, trace, moved, outcome }
    }

    /// The last pod has not been decided on after all: it leaves nothing.
    pub fn take_back(&mut self, decided: &Decided) {
        self.ledger = decided.before.clone();
        self.explained.clear();
    }

    fn explain(
        &mut self,
        before: &Ledger,
        pod: &Pod,
        replies: &Replies,
        refused: &Refused,
        trace: &Trace,
    ) -> Explanation {
        let is_like_others = self.is_like_others(before, pod, replies);
        let known = self.explained.iter().find(|(other, _)| is_like_others && other.is_written_as(pod));
        if let Some((_, explanation)) = known {
            return explanation.clone();
        }
        let limits = Limits::from(self.tries).keeping(&self.kept);
        let explanation = self.node.admission(before, pod).with(replies).explain(refused, trace, limits);
        self.attempts += explanation.tries;
        if is_like_others {
            self.explained.truncate(MOST_KEPT - 1);
            self.explained.push_front((pod.clone(), explanation.clone()));
        } else {
            // Its refusal may have changed what is held.
            self.explained.clear();
        }
        explanation
    }

    /// Whether nothing about the pod depends on which one it is, and nothing is left of it when it is refused, or only until
    /// the next pod comes.
    fn is_like_others(&self, before: &Ledger, pod: &Pod, replies: &Replies) -> bool {
        // A provider of one's own sees names, and so does a plugin that was asked.
        let nobody_sees_names = self.node.others.is_empty() && *replies == Replies::default();
        let is_collected = self.ledger.collected().decides_like(&before.collected(), self.node);
        nobody_sees_names && is_collected && !before.knows(&pod.uid)
    }
}
