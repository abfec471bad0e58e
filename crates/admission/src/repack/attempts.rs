//! Attempts of a search for moves: counted, and made on copies.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::ControlFlow;

use device_manager::{Replies, Reply};
use pod_spec::Pod;

use crate::attempt::refusal::{Cause, Refused};
use crate::attempt::trace::Search;
use crate::attempt::{Placement, Rules, Verdict};
use crate::explain::explanation::{Limits, Plugins, Tries};
use crate::ledger::Ledger;
use crate::node::Node;

/// Where attempts are made, and how many are left.
pub(crate) struct Attempts<'a> {
    node: &'a Node,
    replies: &'a Replies,
    left: usize,
    stop: &'a dyn Fn() -> ControlFlow<()>,
    plugins_are_asked: bool,
    pub(crate) made: usize,
    pub(crate) search: Search,
}

/// A pod that can be created.
#[derive(Clone)]
pub(crate) struct Comer {
    pub(crate) pod: Arc<Pod>,
    pub(crate) rules: Rules,
}

/// What an attempt came to.
#[derive(Clone)]
pub(crate) enum Tried {
    Created(Box<Created>),
    /// The hints of the first unit do not suit the policy.
    NotAligned,
    /// For another reason.
    Refused,
    /// No attempt is left.
    CutOff,
}

/// A pod that was created, on the ledger with it.
#[derive(Clone)]
pub(crate) struct Created {
    pub(crate) after: Ledger,
    pub(crate) placement: Placement,
    pub(crate) plugins: Plugins,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(node: &'a Node, ledger: &Ledger, replies: &'a Replies, limits: &Limits<'a>) -> Self {
        let Tries(left) = limits.tries;
        let plugins_are_asked = ledger.inventory().has_plugins();
        Self { node, replies, left, stop: limits.stop, plugins_are_asked, made: 0, search: Search::Complete }
    }

    /// Whether no attempt is left.
    pub(crate) fn are_over(&self) -> bool {
        self.left == 0 || (self.stop)().is_break()
    }

    /// Something was left out.
    pub(crate) const fn cut(&mut self) {
        self.search = Search::Cut;
    }

    /// No more than so many are left.
    pub(crate) fn leave(&mut self, most: usize) {
        self.left = self.left.min(most);
    }

    pub(crate) const fn left(&self) -> usize {
        self.left
    }

    /// The pod on a copy of the ledger, if it is admitted there without preemption.
    pub(crate) fn create(&mut self, ledger: &Ledger, comer: &Comer) -> Tried {
        if self.are_over() {
            self.search = Search::Cut;
            return Tried::CutOff;
        }
        self.left -= 1;
        self.made += 1;
        let mut willing: Option<Replies> = None;
        loop {
            let replies = willing.as_ref().unwrap_or(self.replies);
            let attempt = self.node.brief_attempt(comer.rules, ledger, &comer.pod, replies);
            let placement = match &attempt.verdict {
                Verdict::Admitted(placement) if placement.preempted.is_empty() => placement.clone(),
                Verdict::Refused(refused) if comer.is_first(refused) => return Tried::NotAligned,
                Verdict::Admitted(_) | Verdict::Refused(_) => return Tried::Refused,
                Verdict::NeedsPlugin(_) if !self.plugins_are_asked => return Tried::Refused,
                Verdict::NeedsPlugin(question) => {
                    let reply = Reply::willing(question);
                    // A question that has been answered is not asked again.
                    willing.get_or_insert_with(|| self.replies.clone()).insert(question.clone(), reply);
                    continue;
                }
            };
            let plugins = if willing.is_some() { Plugins::TakenAsWilling } else { Plugins::HaveAnswered };
            let created = Created { after: ledger.committed(attempt), placement, plugins };
            return Tried::Created(Box::new(created));
        }
    }

    /// The same with a pod that was deleted before: it has to hold something of everything again that it held `before`. A
    /// pod of which more is known by state files than by its manifest does not.
    pub(crate) fn create_again(&mut self, ledger: &Ledger, comer: &Comer, before: &Ledger) -> Tried {
        let uid = &comer.pod.uid;
        match self.create(ledger, comer) {
            Tried::Created(created) if created.after.kinds_held(uid) != before.kinds_held(uid) => {
                Tried::Refused
            }
            tried => tried,
        }
    }
}

impl Comer {
    /// Whether hints alone refuse the pod, and those of its first unit, before anything was allocated to it.
    fn is_first(&self, refused: &Refused) -> bool {
        let first = self.pod.containers.first().map(|container| &container.name);
        matches!(refused.cause, Cause::NotAligned(_))
            && (refused.container.is_none() || refused.container.as_ref() == first)
    }
}
