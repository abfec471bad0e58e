//! The search for the smallest plan: size by size, and of each size set by set.
//!
//! Of each size every set is tried in two rounds. The first deletes a set at once: few attempts, and nearly
//! always enough. The second tries all other orders, of those sets that come before the one that the first
//! round found. While larger sets are still to come, it may use half of what attempts are left; the result
//! reports what it leaves out.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::{Pod, PodUid};
use topology_policy::KubeletPolicy;

use crate::attempt::admission::Admission;
use crate::attempt::trace::{Search, Trace};
use crate::explain::explanation::{Limits, Plugins};
use crate::ledger::Ledger;
use crate::node::Node;
use crate::repack::attempts::{Attempts, Comer, Tried};
use crate::repack::movable::{self, Candidate, LeftAlone};
use crate::repack::orders::{MOST_MOVED, Ordered, Orderer, Orders};
use crate::repack::plan::{Hopeless, Plan, Repack, Step};
use crate::repack::room::Bound;
use crate::repack::sets::{Set, sets};

/// So many attempts are made for a pod that does not fit without all pods that could be moved either, or a tenth of all.
const UNLIKELY: usize = 500;

/// A refused pod, and the pods that could be moved for it.
pub(crate) struct MoveSearch<'a> {
    /// Without what dead pods hold.
    ledger: Ledger,
    wanted: Comer,
    residents: Vec<Comer>,
    candidates: Vec<Candidate>,
    left_alone: Vec<(PodUid, LeftAlone)>,
    bound: Bound,
    hints_grow: bool,
    attempts: Attempts<'a>,
}

/// A plan as far as it is found.
struct Found {
    /// The position of its set.
    at: usize,
    steps: Vec<Step>,
    plugins: Plugins,
}

impl<'a> MoveSearch<'a> {
    pub(crate) fn new(admission: Admission<'a>, trace: &Trace, limits: Limits<'a>) -> Self {
        let Admission { node, ledger, pod, replies, rules, .. } = admission;
        let (candidates, left_alone) = movable::candidates(ledger, &pod.uid, limits.kept);
        // What dead pods hold is collected once, and not after each release.
        let collected = ledger.collected();
        let is_known = ledger.knows(&pod.uid);
        let bound = if is_known { Bound::NONE } else { Bound::new(node, &collected, trace, &candidates) };
        let of_uid = |candidate: &Candidate| ledger.shared_pods().find(|pod| pod.uid == candidate.uid);
        let residents = candidates.iter().filter_map(of_uid).map(|pod| node.comer(pod)).collect();
        Self {
            ledger: collected,
            wanted: Comer { pod: Arc::new(node.classified(pod.clone())), rules },
            residents,
            candidates,
            left_alone,
            bound,
            hints_grow: !is_known && node.hints_grow(rules.policy),
            attempts: Attempts::new(node, ledger, replies, &limits),
        }
    }

    /// Whether the pod is refused even where no pod that may be moved is left. If that proves nothing, since hints of memory
    /// can come with what others hold, few attempts are left.
    pub(crate) fn hopeless(&mut self) -> Option<Hopeless> {
        if self.candidates.is_empty() {
            return Some(Hopeless::NotWithoutThem);
        }
        if self.attempts.left() < 2 {
            return None;
        }
        let without =
            self.candidates.iter().fold(self.ledger.clone(), |ledger, other| ledger.release(&other.uid));
        match self.attempts.create(&without, &self.wanted) {
            Tried::NotAligned if self.hints_grow => Some(Hopeless::NotWithoutThem),
            Tried::NotAligned | Tried::Refused => {
                self.attempts.leave(UNLIKELY.max(self.attempts.left() / 10));
                None
            }
            Tried::Created(_) | Tried::CutOff => None,
        }
    }

    /// The smallest plan that moves at most so many pods, or the best that was found.
    pub(crate) fn plan(&mut self, most: usize) -> Option<Plan> {
        let most = most.min(self.candidates.len()).min(MOST_MOVED);
        let ledger = self.ledger.clone();
        let residents = core::mem::take(&mut self.residents);
        let mut orderer = Orderer::new(&ledger, self.wanted.clone(), residents, self.hints_grow);
        for size in 1..=most {
            let (sets, search) = sets(&self.candidates, size, &self.bound);
            if search == Search::Cut {
                self.attempts.search = Search::Cut;
            }
            if let Some(Found { at, steps, plugins }) = self.of_size(&mut orderer, &sets, size == most) {
                return Some(self.made(&sets[at], steps, plugins));
            }
            if self.attempts.are_over() && size < most {
                self.attempts.cut();
                break;
            }
        }
        None
    }

    fn of_size(&mut self, orderer: &mut Orderer<'_>, sets: &[Set], is_last: bool) -> Option<Found> {
        let mut is_dead = alloc::vec![false; sets.len()];
        let mut found: Option<Found> = None;
        for (at, set) in sets.iter().enumerate() {
            if self.attempts.are_over() {
                self.attempts.cut();
                break;
            }
            match orderer.order(set, Orders::AllAtOnce, &mut self.attempts) {
                Ordered::Found(steps, plugins) => {
                    found = Some(Found { at, steps, plugins });
                    break;
                }
                Ordered::Dead => is_dead[at] = true,
                Ordered::None => {}
            }
        }
        let before = found.as_ref().map_or(sets.len(), |found| found.at);
        let keep = if is_last || found.is_some() { 0 } else { self.attempts.left() / 2 };
        for (at, set) in sets[..before].iter().enumerate().filter(|(at, _)| !is_dead[*at]) {
            if self.attempts.left() <= keep {
                self.attempts.cut();
                break;
            }
            if let Ordered::Found(steps, plugins) = orderer.order(set, Orders::Others, &mut self.attempts) {
                return Some(Found { at, steps, plugins });
            }
        }
        found
    }

    fn made(&self, set: &Set, steps: Vec<Step>, plugins: Plugins) -> Plan {
        let deleted = steps.iter().filter_map(|step| match step {
            Step::Delete(uid) => Some(uid.clone()),
            Step::Create { .. } => None,
        });
        Plan {
            made_against: self.ledger.version(),
            pod: self.wanted.pod.uid.clone(),
            moved: deleted.collect(),
            bytes: set.iter().map(|at| self.candidates[*at].bytes).fold(0, u64::saturating_add),
            steps,
            plugins,
        }
    }

    pub(crate) fn end(self, plan: Option<Plan>, hopeless: Option<Hopeless>) -> Repack {
        Repack {
            plan,
            search: self.attempts.search,
            hopeless,
            left_alone: self.left_alone,
            movable: self.candidates.len(),
            attempts: self.attempts.made,
        }
    }
}

impl Node {
    /// A pod as it is admitted here.
    fn comer(&self, pod: &Arc<Pod>) -> Comer {
        Comer { pod: Arc::new(self.classified(Pod::clone(pod))), rules: self.rules_of(pod) }
    }

    /// Whether the hints of a pod suit a policy whenever they suit it where more is held. Which memory hints are preferred
    /// depends on what is held, and a provider of one's own may do as it likes.
    fn hints_grow(&self, policy: KubeletPolicy) -> bool {
        let is_policy = match policy {
            KubeletPolicy::SingleNumaNode => true,
            KubeletPolicy::Restricted => self.memory.is_none(),
            KubeletPolicy::BestEffort | KubeletPolicy::None => false,
        };
        is_policy && self.others.is_empty()
    }
}
