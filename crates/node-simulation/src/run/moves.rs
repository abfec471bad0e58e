//! Pods that move so that one fits that no machine had room for.
//!
//! First each single pod is tried, those with the fewest CPUs first, then two of one machine, and so on. Without these the
//! refused pod has to fit their machine, and then the scheduler has to find a machine for each of them, where they are made
//! anew: else all stays as it was.

use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use pod_spec::{Pod, PodUid};

use super::{Decision, Observer, Run, one_of};
use crate::fleet::Repack;
use crate::outcome::Searches;
use crate::site::{Arrived, Running, Saved};
use crate::workload::Arrival;

/// So many sets of pods are tried for one pod.
const TRIES: usize = 1000;

impl Run<'_> {
    /// Makes room for a pod that was refused, and lets it run; whether that was possible.
    pub(super) fn make_room(
        &mut self,
        repack: Repack,
        pod: &Pod,
        number: usize,
        (now, tries): (Duration, u32),
        arrival: Arrival,
        observer: &mut dyn Observer,
    ) -> bool {
        let mut left = TRIES;
        for count in 1..=repack.most.get() as usize {
            for (at, set) in self.sets(count, left) {
                left -= 1;
                let fits = self.sites.get(at).is_some_and(|site| site.fits_without(&set, pod));
                if fits && self.moved(repack, (at, &set), (pod, number), (now, tries), arrival, observer) {
                    return true;
                }
            }
        }
        false
    }

    /// Sets of so many pods of one machine each, those with the fewest CPUs first; at most so many.
    fn sets(&self, count: usize, most: usize) -> Vec<(usize, Vec<PodUid>)> {
        let size = |kind: usize, template: usize| self.choice.cpus(kind, template);
        let mut sets: Vec<(i64, usize, Vec<PodUid>)> = Vec::new();
        for (at, site) in self.sites.iter().enumerate().filter(|(_, site)| site.claims.is_none()) {
            let pods: Vec<(i64, &PodUid)> =
                site.running.iter().map(|(uid, own)| (size(site.kind, own.template), uid)).collect();
            combinations(pods.len(), count, most, &mut |chosen| {
                let chosen = || chosen.iter().filter_map(|at| pods.get(*at));
                let uids = chosen().map(|(_, uid)| PodUid::clone(uid)).collect();
                sets.push((chosen().map(|(size, _)| size).sum(), at, uids));
            });
        }
        sets.sort();
        sets.truncate(most);
        sets.into_iter().map(|(_, at, set)| (at, set)).collect()
    }

    /// Takes the pods of a set off their machine, lets `pod` run there, and finds machines for them.
    fn moved(
        &mut self,
        repack: Repack,
        (at, set): (usize, &[PodUid]),
        (pod, number): (&Pod, usize),
        (now, tries): (Duration, u32),
        arrival: Arrival,
        observer: &mut dyn Observer,
    ) -> bool {
        let mut before: Vec<(usize, Saved)> = Vec::new();
        self.save(at, &mut before);
        let cpus = self.begin_change(at, now);
        let moving: Vec<Running> = set.iter().filter_map(|uid| self.take(at, uid)).collect();
        let leaves = arrival.stays.map(|stays| now.saturating_add(stays));
        let own = Running { template: arrival.template, number, leaves };
        let settled = match self.sites.get_mut(at).map(|site| site.arrive(pod)) {
            Some(Arrived::Admitted(placement, settled)) if placement.preempted.is_empty() => {
                Some((placement, settled))
            }
            _ => None,
        };
        if settled.is_some() {
            self.begin_running(at, pod, own);
        }
        self.end_change(at, cpus);
        let mut placed = Vec::new();
        let all_found = settled.is_some()
            && moving.into_iter().all(|own| {
                let found = self.place_again(repack, own, now, &mut before);
                placed.extend(found);
                placed.len() <= set.len() && found_last(&placed, own.number)
            });
        let (Some((placement, settled)), true) = (settled, all_found) else {
            for (at, saved) in before {
                let cpus = self.begin_change(at, now);
                if let Some(site) = self.sites.get_mut(at) {
                    self.running = self.running + saved.running() - site.running.len() as u64;
                    site.restore(saved);
                }
                self.end_change(at, cpus);
            }
            return false;
        };
        let kind = self.sites.get(at).map_or(0, |site| site.kind);
        self.outcome.moves += placed.len() as u64;
        for (at, uid, own) in placed.into_iter().chain([(at, pod.uid.clone(), own)]) {
            if let Some(leaves) = own.leaves {
                self.departures.push(Reverse((leaves, own.number, at, uid)));
            }
        }
        self.changes += 1;
        self.count_admitted(kind, arrival, tries, now, &settled);
        observer.decided(number, Decision::Admitted(&placement));
        true
    }

    /// Finds a machine for a pod that moves: where it is, as what, and until when.
    fn place_again(
        &mut self,
        repack: Repack,
        own: Running,
        now: Duration,
        before: &mut Vec<(usize, Saved)>,
    ) -> Option<(usize, PodUid, Running)> {
        let sent = self.templates.get(own.template).map(|template| &template.pod)?;
        let again = one_of(sent, own.number, 1);
        let moves = self.outcome.moves;
        let pod = Pod { uid: PodUid::new(&format!("{}.moved-{moves}", again.uid)), ..again };
        let mut searches = Searches::default();
        let at = self.choice.choose(&mut self.sites, own.template, &pod, &mut searches).ok()?;
        self.save(at, before);
        let cpus = self.begin_change(at, now);
        let is_admitted = matches!(
            self.sites.get_mut(at).map(|site| site.arrive(&pod)),
            Some(Arrived::Admitted(placement, _)) if placement.preempted.is_empty()
        );
        let own = Running { leaves: own.leaves.map(|leaves| leaves.saturating_add(repack.price)), ..own };
        if is_admitted {
            self.begin_running(at, &pod, own);
        }
        self.end_change(at, cpus);
        is_admitted.then_some((at, pod.uid, own))
    }

    /// Remembers a machine as it is, unless it is remembered.
    fn save(&self, at: usize, before: &mut Vec<(usize, Saved)>) {
        if let Some(site) = self.sites.get(at).filter(|_| before.iter().all(|(other, _)| *other != at)) {
            before.push((at, site.saved()));
        }
    }

    /// Takes a pod off its machine.
    fn take(&mut self, at: usize, uid: &PodUid) -> Option<Running> {
        let site = self.sites.get_mut(at)?;
        let own = *site.running.get(uid)?;
        site.leave(uid);
        self.forget(at, uid);
        Some(own)
    }

    /// A pod that its machine has admitted runs.
    pub(super) fn begin_running(&mut self, at: usize, pod: &Pod, own: Running) {
        let Some(site) = self.sites.get_mut(at) else { return };
        site.running.insert(pod.uid.clone(), own);
        if let Some(sums) = self.choice.sums(site.kind, own.template) {
            site.account.enter(sums);
        }
        self.running += 1;
    }
}

