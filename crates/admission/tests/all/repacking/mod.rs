//! Trying every order of every set of moves, and what tests of moves have in common.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test uses a part; one that cannot go on fails"
)]

use pod_spec::{Pod, PodUid};
use topology_admission::{Detail, Ledger, Limits, Node, Placement, Repack, Verdict};

use crate::fixture::{self, Asked};

/// The ledger with the pod, and where it runs; `None` if it is refused.
pub(crate) fn admit(node: &Node, ledger: &Ledger, pod: &Pod) -> Option<(Ledger, Placement)> {
    let attempt = node.admission(ledger, pod).attempt();
    let Verdict::Admitted(placement) = attempt.verdict.clone() else { return None };
    Some((ledger.commit(attempt).unwrap(), placement))
}

/// Moves for a pod that is refused.
pub(crate) fn repack(node: &Node, ledger: &Ledger, pod: &Pod, limits: Limits<'_>, most: usize) -> Repack {
    let admission = node.admission(ledger, pod);
    let (attempt, trace) = admission.trace(Detail::Short);
    let Verdict::Refused(refused) = &attempt.verdict else { panic!("{} is not refused", pod.name) };
    node.admission(ledger, pod).repack(refused, &trace, limits, most)
}

/// A pod that is refused, beside a few others.
pub(crate) struct BruteForce<'a> {
    pub(crate) node: &'a Node,
    pub(crate) ledger: &'a Ledger,
    pub(crate) wanted: &'a Pod,
}

impl BruteForce<'_> {
    /// How many pods the smallest plan moves, and how much memory these ask for.
    pub(crate) fn best(&self) -> Option<(usize, u64)> {
        let residents: Vec<&Pod> = self.ledger.pods().collect();
        let mut sets: Vec<(usize, u64, Vec<&Pod>)> = (1..1_u32 << residents.len())
            .map(|bits| {
                let set =
                    residents.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, pod)| *pod);
                let set: Vec<&Pod> = set.collect();
                (set.len(), set.iter().map(|pod| bytes(pod)).sum(), set)
            })
            .collect();
        sets.sort_by_key(|(count, bytes, _)| (*count, *bytes));
        let best = sets.into_iter().find(|(_, _, set)| self.ends_well(self.ledger, set, &[], false));
        best.map(|(count, bytes, _)| (count, bytes))
    }

    /// Whether the pods that are `there` still, those that are `gone` and the wanted one can all run, whatever is done in
    /// whatever order: one pod deleted, or one created.
    fn ends_well(&self, ledger: &Ledger, there: &[&Pod], gone: &[&Pod], is_wanted_there: bool) -> bool {
        if is_wanted_there && there.is_empty() && gone.is_empty() {
            return true;
        }
        if !is_wanted_there
            && let Some((after, _)) = admit(self.node, ledger, self.wanted)
            && self.ends_well(&after, there, gone, true)
        {
            return true;
        }
        let creates = |pod: &&Pod| {
            let rest = without(gone, &pod.uid);
            admit(self.node, ledger, pod)
                .is_some_and(|(after, _)| self.ends_well(&after, there, &rest, is_wanted_there))
        };
        let deletes = |pod: &&Pod| {
            let more: Vec<&Pod> = gone.iter().copied().chain([*pod]).collect();
            self.ends_well(&ledger.release(&pod.uid), &without(there, &pod.uid), &more, is_wanted_there)
        };
        gone.iter().any(creates) || there.iter().any(deletes)
    }
}

fn without<'p>(pods: &[&'p Pod], uid: &PodUid) -> Vec<&'p Pod> {
    pods.iter().copied().filter(|pod| pod.uid != *uid).collect()
}

/// The memory and huge pages that a pod asks for.
fn bytes(pod: &Pod) -> u64 {
    let limits = pod.containers.iter().flat_map(|container| &container.limits);
    let memory = limits.filter(|(name, _)| name.as_str() == "memory" || name.is_hugepages());
    memory.map(|(_, amount)| u64::try_from(amount.value()).unwrap()).sum()
}

/// So many pods of one to three CPUs, when a fifth of those that came has left again: each NUMA node has some free CPUs.
pub(crate) fn spread(node: &Node, pods: usize) -> Ledger {
    let mut ledger = node.empty_ledger();
    let mut leaving = Vec::new();
    for at in 0..4 * pods {
        let cpus = 1 + (at % 3) as u64;
        let asked = Asked { cpus, memory: 512 + 64 * (at % 7) as u64, ..Asked::default() };
        let pod = fixture::pod(&format!("small-{at}"), &[asked]);
        if ledger.pods().count() == pods + leaving.len() {
            break;
        }
        let Some((after, _)) = admit(node, &ledger, &pod) else { continue };
        ledger = after;
        if at % 5 == 0 {
            leaving.push(pod.uid);
        }
    }
    leaving.iter().fold(ledger, |ledger, uid| ledger.release(uid))
}
