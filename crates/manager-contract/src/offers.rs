//! What the answers of a manager offer, set by set.

use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use pod_spec::{Pod, ResourceName, Unit};
use topology_hint::{Affinity, Answer, Answers, Hint, ListedHint, Preference};

use crate::Manager;

/// The answers for one container, written out so that they can be compared.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Offers {
    answers: Vec<(ResourceName, Offer)>,
}

#[derive(Clone, PartialEq, Debug)]
enum Offer {
    Anywhere,
    Nowhere,
    Sets(Vec<ListedHint>),
}

impl Offers {
    pub(crate) fn of<M: Manager>(manager: &M, held: &M::Holdings, unit: Unit<'_>) -> Self {
        let mut answers = Answers::new();
        manager.hints(held, unit, &mut answers);
        let offer = |answer: Answer<'_>| match answer {
            Answer::NoOpinion => Offer::Anywhere,
            Answer::Impossible => Offer::Nowhere,
            Answer::List(list) => Offer::Sets(list.to_vec()),
            Answer::Family(family) if family.accepts_nothing() => Offer::Nowhere,
            Answer::Family(family) => Offer::Sets(family.listed(manager.nodes()).collect()),
        };
        Self { answers: answers.iter().map(|(resource, answer)| (resource.clone(), offer(answer))).collect() }
    }

    /// The answers for every container of every pod.
    pub(crate) fn of_all<M: Manager>(manager: &M, held: &M::Holdings, pods: &[Pod]) -> Vec<Self> {
        let units =
            pods.iter().flat_map(|pod| pod.containers.iter().map(move |own| Unit::Container(pod, own)));
        units.map(|unit| Self::of(manager, held, unit)).collect()
    }

    /// Whether every answer names node sets: without an answer, or with "any node will do", allocation may still fail.
    pub(crate) fn is_promise(&self) -> bool {
        !self.answers.is_empty() && self.answers.iter().all(|(_, offer)| matches!(offer, Offer::Sets(_)))
    }

    /// The hints that every answer agrees to.
    pub(crate) fn agreed(&self, nodes: NodeMask) -> Vec<Hint> {
        if self.answers.iter().any(|(_, offer)| *offer == Offer::Nowhere) {
            return Vec::new();
        }
        let any = self.agrees(Affinity::Any);
        let sets = nodes.subsets().filter_map(|mask| self.agrees(Affinity::Nodes(mask)));
        any.into_iter().chain(sets).collect()
    }

    /// The hint for `affinity`, preferred if every answer prefers it.
    fn agrees(&self, affinity: Affinity) -> Option<Hint> {
        let mut preference = Preference::Preferred;
        for (_, offer) in &self.answers {
            let Offer::Sets(sets) = offer else { continue };
            let mut own = sets.iter().filter(|listed| listed.hint.affinity == affinity);
            if !own.next()?.hint.is_preferred() {
                preference = Preference::Acceptable;
            }
        }
        Some(Hint { affinity, preference })
    }
}
