//! Whether a pod fits nodes once others have been ended for it.
//!
//! kube-scheduler proposes victims for each node by sums. Here a node stays a candidate only if the pod fits there, by the
//! kubelet's rules, after all its victims have gone.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use pod_spec::{Pod, PodUid};

use crate::basis::{Basis, Exact};
use crate::filter::fits;
use crate::question::Question;
use crate::shape::Shape;
use crate::view::View;

/// Whether victims are spared that need not go by the rules of the kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sparing {
    /// All go. For kube-scheduler: it has spared already whom it could, and its filters require each of those
    /// that are left to go. Not all of these filters are known here (anti-affinity, volumes, spreading).
    Nobody,
    /// As many as can stay do, the most important first: by priority, then those that came first. For a scheduler that
    /// proposes all pods of lower priority.
    WhoeverCanStay,
}

impl View {
    /// The nodes on which `pod` fits once the victims have gone, with the victims that have to go. A node that
    /// does not get room for the pod is left out. A node without exact state keeps all its victims in the list.
    #[must_use]
    pub fn preempt(
        &self,
        pod: &Pod,
        candidates: &BTreeMap<String, Vec<PodUid>>,
        sparing: Sparing,
    ) -> BTreeMap<String, Vec<PodUid>> {
        let shape = Shape::of(pod);
        let victims = candidates.iter().filter_map(|(node, victims)| {
            Some((node.to_owned(), self.victims(pod, &shape, node, victims, sparing)?))
        });
        victims.collect()
    }

    /// `None`: the pod does not fit even after all have gone.
    fn victims(
        &self,
        pod: &Pod,
        shape: &Shape,
        node: &str,
        victims: &[PodUid],
        sparing: Sparing,
    ) -> Option<Vec<PodUid>> {
        let all = || Some(victims.to_vec());
        let Some(place) = self.by_name.get(node).copied() else { return all() };
        let Some(Basis::Exact(exact)) = self.members.get(place.0)?.basis().map(AsRef::as_ref) else {
            return all();
        };
        let offers: Vec<usize> = self.in_flight.at(place, &pod.uid).collect();
        let questions = self.in_flight.questions(&offers, shape);
        if !makes_room(exact.without(victims), &questions) {
            return None;
        }
        if sparing == Sparing::Nobody {
            return all();
        }
        let mut going = victims.to_vec();
        for victim in most_important_first(exact, victims) {
            let without_it: Vec<PodUid> = going.iter().filter(|other| **other != victim).cloned().collect();
            if makes_room(exact.without(&without_it), &questions) {
                going = without_it;
            }
        }
        Some(going)
    }
}

fn makes_room(exact: Exact, questions: &[Question]) -> bool {
    let basis = Basis::Exact(exact);
    questions.iter().all(|question| fits(&basis, question))
}

/// Those of which the node does not know come first: they hold nothing there.
fn most_important_first(exact: &Exact, victims: &[PodUid]) -> Vec<PodUid> {
    let mut running: Vec<&Pod> =
        exact.ledger.pods_by_arrival().filter(|pod| victims.contains(&pod.uid)).collect();
    // Stable: of equal priority those that came first stay first.
    running.sort_by_key(|pod| Reverse(pod.constraints.priority));
    let unknown = victims.iter().filter(|victim| !exact.ledger.has_pod(victim));
    unknown.chain(running.into_iter().map(|pod| &pod.uid)).cloned().collect()
}
