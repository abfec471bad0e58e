//! The question that a node is asked: may this pod run beside what the ledger holds?

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use device_manager::{Question, Replies, Reply};
use pod_spec::Pod;

use crate::attempt::steps::Steps;
use crate::attempt::trace::{Detail, Trace};
use crate::attempt::{Attempt, Rules, Verdict};
use crate::ledger::Ledger;
use crate::node::Node;

/// No plugin has answered yet.
pub(crate) static NO_REPLIES: Replies = Replies::new();

/// A pod that asks to run on a node, beside what a ledger holds. It borrows everything and decides nothing before
/// [`Admission::attempt`], [`Admission::trace`] or [`Admission::explain`].
///
/// ```
/// # use pod_spec::Pod;
/// # use topology_admission::{Detail, Explanation, Ledger, Node, Tries, Verdict};
/// /// What would have to change for a refused pod.
/// fn explained(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<Explanation> {
///     let admission = node.admission(ledger, pod);
///     let (attempt, trace) = admission.trace(Detail::Short);
///     match &attempt.verdict {
///         Verdict::Refused(refused) => Some(admission.explain(refused, &trace, Tries(100))),
///         // The pod runs, or a device plugin has to be asked first.
///         Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => None,
///     }
/// }
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct Admission<'a> {
    pub(crate) node: &'a Node,
    pub(crate) ledger: &'a Ledger,
    pub(crate) pod: &'a Pod,
    pub(crate) replies: &'a Replies,
    pub(crate) rules: Rules,
    clock: &'a dyn Fn() -> Duration,
}

impl fmt::Debug for Admission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, ledger, pod, replies, rules, .. } = self;
        let mut fields = f.debug_struct("Admission");
        fields.field("node", node).field("ledger", ledger).field("pod", pod);
        fields.field("replies", replies).field("rules", rules).finish_non_exhaustive()
    }
}

impl Node {
    /// The rules in force, for pods that choose none.
    #[must_use]
    pub const fn rules(&self) -> Rules {
        Rules { policy: self.policy, scope: self.scope }
    }

    /// Asks whether `pod` may run beside what `ledger` holds, under the rules that the node has for it
    /// ([`Node::rules_of`]); no plugin has answered yet.
    pub fn admission<'a>(&'a self, ledger: &'a Ledger, pod: &'a Pod) -> Admission<'a> {
        let rules = self.rules_of(pod);
        Admission { node: self, ledger, pod, replies: &NO_REPLIES, rules, clock: &|| Duration::ZERO }
    }

    /// What an attempt would come to, for those who will not commit it and do not need the ledger any more.
    pub(crate) fn verdict_under(
        &self,
        rules: Rules,
        ledger: Ledger,
        pod: &Arc<Pod>,
        replies: &Replies,
    ) -> Verdict {
        Steps::new(self, rules, ledger, pod, replies).verdict()
    }

    /// An attempt that can be committed, without the reasons of a refusal. The pod is classified.
    pub(crate) fn brief_attempt(
        &self,
        rules: Rules,
        ledger: &Ledger,
        pod: &Arc<Pod>,
        replies: &Replies,
    ) -> Attempt {
        Steps::new(self, rules, ledger.clone(), pod, replies).briefly().run().unless_asking(ledger)
    }
}

impl<'a> Admission<'a> {
    /// With what device plugins have answered so far.
    pub const fn with(self, replies: &'a Replies) -> Self {
        Self { replies, ..self }
    }

    /// Under other rules than those of [`Node::rules_of`].
    pub const fn under(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Measures each merge of a trace by `clock`, which is read before and after it.
    pub const fn timed(self, clock: &'a dyn Fn() -> Duration) -> Self {
        Self { clock, ..self }
    }

    /// Works out whether the pod may run; nothing happens yet.
    pub fn attempt(self) -> Attempt {
        let pod = Arc::new(self.node.classified(self.pod.clone()));
        let steps = Steps::new(self.node, self.rules, self.ledger.clone(), &pod, self.replies);
        steps.run().unless_asking(self.ledger)
    }

    /// The same, where `answer` replies to each question for a device plugin, and the replies. No question comes twice.
    pub fn attempt_with(self, mut answer: impl FnMut(&Question) -> Reply) -> (Attempt, Replies) {
        let mut replies = self.replies.clone();
        loop {
            let attempt = Admission { replies: &replies, ..self }.attempt();
            let Verdict::NeedsPlugin(question) = &attempt.verdict else { return (attempt, replies) };
            replies.insert(question.clone(), answer(question));
        }
    }

    /// The same as [`Admission::attempt`], with what was looked at on the way.
    pub fn trace(self, detail: Detail) -> (Attempt, Trace) {
        let mut trace = Trace { detail, rules: Some(self.rules), ..Trace::default() };
        let pod = Arc::new(self.node.classified(self.pod.clone()));
        let steps = Steps::new(self.node, self.rules, self.ledger.clone(), &pod, self.replies);
        let attempt = steps.timed(self.clock).traced(&mut trace).run();
        (attempt.unless_asking(self.ledger), trace)
    }
}
