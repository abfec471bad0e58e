//! Which pods of a node have to move so that another one fits.

use std::collections::BTreeSet;

use admission_report::{Facts, MovesReport};
use anyhow::bail;
use device_manager::Replies;
use pod_spec::{Pod, PodUid};
use topology_admission::{Detail, Ledger, Limits, Repack, Tries, Verdict};

use crate::node::LoadedNode;
use crate::sources::ADVICE;

/// How far a plan is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepackLimits {
    /// How many attempts are made at most for a pod that is refused.
    pub attempts: usize,
    /// How many pods move at most.
    pub moves: usize,
}

/// What a node does so that a pod fits.
#[derive(Clone, Debug)]
pub struct Repacked {
    /// The plan, that none is needed, or why there is none.
    pub report: MovesReport,
    /// The ledger with the pod and all moves, where it fits; else as it was.
    pub after: Ledger,
}

impl LoadedNode {
    /// Looks for a plan beside what `ledger` holds; no pod of `quarantined` moves.
    ///
    /// # Errors
    /// A device plugin would have to be asked.
    pub fn repack(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        quarantined: &BTreeSet<PodUid>,
        limits: RepackLimits,
    ) -> anyhow::Result<Repacked> {
        let RepackLimits { attempts, moves } = limits;
        let admission = self.node.admission(ledger, pod);
        let (attempt, trace) = admission.trace(Detail::Short);
        let facts = Facts { advice: ADVICE, ..Facts::new(&self.node, ledger, pod, &attempt, &trace) };
        match &attempt.verdict {
            Verdict::Admitted(placement) => {
                let report = MovesReport::admitted(&facts, placement);
                Ok(Repacked { report, after: ledger.commit(attempt)? })
            }
            Verdict::Refused(refused) => {
                let limits = Limits::from(Tries(attempts)).keeping(quarantined);
                let repack = admission.repack(refused, &trace, limits, moves);
                let report = MovesReport::refused(&facts, refused, &repack, moves);
                Ok(Repacked { report, after: self.after(ledger, pod, &repack)? })
            }
            Verdict::NeedsPlugin(question) => {
                bail!(
                    "the device plugin of {} would have to be asked, and there is none",
                    question.resource()
                )
            }
        }
    }

    fn after(&self, ledger: &Ledger, pod: &Pod, repack: &Repack) -> anyhow::Result<Ledger> {
        match &repack.plan {
            Some(plan) => Ok(plan.apply(&self.node, ledger, pod, &Replies::new())?),
            None => Ok(ledger.clone()),
        }
    }
}
