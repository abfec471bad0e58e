//! A plan that is carried out on the ledger that it was made against, and on no other.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use device_manager::{Question, Replies};
use pod_spec::{Pod, PodUid};
use thiserror::Error;

use crate::attempt::Verdict;
use crate::attempt::refusal::Refused;
use crate::ledger::{Ledger, Stale};
use crate::node::Node;
use crate::repack::plan::{Plan, Step};

/// A plan is not carried out. Nothing has happened then.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The ledger has changed since the plan was made.
    #[error("the plan is stale: {0}")]
    Stale(#[from] Stale),
    /// The plan is for another pod.
    #[error("the plan is for pod {0}")]
    OtherPod(PodUid),
    /// The plan names a pod that the ledger does not have.
    #[error("pod {0} is not on the node")]
    Unknown(PodUid),
    /// A pod is refused: the node is not the one that the plan was made on, or a plugin has answered otherwise.
    #[error("pod {pod} is refused: {}", .refused.message)]
    Refused {
        /// Which.
        pod: PodUid,
        /// Why.
        refused: Box<Refused>,
    },
    /// A device plugin must be asked first.
    #[error("the device plugin of {} must be asked first", .0.resource())]
    NeedsPlugin(Question),
    /// Another pod would be ended for this one.
    #[error("pod {0} would preempt others")]
    Preempts(PodUid),
}

impl Plan {
    /// The ledger after every step of the plan; `pod` is the one that was refused, `replies` what plugins have answered.
    ///
    /// # Errors
    /// The ledger is not the one that the plan was made against, or a step does not come out as planned.
    pub fn apply(
        &self,
        node: &Node,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
    ) -> Result<Ledger, ApplyError> {
        if ledger.version() != self.made_against {
            return Err(Stale { made_against: self.made_against, current: ledger.version() }.into());
        }
        if pod.uid != self.pod {
            return Err(ApplyError::OtherPod(self.pod.clone()));
        }
        let mut deleted: BTreeMap<&PodUid, Arc<Pod>> = BTreeMap::new();
        let mut after = ledger.clone();
        for step in &self.steps {
            after = match step {
                Step::Delete(uid) => {
                    let resident = after.shared_pods().find(|resident| resident.uid == *uid).cloned();
                    deleted.insert(uid, resident.ok_or_else(|| ApplyError::Unknown(uid.clone()))?);
                    after.release(uid)
                }
                Step::Create { pod: uid, .. } => {
                    let created =
                        if *uid == self.pod { Some(pod) } else { deleted.get(uid).map(AsRef::as_ref) };
                    let created = created.ok_or_else(|| ApplyError::Unknown(uid.clone()))?;
                    create(node, &after, created, replies)?
                }
            };
        }
        Ok(after)
    }
}

fn create(node: &Node, ledger: &Ledger, pod: &Pod, replies: &Replies) -> Result<Ledger, ApplyError> {
    let attempt = node.admission(ledger, pod).with(replies).attempt();
    match &attempt.verdict {
        Verdict::Admitted(placement) if placement.preempted.is_empty() => Ok(ledger.committed(attempt)),
        Verdict::Admitted(_) => Err(ApplyError::Preempts(pod.uid.clone())),
        Verdict::Refused(refused) => {
            Err(ApplyError::Refused { pod: pod.uid.clone(), refused: Box::new(refused.clone()) })
        }
        Verdict::NeedsPlugin(question) => Err(ApplyError::NeedsPlugin(question.clone())),
    }
}
