//! A plan that is carried out on the ledger that it was made against, and on no other; each pod has to come to hold what the
//! plan says.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use cpu_manager::Change as CpuChange;
use device_manager::{Question, Replies};
use memory_manager::Moved;
use pod_spec::{ContainerName, Pod, PodUid};
use thiserror::Error;

use crate::attempt::counted::Counted;
use crate::attempt::refusal::Refused;
use crate::attempt::trace::{Detail, Trace};
use crate::attempt::{Attempt, Placement, Verdict};
use crate::explain::explanation::Plugins;
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
    /// A pod would hold something else than planned: the node is not the one that the plan was made on, or a plugin has
    /// answered otherwise.
    #[error("pod {pod} would not run where the plan says: {differs}")]
    Elsewhere {
        /// Which.
        pod: PodUid,
        /// In what.
        differs: Differs,
    },
}

/// In what a placement is not the planned one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Differs {
    /// Other containers are served, or in another order.
    #[error("its containers are others")]
    Containers,
    /// A container has other NUMA nodes, as the topology policy merged them.
    #[error("container {0} would be on other NUMA nodes")]
    Nodes(ContainerName),
    /// A container has other CPUs.
    #[error("container {0} would have other CPUs")]
    Cpus(ContainerName),
    /// A container has other memory.
    #[error("container {0} would have memory of other NUMA nodes")]
    Memory(ContainerName),
    /// A container has other devices.
    #[error("container {0} would have other devices")]
    Devices(ContainerName),
}

/// A plan that has been worked out on a ledger; nothing has happened yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// The ledger on which the refused pod is decided, as the steps before left it.
    pub before: Ledger,
    /// The decision on that pod.
    pub attempt: Attempt,
    /// What was looked at for it.
    pub trace: Trace,
    /// The ledger after every step.
    pub after: Ledger,
    /// The pods that come, in this order.
    pub created: Vec<PodUid>,
    /// What the counters gain by all steps: a pod that is created again counts as one that comes.
    pub counted: Counted,
    /// Containers of other pods whose memory moves to one node.
    pub regrouped: Vec<Moved>,
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
        Ok(self.carry_out(node, ledger, pod, replies, &|| Duration::ZERO)?.after)
    }

    /// The same, with the decision on the pod that was refused. Merges are measured by `clock`.
    ///
    /// # Errors
    /// The ledger is not the one that the plan was made against, or a step does not come out as planned.
    pub fn carry_out(
        &self,
        node: &Node,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        clock: &dyn Fn() -> Duration,
    ) -> Result<Applied, ApplyError> {
        if ledger.version() != self.made_against {
            return Err(Stale { made_against: self.made_against, current: ledger.version() }.into());
        }
        if pod.uid != self.pod {
            return Err(ApplyError::OtherPod(self.pod.clone()));
        }
        let mut deleted: BTreeMap<&PodUid, Arc<Pod>> = BTreeMap::new();
        let (mut created, mut regrouped, mut counted) = (Vec::new(), Vec::new(), Counted::default());
        let mut decided = None;
        let mut after = ledger.clone();
        for step in &self.steps {
            after = match step {
                Step::Delete(uid) => {
                    let resident = after.shared_pods().find(|resident| resident.uid == *uid).cloned();
                    deleted.insert(uid, resident.ok_or_else(|| ApplyError::Unknown(uid.clone()))?);
                    let without = after.release(uid);
                    counted.cpus.extend(released(node, &after, &without));
                    without
                }
                Step::Create { pod: uid, placement } => {
                    let again =
                        if *uid == self.pod { Some(pod) } else { deleted.get(uid).map(AsRef::as_ref) };
                    let again = again.ok_or_else(|| ApplyError::Unknown(uid.clone()))?;
                    let (attempt, trace) =
                        node.admission(&after, again).with(replies).timed(clock).trace(Detail::Short);
                    self.is_as_planned(uid, placement, &attempt.verdict)?;
                    created.push(uid.clone());
                    counted.add(&attempt.counted);
                    regrouped.extend(attempt.moved.iter().cloned());
                    let with = after.committed(attempt.clone());
                    if *uid == self.pod {
                        decided = Some((after, attempt, trace));
                    }
                    with
                }
            };
        }
        let (before, attempt, trace) = decided.ok_or_else(|| ApplyError::Unknown(self.pod.clone()))?;
        Ok(Applied { before, attempt, trace, after, created, counted, regrouped })
    }

    fn is_as_planned(&self, pod: &PodUid, planned: &Placement, verdict: &Verdict) -> Result<(), ApplyError> {
        match verdict {
            Verdict::Admitted(placement) if placement.preempted.is_empty() => {
                match differs(planned, placement, self.plugins) {
                    None => Ok(()),
                    Some(differs) => Err(ApplyError::Elsewhere { pod: pod.clone(), differs }),
                }
            }
            Verdict::Admitted(_) => Err(ApplyError::Preempts(pod.clone())),
            Verdict::Refused(refused) => {
                Err(ApplyError::Refused { pod: pod.clone(), refused: Box::new(refused.clone()) })
            }
            Verdict::NeedsPlugin(question) => Err(ApplyError::NeedsPlugin(question.clone())),
        }
    }
}

/// The first thing in which a placement is not the planned one; `None`: it is.
fn differs(planned: &Placement, now: &Placement, plugins: Plugins) -> Option<Differs> {
    let names = |placement: &Placement| -> Vec<ContainerName> {
        placement.containers.iter().map(|placed| placed.name.clone()).collect()
    };
    if names(planned) != names(now) {
        return Some(Differs::Containers);
    }
    planned.containers.iter().zip(&now.containers).find_map(|(planned, now)| {
        let differs = match plugins {
            _ if planned.hint != now.hint => Differs::Nodes,
            _ if planned.cpus != now.cpus => Differs::Cpus,
            _ if planned.memory != now.memory => Differs::Memory,
            Plugins::HaveAnswered if planned.devices != now.devices => Differs::Devices,
            // A plugin may prefer other devices than the plan took without asking it.
            Plugins::HaveAnswered | Plugins::TakenAsWilling => return None,
        };
        Some(differs(now.name.clone()))
    })
}

/// What the CPU manager's counters gain by a pod that is deleted.
fn released(node: &Node, before: &Ledger, after: &Ledger) -> Vec<CpuChange> {
    let (Some(policy), Some(before), Some(after)) = (node.cpus(), before.cpus(), after.cpus()) else {
        return Vec::new();
    };
    let collected = before.collect(|pod, container| after.assigned(pod, container).is_some());
    policy.metrics_of_collection(before, &collected)
}
