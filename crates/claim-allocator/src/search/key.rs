//! What a state is remembered by.
//!
//! A state is written as what the rest of the search can tell of it: the place in the claims, how many devices the claim
//! has, the groups of devices that are not as in the beginning, and the states of constraints, counters and groups. What
//! no later request can use is left out, and a group with more devices than all requests to come can take counts as
//! one with just one more than that.

use alloc::vec::Vec;

use super::candidates::{Candidates, Fill};
use super::classes::{Classes, Use};
use super::facts::Facts;
use super::state::Search;
use super::status::UNTOUCHED;

impl<F: Facts> Search<'_, F> {
    /// The state in front of a request.
    pub(crate) fn key_of_request(&self, claim: usize, request: usize) -> Vec<u32> {
        let mut key = Vec::with_capacity(32);
        key.extend([number(request), 0, number(claim), self.taken_of(claim)]);
        if let Some(classes) = &self.classes {
            self.write_groups(classes, request, request, &mut key);
        }
        self.write_rest(claim, request, &mut key);
        key
    }

    /// The state within a request: groups of its list from `place` on may still give devices.
    pub(crate) fn key_of_fill(&self, fill: &Fill, place: usize, missing: u64) -> Vec<u32> {
        let shape = &self.problem.alternatives[fill.alternative];
        let mut key = Vec::with_capacity(32);
        key.extend([number(shape.request), 1 + number(fill.alternative), fill.entry]);
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        let next = fill.list.get(place).map_or(0, |candidates| 1 + number(candidates.group));
        key.extend([next, missing, self.taken_of(shape.claim)]);
        let Some(classes) = &self.classes else { return key };
        if fill.entry == 0 {
            Self::write_list(classes, fill, place, missing, &mut key);
        }
        key.push(u32::MAX);
        // Of what later requests use, this one may take a part before them.
        self.write_groups(classes, shape.request + 1, shape.request, &mut key);
        self.write_rest(shape.claim, shape.request, &mut key);
        key
    }

    /// How many devices the groups from `place` on have for the request, where that is not as in the beginning.
    fn write_list(classes: &Classes, fill: &Fill, place: usize, missing: u32, key: &mut Vec<u32>) {
        let most = if classes.counts_steps() { u32::MAX } else { missing };
        let rest = &fill.list[place..];
        let Some(first) = rest.first().map(Candidates::order) else { return };
        for group in classes.touched() {
            let shape = classes.groups[group];
            if (shape.class, group) < first || classes.use_of(fill.alternative, shape.class) != Use::Candidate
            {
                continue;
            }
            let initial = if shape.status == UNTOUCHED { classes.size_of(shape.class) } else { 0 };
            let found = rest.iter().find(|candidates| candidates.group == group);
            let now = found.map_or(0, |candidates| candidates.count);
            if now.min(most) != initial.min(most) {
                key.extend([number(group), now.min(most)]);
            }
        }
    }

    /// The groups that requests from `used_by` on can use, as far as those from `taken_by` on can take them.
    fn write_groups(&self, classes: &Classes, used_by: usize, taken_by: usize, key: &mut Vec<u32>) {
        for group in classes.touched() {
            if let Some((now, initial)) = classes.counts_for(group, used_by, taken_by, self.problem)
                && now != initial
            {
                key.extend([number(group), now]);
            }
        }
    }

    fn write_rest(&self, claim: usize, request: usize, key: &mut Vec<u32>) {
        let Some(classes) = &self.classes else { return };
        key.push(u32::MAX);
        if let Some(shape) = self.problem.claims.get(claim) {
            for (place, seen) in self.seen[claim].iter().enumerate() {
                let later = self.problem.requests[request.min(shape.requests.end)..shape.requests.end].iter();
                let mut alternatives = later.flat_map(|request| request.alternatives.clone());
                if alternatives.any(|at| self.problem.alternatives[at].constraints.contains(&place)) {
                    seen.write(key);
                }
            }
        }
        for (pool, drawn) in
            self.drawn.iter().enumerate().filter(|(pool, _)| classes.pool_matters(*pool, request))
        {
            let amounts = drawn.iter().enumerate().filter(|(_, amount)| **amount != 0);
            for (counter, amount) in amounts {
                key.extend([number(pool), number(counter)]);
                key.extend(
                    amount
                        .to_le_bytes()
                        .chunks_exact(4)
                        .map(|part| part.iter().rev().fold(0, |sum, byte| (sum << 8) | u32::from(*byte))),
                );
            }
        }
        key.push(u32::MAX);
        self.groups.iter().for_each(|groups| groups.write(key));
    }

    fn taken_of(&self, claim: usize) -> u32 {
        self.taken.get(claim).map_or(0, |&taken| u32::try_from(taken).unwrap_or(u32::MAX))
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
