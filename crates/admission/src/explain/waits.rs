//! Pods whose end would be enough.
//!
//! Pods that ask for the same and hold the same memory, and no CPUs or devices, are alike: the node is the same
//! whichever of them ends. So one of them is tried, or two of them together, and the result holds for all. On a
//! node with 500 pods, most of which share CPUs, that leaves a few dozen attempts of hundreds.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use cpu_manager::Within;
use device_manager::AllocateError;
use pod_spec::{Pod, PodUid, ResourceName};
use topology_policy::KubeletPolicy;

use crate::attempt::refusal::Cause;
use crate::explain::change::Change;
use crate::explain::explanation::WouldFit;
use crate::explain::trial::{MOST_OF_A_KIND, Trial};
use crate::ledger::Ledger;
use crate::node::identity::Mismatch;

impl<'a> Trial<'a> {
    /// Single pods whose end is enough; where there is none, one pair.
    pub(crate) fn waits(&mut self) -> Vec<WouldFit> {
        let candidates = self.worth_waiting_for();
        // What dead pods hold is collected once, and not after each release.
        let ledger = self.ledger.collected();
        let mut found = Vec::new();
        let mut is_of_no_use = BTreeSet::new();
        for candidate in candidates.iter().filter(|candidate| candidate.is_first() || candidate.is_second()) {
            if is_of_no_use.contains(&candidate.kind) {
                continue;
            }
            match self.wait(&ledger, &[candidate.uid]) {
                Some(enough) => found.push(enough),
                None => drop(is_of_no_use.insert(candidate.kind)),
            }
            if found.len() == MOST_OF_A_KIND {
                return found;
            }
        }
        // Of every other pair one that is alike comes before.
        let pairs =
            candidates.iter().enumerate().filter(|(_, first)| first.is_first()).flat_map(|(at, first)| {
                let later = candidates[at + 1..].iter();
                later.map(move |second| (first, second)).filter(|(first, second)| {
                    second.is_first() || second.kind == first.kind && second.is_second()
                })
            });
        for (first, second) in pairs {
            if !found.is_empty() || self.is_cut() {
                break;
            }
            found.extend(self.wait(&ledger, &[first.uid, second.uid]));
        }
        found
    }

    /// `ledger` is that of now.
    fn wait(&mut self, ledger: &Ledger, gone: &[&PodUid]) -> Option<WouldFit> {
        if !self.could_have_cpus(ledger, gone) {
            return None;
        }
        let without = gone.iter().fold(ledger.clone(), |ledger, uid| ledger.release(uid));
        let gone = gone.iter().map(|uid| (*uid).clone()).collect();
        self.attempt_beside(without).with(Change::Wait(gone))
    }

    /// Whether there could be enough CPUs without these pods: an attempt costs a thousand times as much.
    fn could_have_cpus(&self, ledger: &Ledger, gone: &[&PodUid]) -> bool {
        let (Some(policy), Some(held)) = (self.node.cpus(), ledger.cpus()) else { return true };
        let mut free = policy.available(held);
        for uid in gone {
            held.of_pod(uid).for_each(|(_, cpus)| free |= cpus);
            held.whole_pod(uid).into_iter().for_each(|cpus| free |= cpus);
        }
        let within = match self.rules.policy {
            KubeletPolicy::SingleNumaNode => Within::OneNode,
            KubeletPolicy::Restricted | KubeletPolicy::BestEffort | KubeletPolicy::None => Within::AllNodes,
        };
        policy.could_have_room(&self.classified, &free, within)
    }

    /// The pods that have something of what was lacking, those that ask for least first.
    fn worth_waiting_for(&self) -> Vec<Candidate<'a>> {
        let ledger = self.ledger;
        let holders = match &self.refused.cause {
            // Requests decide the first two; no pod's end changes the node's labels or brings back a plugin.
            Cause::Shortage(_)
            | Cause::NobodyToPreempt(_)
            | Cause::Mismatch(_)
            | Cause::Devices(AllocateError::Unregistered(_)) => BTreeSet::new(),
            _ => ledger.holders(),
        };
        let has_some = |other: &Pod| match &self.refused.cause {
            Cause::Shortage(shortages) => shortages.iter().any(|shortage| {
                shortage.resource.as_str() == "pods" || ledger.requested(&other.uid, &shortage.resource) > 0
            }),
            Cause::NobodyToPreempt(error) => error.0.iter().any(|(resource, _)| {
                resource.as_str() == "pods" || ledger.requested(&other.uid, resource) > 0
            }),
            Cause::Mismatch(Mismatch::NodePorts) => !other.constraints.host_ports.is_empty(),
            Cause::Mismatch(_) => false,
            _ => holders.contains(&other.uid),
        };
        let others = ledger.pods_by_arrival().filter(|other| other.uid != self.pod.uid && has_some(other));
        let (cpu, memory) = (ResourceName::new("cpu"), ResourceName::new("memory"));
        let asks = |uid| (ledger.requested(uid, &cpu), ledger.requested(uid, &memory));
        let mut others: Vec<((i64, i64), &Pod)> = others.map(|other| (asks(&other.uid), other)).collect();
        others.sort_by_key(|(asks, _)| *asks);
        let mut candidates: Vec<Candidate<'a>> = Vec::new();
        // The first of each kind among those that ask for as much.
        let mut kinds: Vec<(Kind, &Pod, usize)> = Vec::new();
        let (mut next, mut before) = (0, None);
        for (asks, pod) in others {
            if before.replace(asks) != Some(asks) {
                kinds.clear();
            }
            let known = kinds.iter_mut().find(|(_, first, _)| ledger.are_alike(first, pod));
            let (kind, earlier) = if let Some((kind, _, members)) = known {
                *members += 1;
                (*kind, *members)
            } else {
                let kind = Kind(next);
                next += 1;
                kinds.push((kind, pod, 0));
                (kind, 0)
            };
            candidates.push(Candidate { uid: &pod.uid, kind, earlier });
        }
        candidates
    }
}

/// Pods that are alike have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Kind(usize);

/// A pod whose end may be enough.
struct Candidate<'a> {
    uid: &'a PodUid,
    kind: Kind,
    /// So many that are alike come before.
    earlier: usize,
}

impl Candidate<'_> {
    const fn is_first(&self) -> bool {
        self.earlier == 0
    }

    const fn is_second(&self) -> bool {
        self.earlier == 1
    }
}
