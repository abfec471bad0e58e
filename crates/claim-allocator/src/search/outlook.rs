//! Whether a state can still end the search, with a solution or an error.
//!
//! The order of devices does not matter for that, so this looks at groups of interchangeable devices: how many of each a
//! request takes, not which. On the way it counts the calls that the real allocator makes before it gives up on the
//! state, where that is asked for: each set of devices is a call, and a group of a devices gives a over n sets of n.

use alloc::vec::Vec;

use node_cover::OutOfSteps;

use super::candidates::{Candidates, Fill};
use super::classes::{Classes, Use};
use super::entry::{Entry, Taken};
use super::facts::{Answer, Facts};
use super::limits::MOST_RESULTS;
use super::memory::Outlook;
use super::problem::{Form, Order, Want};
use super::state::Search;

type Answered = Result<Outlook, OutOfSteps>;

impl<F: Facts> Search<'_, F> {
    /// The outlook of an alternative that has `placed` devices and chooses more from `start` on.
    pub(crate) fn outlook(&mut self, alternative: usize, placed: i64, start: usize) -> Answered {
        let shape = &self.problem.alternatives[alternative];
        let missing = self.problem.wanted(alternative).saturating_sub(placed);
        let rest = if missing <= 0 {
            self.outlook_of_request(shape.claim, shape.request + 1)?
        } else {
            let Some(list) = self.candidates_from(alternative, start)? else { return Ok(Outlook::Ends) };
            let entry = self.memory.begin();
            let fill = Fill { alternative, list, missing: missing.unsigned_abs(), entry };
            self.outlook_of_fill(&fill, 0, fill.missing)?
        };
        Ok(rest.after_calls(1))
    }

    /// The outlook of everything from a request on, which may be the end of its claim.
    pub(crate) fn outlook_of_request(&mut self, claim: usize, request: usize) -> Answered {
        let problem = self.problem;
        let Some(shape) = problem.claims.get(claim) else { return Ok(Outlook::Ends) };
        if request >= shape.requests.end {
            return Ok(self.outlook_of_request(claim + 1, shape.requests.end)?.after_calls(1));
        }
        self.budget.take()?;
        let key = self.key_of_request(claim, request);
        if let Some(known) = self.memory.known(&key) {
            return Ok(known);
        }
        let request = &problem.requests[request];
        let mut sum = Outlook::Fails(1);
        for alternative in request.alternatives.clone() {
            let calls = u128::from(request.form == Form::FirstAvailable);
            sum = sum.and(self.outlook_of_alternative(alternative)?.after_calls(calls));
            if sum == Outlook::Ends {
                break;
            }
        }
        self.memory.remember(key, sum);
        Ok(sum)
    }

    fn outlook_of_alternative(&mut self, alternative: usize) -> Answered {
        let problem = self.problem;
        let shape = &problem.alternatives[alternative];
        let wanted = problem.wanted(alternative);
        let is_all = matches!(shape.want, Want::All(_));
        if wanted == 0 && is_all {
            return Ok(Outlook::Fails(0));
        }
        if wanted <= 0 {
            return self.outlook_of_request(shape.claim, shape.request + 1);
        }
        let missing = wanted.unsigned_abs();
        if missing > MOST_RESULTS.saturating_sub(self.taken[shape.claim]) {
            return Ok(Outlook::Fails(0));
        }
        if let Want::All(devices) = &shape.want {
            return self.outlook_of_all(alternative, devices);
        }
        let Some(list) = self.candidates(alternative)? else { return Ok(Outlook::Ends) };
        self.outlook_of_fill(&Fill { alternative, list, missing, entry: 0 }, 0, missing)
    }

    /// All of a list, each class at the place of its first device.
    fn outlook_of_all(&mut self, alternative: usize, devices: &[usize]) -> Answered {
        let mut path: Vec<Step> = Vec::new();
        let outlook = self.take_all(alternative, devices, &mut path);
        while let Some(step) = path.pop() {
            self.untake(&step);
        }
        outlook
    }

    fn take_all(&mut self, alternative: usize, devices: &[usize], path: &mut Vec<Step>) -> Answered {
        let shape = &self.problem.alternatives[alternative];
        let mut calls = 0_u128;
        let mut done: Vec<usize> = Vec::new();
        for &device in devices {
            let Some(classes) = &self.classes else { break };
            let class = classes.class_of(device);
            if done.contains(&class) {
                continue;
            }
            done.push(class);
            let groups: Vec<_> = classes.groups_of(class).collect();
            for (group, shape, count) in groups {
                let candidates = Candidates { group, count, class, device, status: shape.status };
                if !self.may_serve(alternative, &candidates) {
                    return Ok(Outlook::Fails(calls));
                }
                for _ in 0..count {
                    match self.take_one(alternative, &candidates)? {
                        Entry::No => return Ok(Outlook::Fails(calls)),
                        Entry::Error(_) => return Ok(Outlook::Ends),
                        Entry::Taken(taken) => path.push(Step { taken, candidates }),
                    }
                    calls += 1;
                }
            }
        }
        Ok(self.outlook_of_request(shape.claim, shape.request + 1)?.after_calls(calls))
    }

    /// The rest of a request from the groups of its list behind `place`.
    fn outlook_of_fill(&mut self, fill: &Fill, place: usize, missing: u64) -> Answered {
        self.budget.take()?;
        let left: u64 = fill.list[place..].iter().map(|candidates| u64::from(candidates.count)).sum();
        if left < missing && self.classes.as_ref().is_some_and(Classes::may_count_ahead) {
            return Ok(Outlook::Fails(0));
        }
        let key = self.key_of_fill(fill, place, missing);
        if let Some(known) = self.memory.known(&key) {
            return Ok(known);
        }
        if !self.later_may_be_served(fill.alternative)? {
            self.memory.remember(key, Outlook::Fails(0));
            return Ok(Outlook::Fails(0));
        }
        let mut sum = Outlook::Fails(0);
        for at in place..fill.list.len() {
            sum = sum.and(self.outlook_of_group(fill, at, missing)?);
            if sum == Outlook::Ends {
                break;
            }
        }
        self.memory.remember(key, sum);
        Ok(sum)
    }

    /// The rest of a request if the next devices are of one group: as many as possible, then fewer.
    fn outlook_of_group(&mut self, fill: &Fill, at: usize, missing: u64) -> Answered {
        let candidates = fill.list[at];
        let mut path: Vec<Step> = Vec::new();
        let mut sum = Outlook::Fails(0);
        while (path.len() as u64) < missing.min(u64::from(candidates.count)) {
            match self.take_one(fill.alternative, &candidates) {
                Ok(Entry::Taken(taken)) => path.push(Step { taken, candidates }),
                Ok(Entry::No) => break,
                Ok(Entry::Error(_)) => {
                    sum = Outlook::Ends;
                    break;
                }
                Err(end) => return self.put_back(path, end),
            }
        }
        while !path.is_empty() {
            if sum != Outlook::Ends {
                let taken = path.len() as u64;
                let sets = binomial(candidates.count, taken);
                let rest = match self.outlook_of_taken(fill, at + 1, missing - taken) {
                    Ok(rest) => rest,
                    Err(end) => return self.put_back(path, end),
                };
                sum = sum.and(rest.times(sets));
            }
            if let Some(step) = path.pop() {
                self.untake(&step);
            }
        }
        Ok(sum)
    }

    /// The budget has ended while these were taken: those that took others before put theirs back as well.
    #[cold]
    fn put_back(&mut self, mut path: Vec<Step>, end: OutOfSteps) -> Answered {
        while let Some(step) = path.pop() {
            self.untake(&step);
        }
        Err(end)
    }

    fn outlook_of_taken(&mut self, fill: &Fill, place: usize, missing: u64) -> Answered {
        let shape = &self.problem.alternatives[fill.alternative];
        let orders = match self.problem.order {
            Order::Combinations => 1,
            Order::Permutations => factorial(fill.missing - missing),
        };
        let (claim, next) = (shape.claim, shape.request + 1);
        if missing == 0 {
            return Ok(self.outlook_of_request(claim, next)?.after_calls(1).times(orders));
        }
        Ok(self.outlook_of_fill(fill, place, missing)?.after_calls(orders))
    }

    /// What a request may choose from at its beginning. `None` if looking at it is an error, which ends the search.
    fn candidates(&mut self, alternative: usize) -> Result<Option<Vec<Candidates>>, OutOfSteps> {
        let Some(classes) = &self.classes else { return Ok(Some(Vec::new())) };
        let mut list = Vec::new();
        for class in 0..classes.len() {
            let kind = classes.use_of(alternative, class);
            if kind == Use::Nothing {
                continue;
            }
            let device = classes.first[class];
            for (group, shape, count) in classes.groups_of(class) {
                if !self.is_usable(alternative, device, shape.status) {
                    continue;
                }
                if kind == Use::Error {
                    return Ok(None);
                }
                list.push(Candidates { group, count, class, device, status: shape.status });
            }
        }
        self.possible(alternative, list)
    }

    /// The same for a request that goes on from a device on.
    fn candidates_from(
        &mut self,
        alternative: usize,
        start: usize,
    ) -> Result<Option<Vec<Candidates>>, OutOfSteps> {
        let Some(classes) = &mut self.classes else { return Ok(Some(Vec::new())) };
        let mut counts: Vec<u32> = alloc::vec![0; classes.groups.len()];
        for device in start..self.problem.devices.len() {
            let group = classes.group(classes.class_of(device), self.status[device]);
            counts[group] += 1;
        }
        let Some(classes) = &self.classes else { return Ok(Some(Vec::new())) };
        let mut list = Vec::new();
        for (group, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let shape = classes.groups[group];
            let device = classes.first[shape.class];
            let kind = classes.use_of(alternative, shape.class);
            if kind == Use::Nothing || !self.is_usable(alternative, device, shape.status) {
                continue;
            }
            if kind == Use::Error {
                return Ok(None);
            }
            list.push(Candidates { group, count, class: shape.class, device, status: shape.status });
        }
        list.sort_by_key(Candidates::order);
        self.possible(alternative, list)
    }

    /// Leaves out groups of which no device can be taken now: then none can be later in the request.
    fn possible(
        &mut self,
        alternative: usize,
        mut list: Vec<Candidates>,
    ) -> Result<Option<Vec<Candidates>>, OutOfSteps> {
        if !self.classes.as_ref().is_some_and(|classes| classes.is_monotone) {
            return Ok(Some(list));
        }
        let mut kept = Vec::with_capacity(list.len());
        for candidates in list.drain(..) {
            match self.take_one(alternative, &candidates)? {
                Entry::No => {}
                Entry::Error(_) => return Ok(None),
                Entry::Taken(taken) => {
                    self.untake(&Step { taken, candidates });
                    kept.push(candidates);
                }
            }
        }
        Ok(Some(kept))
    }

    /// Whether each later request without alternatives has enough candidates, for itself, in this state. What is refused now
    /// stays refused, so that a lack is final.
    fn later_may_be_served(&mut self, alternative: usize) -> Result<bool, OutOfSteps> {
        if !self.classes.as_ref().is_some_and(Classes::may_look_ahead) {
            return Ok(true);
        }
        let problem = self.problem;
        let later = problem.requests[problem.alternatives[alternative].request + 1..].iter();
        for request in later.filter(|request| request.alternatives.len() == 1) {
            if !self.may_be_served(request.alternatives.start)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn may_be_served(&mut self, alternative: usize) -> Result<bool, OutOfSteps> {
        match &self.problem.alternatives[alternative].want {
            Want::Count(count) if *count > 0 => self.has_candidates(alternative, count.unsigned_abs()),
            Want::Count(_) => Ok(true),
            Want::All(devices) => Ok(devices.iter().all(|&device| self.is_free(alternative, device))),
        }
    }

    /// Whether so many devices could be taken now, each for itself. Looks at no more groups than it needs.
    fn has_candidates(&mut self, alternative: usize, wanted: u64) -> Result<bool, OutOfSteps> {
        let mut left = 0;
        for class in 0..self.classes.as_ref().map_or(0, Classes::len) {
            let Some(classes) = &self.classes else { return Ok(true) };
            if classes.use_of(alternative, class) != Use::Candidate {
                continue;
            }
            let device = classes.first[class];
            let groups: Vec<_> = classes.groups_of(class).collect();
            for (group, shape, count) in groups {
                let candidates = Candidates { group, count, class, device, status: shape.status };
                if self.is_usable(alternative, device, shape.status)
                    && let Entry::Taken(taken) = self.take_one(alternative, &candidates)?
                {
                    self.untake(&Step { taken, candidates });
                    left += u64::from(count);
                }
                if left >= wanted {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether all devices of the class of a device may serve an alternative.
    fn is_free(&self, alternative: usize, device: usize) -> bool {
        let Some(classes) = &self.classes else { return true };
        let mut groups = classes.groups_of(classes.class_of(device));
        groups.all(|(_, group, _)| self.is_usable(alternative, device, group.status))
    }

    fn may_serve(&self, alternative: usize, candidates: &Candidates) -> bool {
        let is_blocked = matches!(self.facts.answer(alternative, candidates.device), Answer::No);
        !is_blocked && self.is_usable(alternative, candidates.device, candidates.status)
    }

    fn take_one(
        &mut self,
        alternative: usize,
        candidates: &Candidates,
    ) -> Result<Entry<F::Error>, OutOfSteps> {
        self.budget.take()?;
        let entry = self.enter(alternative, candidates.device, candidates.status);
        if let (Entry::Taken(taken), Some(classes)) = (&entry, &mut self.classes) {
            classes.shift(candidates.class, candidates.status, taken.status);
        }
        Ok(entry)
    }

    fn untake(&mut self, step: &Step) {
        let candidates = &step.candidates;
        if let Some(classes) = &mut self.classes {
            classes.shift(candidates.class, step.taken.status, candidates.status);
        }
        self.leave(&step.taken);
    }
}

/// A device of a group that was taken.
struct Step {
    taken: Taken,
    candidates: Candidates,
}

/// How many sets of `chosen` out of `count` there are.
fn binomial(count: u32, chosen: u64) -> u128 {
    let mut sets = 1_u128;
    for at in 0..chosen {
        sets = sets.saturating_mul(u128::from(u64::from(count).saturating_sub(at))) / u128::from(at + 1);
    }
    sets
}

fn factorial(count: u64) -> u128 {
    (1..=count).fold(1, |product, factor| product.saturating_mul(u128::from(factor)))
}
