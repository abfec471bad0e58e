//! The same questions in one call, for callers that have not moved to [`Node::admission`] yet.

use device_manager::Replies;
use pod_spec::Pod;

use crate::attempt::Attempt;
use crate::attempt::refusal::Refused;
use crate::attempt::trace::{Detail, Trace};
use crate::explain::explanation::{Explanation, Tries};
use crate::ledger::Ledger;
use crate::node::Node;

impl Node {
    /// [`Admission::attempt`](crate::Admission::attempt) with `replies`.
    pub fn attempt(&self, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Attempt {
        self.admission(ledger, pod).with(replies).attempt()
    }

    /// [`Admission::trace`](crate::Admission::trace) with `replies`.
    pub fn trace_with(
        &self,
        detail: Detail,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
    ) -> (Attempt, Trace) {
        self.admission(ledger, pod).with(replies).trace(detail)
    }

    /// [`Admission::explain`](crate::Admission::explain) with `replies`.
    #[must_use]
    pub fn explain(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        (refused, trace): (&Refused, &Trace),
        tries: Tries,
    ) -> Explanation {
        self.admission(ledger, pod).with(replies).explain(refused, trace, tries)
    }
}
