//! Pods that have been offered nodes and are not bound yet: any of those nodes may get them.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use pod_spec::PodUid;

use crate::member::Place;
use crate::question::Question;
use crate::shape::Shape;

/// Up to so many pods that are in flight at one node are taken in all combinations; more of them all together or not at
/// all.
const FEW: usize = 3;

/// The pods in flight, in the order in which they were offered.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Vec<Offer>);

#[derive(Debug)]
struct Offer {
    pod: PodUid,
    shape: Shape,
    nodes: BTreeSet<Place>,
}

impl InFlight {
    pub(crate) fn offer(&mut self, pod: PodUid, shape: Shape, nodes: BTreeSet<Place>) {
        self.end(&pod);
        if !nodes.is_empty() {
            self.0.push(Offer { pod, shape, nodes });
        }
    }

    pub(crate) fn end(&mut self, pod: &PodUid) {
        self.0.retain(|offer| offer.pod != *pod);
    }

    /// Ends the offers of pods whose node is known, though no binding was reported.
    pub(crate) fn end_known(&mut self, is_known: impl Fn(&PodUid) -> bool) {
        self.0.retain(|offer| !is_known(&offer.pod));
    }

    /// The node is no longer there.
    pub(crate) fn leave(&mut self, place: Place) {
        for offer in &mut self.0 {
            offer.nodes.remove(&place);
        }
        self.0.retain(|offer| !offer.nodes.is_empty());
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodUid> {
        self.0.iter().map(|offer| &offer.pod)
    }

    /// Which offers, apart from that of `pod` itself, have been made for a node.
    pub(crate) fn at<'a>(&'a self, place: Place, pod: &'a PodUid) -> impl Iterator<Item = usize> + 'a {
        let here = self.0.iter().enumerate();
        here.filter(move |(_, offer)| offer.pod != *pod && offer.nodes.contains(&place)).map(|(at, _)| at)
    }

    /// What a node with these offers is asked for a pod of this shape: the first question is the one without
    /// pods beside it.
    pub(crate) fn questions(&self, offers: &[usize], shape: &Shape) -> Vec<Question> {
        let shapes: Vec<&Shape> =
            offers.iter().filter_map(|at| self.0.get(*at)).map(|offer| &offer.shape).collect();
        let sets: Vec<u32> = match shapes.len() {
            0 => Vec::from([0]),
            few @ 1..=FEW => (0..1 << few).collect(),
            _ => Vec::from([0, u32::MAX]),
        };
        let beside = |set: &u32| {
            let chosen = shapes.iter().enumerate().filter(|(at, _)| *set == u32::MAX || *set >> at & 1 == 1);
            chosen.map(|(_, shape)| (*shape).clone()).collect()
        };
        sets.iter().map(|set| Question { beside: beside(set), shape: shape.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use pod_spec::Pod;

    use super::*;

    #[test]
    fn few_pods_are_taken_in_all_combinations_and_many_all_together() {
        let shape = Shape::of(&Pod::new("default", "a", Vec::new()));
        let mut in_flight = InFlight::default();
        for number in 0..5 {
            let pod = PodUid::new(&alloc::format!("{number}"));
            in_flight.offer(pod, shape.clone(), BTreeSet::from([Place(0), Place(number)]));
        }
        let beside = |offers: &[usize]| {
            let questions = in_flight.questions(offers, &shape);
            questions.iter().map(|question| question.beside.len()).collect::<Vec<_>>()
        };
        assert_eq!(beside(&[]), [0]);
        assert_eq!(beside(&[4]), [0, 1]);
        assert_eq!(beside(&[0, 2]), [0, 1, 1, 2]);
        assert_eq!(beside(&[0, 1, 2]), [0, 1, 1, 2, 1, 2, 2, 3]);
        assert_eq!(beside(&[0, 1, 2, 3]), [0, 4]);
        let own = PodUid::new("2");
        assert_eq!(in_flight.at(Place(2), &own).count(), 0);
        assert_eq!(in_flight.at(Place(0), &own).collect::<Vec<_>>(), [0, 1, 3, 4]);
        in_flight.leave(Place(0));
        assert_eq!(in_flight.pods().count(), 4, "one was offered this node alone");
    }
}
