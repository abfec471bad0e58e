//! Which pods make room for a critical one.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt::Write as _;

use pod_spec::{Amounts, Overhead, Pod, PodLevelResources, PodUid, QosClass, ResourceName};
use thiserror::Error;

use crate::ledger::Ledger;
use crate::node::Node;
use crate::node::fit::{Shortage, units};

/// No set of pods that may be preempted frees enough. The text is the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to \
     preempt: no set of running pods found to reclaim resources: {}",
    shown(.0)
)]
pub struct NobodyToPreempt(pub Vec<(ResourceName, i64)>);

fn shown(missing: &[(ResourceName, i64)]) -> String {
    let mut text = String::from("[");
    for (resource, amount) in missing {
        // Writing to a text does not fail.
        let _ = write!(text, "(res: {resource}, q: {amount}), ");
    }
    text + "]"
}

/// What still has to be freed.
type Missing = Vec<(ResourceName, i64)>;

impl Node {
    /// The pods that are ended so that `pod` fits, in the order in which they are.
    ///
    /// Guaranteed pods are chosen for what remains when all others have gone, then Burstable ones for what remains
    /// when all `BestEffort` ones and the chosen have, then `BestEffort` ones: so as few as possible of the better
    /// classes go.
    pub(crate) fn preempted(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        shortages: &[Shortage],
    ) -> Result<Vec<PodUid>, NobodyToPreempt> {
        let pod_level = self.pod_rules.pod_level;
        let mut classes: BTreeMap<QosClass, Vec<Candidate>> = BTreeMap::new();
        let others = ledger.pods_by_arrival().filter(|other| other.uid != pod.uid && yields(pod, other));
        for other in others {
            let candidate = Candidate::new(other, pod_level, shortages);
            classes.entry(other.qos_class(self.pod_rules)).or_default().push(candidate);
        }
        let [best_effort, burstable, guaranteed] =
            [QosClass::BestEffort, QosClass::Burstable, QosClass::Guaranteed]
                .map(|class| classes.remove(&class).unwrap_or_default());
        let missing: Missing =
            shortages.iter().map(|shortage| (shortage.resource.clone(), shortage.missing())).collect();

        let out_of_reach = less(less(less(missing.clone(), &best_effort), &burstable), &guaranteed);
        if !out_of_reach.is_empty() {
            return Err(NobodyToPreempt(out_of_reach));
        }
        let guaranteed = nearest(guaranteed, less(less(missing.clone(), &best_effort), &burstable))?;
        let burstable = nearest(burstable, less(less(missing.clone(), &best_effort), &guaranteed))?;
        let best_effort = nearest(best_effort, less(less(missing, &burstable), &guaranteed))?;
        Ok(best_effort
            .into_iter()
            .chain(burstable)
            .chain(guaranteed)
            .map(|candidate| candidate.pod)
            .collect())
    }
}

/// Whether `other` may be ended for `pod`.
fn yields(pod: &Pod, other: &Pod) -> bool {
    let (own, theirs) = (&pod.constraints, &other.constraints);
    (own.is_critical() && !theirs.is_critical()) || own.priority > theirs.priority
}

/// A pod that may be ended, and what that frees.
struct Candidate {
    pod: PodUid,
    frees: BTreeMap<ResourceName, i64>,
    /// Memory, then thousandths of CPUs: of two that are as good, the smaller goes.
    size: (i64, i64),
}

impl Candidate {
    fn new(pod: &Pod, pod_level: PodLevelResources, shortages: &[Shortage]) -> Self {
        let request = |resource: &ResourceName| request(pod, resource, pod_level);
        let frees = shortages.iter().map(|shortage| (shortage.resource.clone(), request(&shortage.resource)));
        Self {
            pod: pod.uid.clone(),
            frees: frees.collect(),
            size: (request(&"memory".into()), request(&"cpu".into())),
        }
    }

    fn frees(&self, resource: &ResourceName) -> i64 {
        self.frees.get(resource).copied().unwrap_or(0)
    }
}

/// What a pod counts for in preemption: resources at pod level alone where it has any, with overhead where it is not
/// nothing.
fn request(pod: &Pod, resource: &ResourceName, pod_level: PodLevelResources) -> i64 {
    if resource.as_str() == "pods" {
        return 1;
    }
    let at_pod_level = pod_level == PodLevelResources::Count && pod.has_pod_level_resources();
    let asked = if at_pod_level {
        pod.resources.as_ref().and_then(|own| own.requests.get(resource.as_str()).cloned())
    } else {
        pod.effective(Amounts::Requests, pod_level, Overhead::LeftOut).remove(resource.as_str())
    };
    let Some(mut asked) = asked else { return 0 };
    if let (false, Some(overhead)) = (asked.is_zero(), pod.overhead.get(resource.as_str())) {
        asked += overhead;
    }
    units(resource, &asked)
}

/// What is missing when these pods have gone.
fn less(missing: Missing, gone: &[Candidate]) -> Missing {
    let left = missing.into_iter().map(|(resource, amount)| {
        let freed = gone.iter().fold(0_i64, |sum, candidate| sum.saturating_add(candidate.frees(&resource)));
        (resource, amount.saturating_sub(freed))
    });
    left.filter(|(_, amount)| *amount > 0).collect()
}

/// Ends one pod after the other, always the one that comes nearest to what is still missing.
fn nearest(mut candidates: Vec<Candidate>, mut missing: Missing) -> Result<Vec<Candidate>, NobodyToPreempt> {
    let mut chosen = Vec::new();
    while !missing.is_empty() {
        let mut best: Option<(f64, usize)> = None;
        for (at, candidate) in candidates.iter().enumerate() {
            let distance = distance(&missing, candidate);
            // Of two that are as near the smaller, of two that are as large the later.
            let better = best.is_none_or(|(least, best)| match distance.total_cmp(&least) {
                Ordering::Less => true,
                Ordering::Equal => candidate.size <= candidates[best].size,
                Ordering::Greater => false,
            });
            if better {
                best = Some((distance, at));
            }
        }
        let Some((_, at)) = best else { return Err(NobodyToPreempt(missing)) };
        // The last takes its place, which decides later ties.
        let candidate = candidates.swap_remove(at);
        missing = less(missing, core::slice::from_ref(&candidate));
        chosen.push(candidate);
    }
    Ok(chosen)
}

/// How far from enough a pod's end is: the squares of the parts that remain missing, summed.
#[expect(clippy::cast_precision_loss, reason = "the kubelet calculates so, and ties depend on it")]
fn distance(missing: &Missing, candidate: &Candidate) -> f64 {
    let parts = missing.iter().map(|(resource, amount)| {
        let remaining = amount.saturating_sub(candidate.frees(resource)).max(0) as f64 / *amount as f64;
        remaining * remaining
    });
    parts.sum()
}
