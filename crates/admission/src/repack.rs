//! Moves of resident pods after which a refused pod is admitted.
//!
//! # What a move is
//!
//! A kubelet places a pod when it admits it, and never again. So a pod moves by being deleted and created again, and
//! where it comes to run is decided by the node's own rules, beside what is held at that time. A plan is an order of
//! deletions and creations: delete `a`, create the new pod, create `a`. Nothing steers a pod but that order: what is
//! created first has the choice, and what is deleted late is in the way of others until then.
//!
//! A plan ends with all pods of the node and the new one admitted. Every step has been tried by a real attempt on a
//! copy of the ledger, so a node with this ledger does exactly what the plan says.
//!
//! # Which plan
//!
//! The one that restarts the fewest pods, and of these the one whose restarted pods have the fewest bytes of memory: these
//! are the pages that have to be filled again. Sets of pods are tried in that order; of each set every order of its
//! deletions and creations, at first those that delete all of it at once. Two sound bounds leave sets out:
//!
//! - A pod that holds nothing blocks no other pod.
//! - What is free on a NUMA node and what the set holds there has to be enough for the refused unit, if its policy
//!   wants one node; else the same of all nodes together.
//!
//! Attempts are counted. If they run out the plan is the best one found and [`Search::Cut`] says that a smaller one may
//! exist; without that mark it is the smallest.
//!
//! [`Search::Cut`]: crate::Search::Cut

pub(crate) mod movable;
pub(crate) mod plan;
pub(crate) mod apply;
pub(crate) mod room;
pub(crate) mod attempts;
pub(crate) mod sets;
pub(crate) mod orders;
pub(crate) mod search;

use alloc::vec::Vec;

use cpu_manager::WholeCoresError;
use device_manager::AllocateError;

use crate::attempt::admission::Admission;
use crate::attempt::refusal::{Cause, Refused};
use crate::attempt::trace::{Search, Trace};
use crate::explain::explanation::Limits;
use crate::repack::plan::{Hopeless, Repack};
use crate::repack::search::MoveSearch;

impl<'a> Admission<'a> {
    /// The smallest set of moves of at most `most` resident pods after which the pod, which was `refused` with this
    /// `trace`, is admitted.
    ///
    /// ```
    /// # use topology_admission::{Detail, Ledger, Limits, Node, Repack, Verdict, pod_spec::Pod};
    /// /// Which pods have to restart, and in which order.
    /// fn moves(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<Repack> {
    ///     let admission = node.admission(ledger, pod);
    ///     let (attempt, trace) = admission.trace(Detail::Short);
    ///     match &attempt.verdict {
    ///         Verdict::Refused(refused) => Some(admission.repack(refused, &trace, Limits::default(), 2)),
    ///         // The pod runs, or a device plugin has to be asked first.
    ///         Verdict::Admitted(_) | Verdict::NeedsPlugin(_) => None,
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn repack(
        self,
        refused: &'a Refused,
        trace: &'a Trace,
        limits: impl Into<Limits<'a>>,
        most: usize,
    ) -> Repack {
        let mut search = MoveSearch::new(self, trace, limits.into());
        let hopeless = self.hopeless(refused).or_else(|| search.hopeless());
        let plan = if hopeless.is_none() { search.plan(most) } else { None };
        search.end(plan, hopeless)
    }

    /// Why no move can help, where the refusal says so.
    pub(crate) fn hopeless(&self, refused: &Refused) -> Option<Hopeless> {
        match &refused.cause {
            Cause::Mismatch(_)
            | Cause::PodPolicy(_)
            | Cause::Devices(AllocateError::Unregistered(_))
            | Cause::Cpus(cpu_manager::AllocateError::WholeCores(WholeCoresError::NotMultiple { .. })) => {
                return Some(Hopeless::NotAboutRoom);
            }
            _ => {}
        }
        // The pod that is created last finds all others there, and so does this pod if it is that one.
        let pod = self.node.classified(self.pod.clone());
        let shortages = self.node.shortages(self.ledger, &pod, &self.node.requests(&pod));
        let sums: Vec<_> = shortages.into_iter().filter(|of| !self.has_plugin(&of.resource)).collect();
        (!sums.is_empty()).then_some(Hopeless::NodeIsFull(sums))
    }

    /// How many devices of a resource there are can depend on who asks.
    fn has_plugin(&self, resource: &pod_spec::ResourceName) -> bool {
        self.ledger.inventory().is_registered(resource)
    }
}

impl Repack {
    /// Whether the search was complete, so that the plan is the smallest, or there is none.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.search == Search::Complete
    }
}