/// Whether the pod of that number was placed last.
fn found_last(placed: &[(usize, PodUid, Running)], number: usize) -> bool {
    placed.last().is_some_and(|(_, _, own)| own.number == number)
}

/// Calls `each` with the first `most` choices of `count` of so many things, in ascending order.
fn combinations(of: usize, count: usize, most: usize, each: &mut impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..count).collect();
    for _ in 0..most {
        if chosen.last().is_none_or(|last| *last >= of) {
            return;
        }
        each(&chosen);
        // The last that can be raised; those after it follow it.
        let Some(at) = (0..count).rev().find(|at| chosen[*at] < of - count + at) else { return };
        let first = chosen[at] + 1;
        for (next, place) in chosen[at..].iter_mut().enumerate() {
            *place = first + next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_come_once() {
        let all = |of, count, most| {
            let mut all = Vec::new();
            combinations(of, count, most, &mut |chosen| all.push(chosen.to_vec()));
            all
        };
        assert_eq!(all(3, 2, 9), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(all(2, 1, 9), [[0], [1]]);
        assert_eq!(all(5, 3, 1000).len(), 10);
        assert_eq!(all(5, 3, 4).len(), 4);
        assert_eq!(all(2, 3, 9), [[0_usize; 0]; 0]);
    }
}
