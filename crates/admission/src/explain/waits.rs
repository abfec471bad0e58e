//! Whose end would be enough.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use device_manager::AllocateError;
use pod_spec::{Pod, PodUid, ResourceName};

use crate::attempt::refusal::Cause;
use crate::explain::change::Change;
use crate::explain::explanation::WouldFit;
use crate::explain::trial::{MOST_OF_A_KIND, Trial};
use crate::node::identity::Mismatch;

impl Trial<'_> {
    /// Single pods whose end is enough; where there is none, one pair.
    pub(crate) fn waits(&mut self) -> Vec<WouldFit> {
        let others = self.worth_waiting_for();
        let mut found = Vec::new();
        for uid in &others {
            found.extend(self.wait(&[uid]));
            if found.len() == MOST_OF_A_KIND {
                return found;
            }
        }
        let pairs = others
            .iter()
            .enumerate()
            .flat_map(|(at, first)| others[at + 1..].iter().map(move |second| [first, second]));
        for pair in pairs {
            if !found.is_empty() || self.is_cut() {
                break;
            }
            found.extend(self.wait(&pair));
        }
        found
    }

    fn wait(&mut self, gone: &[&PodUid]) -> Option<WouldFit> {
        let without = gone.iter().fold(self.ledger.clone(), |ledger, uid| ledger.release(uid));
        let gone = gone.iter().map(|uid| (*uid).clone()).collect();
        self.attempt_beside(without).with(Change::Wait(gone))
    }

    /// The pods that have something of what was lacking, those that ask for least first.
    fn worth_waiting_for(&self) -> Vec<PodUid> {
        let ledger = self.ledger;
        let holders = match &self.refused.cause {
            // The first two are told by what pods ask for; nobody's end makes another node of it, nor brings back a plugin.
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
        let mut others: Vec<&PodUid> = ledger
            .pods_by_arrival()
            .filter(|other| other.uid != self.pod.uid && has_some(other))
            .map(|other| &other.uid)
            .collect();
        let (cpu, memory) = (ResourceName::new("cpu"), ResourceName::new("memory"));
        others.sort_by_key(|uid| (ledger.requested(uid, &cpu), ledger.requested(uid, &memory)));
        others.into_iter().cloned().collect()
    }
}
