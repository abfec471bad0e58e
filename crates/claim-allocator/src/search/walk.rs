//! The real order: claims, requests, alternatives and devices one after the other, each tried to its end.

use alloc::vec::Vec;

use super::entry::{Entry, Taken};
use super::facts::{Answer, Facts};
use super::limits::MOST_RESULTS;
use super::memory::Outlook;
use super::outcome::{Choice, Outcome};
use super::problem::{Form, Order, Want};
use super::state::Search;
use super::status::StatusId;

/// How a part of the search ended.
pub(crate) enum End<E> {
    Found,
    Failed,
    /// The claim would have more results than it can. The alternative that led here is given up without trying more.
    Exceeded,
    Error(E),
    Cut,
}

/// A class of devices and what the search did with it, where classes are known.
type Kind = (usize, StatusId);

impl<F: Facts> Search<'_, F> {
    /// From the first request on. Where classes are known and nothing can end the search, nothing is walked.
    pub(crate) fn walk(&mut self) -> End<F::Error> {
        let first = self.problem.claims.first().map_or(0, |claim| claim.requests.start);
        if self.classes.is_some() {
            match self.outlook_of_request(0, first) {
                Ok(Outlook::Ends) => {}
                Ok(Outlook::Fails(steps)) => {
                    self.steps = steps;
                    return End::Failed;
                }
                Err(_) => return End::Cut,
            }
        }
        self.walk_request(0, first)
    }

    /// What an end means.
    pub(crate) fn outcome(self, end: End<F::Error>) -> Outcome<F::Error> {
        match end {
            End::Found => Outcome::Found(self.solution),
            End::Failed | End::Exceeded => Outcome::Failed,
            End::Error(error) => Outcome::Error(error),
            End::Cut => Outcome::Cut,
        }
    }

    /// Serves a request and everything behind it; `request` may be the end of its claim.
    fn walk_request(&mut self, claim: usize, request: usize) -> End<F::Error> {
        self.steps += 1;
        let problem = self.problem;
        let Some(requests) = problem.claims.get(claim).map(|claim| &claim.requests) else {
            return End::Found;
        };
        if request >= requests.end {
            // The next claim has a separate limit.
            return match self.walk_request(claim + 1, requests.end) {
                End::Exceeded => End::Failed,
                end => end,
            };
        }
        let alternatives = problem.requests[request].alternatives.clone();
        if problem.requests[request].form == Form::Exactly {
            self.solution.selected[request] = alternatives.start;
            return self.walk_devices(alternatives.start, 0, 0);
        }
        let mut end = End::Exceeded;
        for alternative in alternatives {
            self.steps += 1;
            self.solution.selected[request] = alternative;
            match self.walk_devices(alternative, 0, 0) {
                End::Exceeded => {}
                End::Failed => end = End::Failed,
                other => return other,
            }
        }
        end
    }

    /// Chooses one more device for an alternative that has `placed`, from `start` on.
    fn walk_devices(&mut self, alternative: usize, placed: i64, start: usize) -> End<F::Error> {
        let problem = self.problem;
        let shape = &problem.alternatives[alternative];
        let wanted = problem.wanted(alternative);
        if wanted == 0 && matches!(shape.want, Want::All(_)) {
            return End::Failed;
        }
        if placed >= wanted {
            return self.walk_request(shape.claim, shape.request + 1);
        }
        if (wanted - placed).unsigned_abs() > MOST_RESULTS.saturating_sub(self.taken[shape.claim]) {
            return End::Exceeded;
        }
        match &shape.want {
            Want::All(devices) => self.walk_all(alternative, placed, devices),
            Want::Count(_) => self.walk_any(alternative, placed, start),
        }
    }

    /// The next of a fixed list of devices: if it cannot be had, neither can the list.
    fn walk_all(&mut self, alternative: usize, placed: i64, devices: &[usize]) -> End<F::Error> {
        let next = usize::try_from(placed).ok().and_then(|place| devices.get(place));
        let Some(&device) = next else { return End::Failed };
        if self.budget.take().is_err() {
            return End::Cut;
        }
        let is_blocked = matches!(self.facts.answer(alternative, device), Answer::No);
        if is_blocked || !self.is_usable(alternative, device, self.status[device]) {
            return End::Failed;
        }
        match self.enter(alternative, device, self.status[device]) {
            Entry::No => End::Failed,
            Entry::Error(error) => End::Error(error),
            Entry::Taken(taken) => self.walk_on(alternative, device, &taken, placed, 0),
        }
    }

    fn walk_any(&mut self, alternative: usize, placed: i64, start: usize) -> End<F::Error> {
        let mut hopeless: Vec<Kind> = Vec::new();
        let order = self.problem.order;
        for device in start..self.problem.devices.len() {
            if self.budget.take().is_err() {
                return End::Cut;
            }
            if !self.is_usable(alternative, device, self.status[device]) {
                continue;
            }
            let kind = self.kind(device);
            if kind.is_some_and(|kind| hopeless.contains(&kind)) {
                continue;
            }
            match self.facts.answer(alternative, device) {
                Answer::Yes => {}
                Answer::No | Answer::NoRoom => continue,
                Answer::Error(error) => return End::Error(error),
            }
            let next = if order == Order::Combinations { device + 1 } else { 0 };
            match self.walk_candidate(alternative, device, placed, next) {
                End::Failed => hopeless.extend(kind),
                end => return end,
            }
        }
        End::Failed
    }

    fn walk_candidate(
        &mut self,
        alternative: usize,
        device: usize,
        placed: i64,
        next: usize,
    ) -> End<F::Error> {
        let taken = match self.enter(alternative, device, self.status[device]) {
            Entry::No => return End::Failed,
            Entry::Error(error) => return End::Error(error),
            Entry::Taken(taken) => taken,
        };
        if self.classes.is_none() {
            return self.walk_on(alternative, device, &taken, placed, next);
        }
        let before = self.mark(device, taken.status);
        let outlook = self.outlook(alternative, placed + 1, next);
        self.mark(device, before);
        match outlook {
            Ok(Outlook::Ends) => self.walk_on(alternative, device, &taken, placed, next),
            Ok(Outlook::Fails(steps)) => {
                self.steps = self.steps.saturating_add(steps);
                self.leave(&taken);
                End::Failed
            }
            Err(_) => End::Cut,
        }
    }

    /// Goes on with a device that was taken, and gives it back unless the search ends there.
    fn walk_on(
        &mut self,
        alternative: usize,
        device: usize,
        taken: &Taken,
        placed: i64,
        next: usize,
    ) -> End<F::Error> {
        let before = self.mark(device, taken.status);
        self.solution.choices.push(Choice { alternative, device });
        self.steps += 1;
        let end = self.walk_devices(alternative, placed + 1, next);
        if matches!(end, End::Failed | End::Exceeded) {
            self.solution.choices.pop();
            self.mark(device, before);
            self.leave(taken);
        }
        end
    }

    /// Sets the status of a device; returns the one before.
    fn mark(&mut self, device: usize, status: StatusId) -> StatusId {
        let before = core::mem::replace(&mut self.status[device], status);
        if let Some(classes) = &mut self.classes {
            classes.shift(classes.class_of(device), before, status);
        }
        before
    }

    /// What makes a device that failed stand for others. While steps are counted, each fails on its own.
    fn kind(&self, device: usize) -> Option<Kind> {
        let classes = self.classes.as_ref().filter(|classes| !classes.counts_steps())?;
        Some((classes.class_of(device), self.status[device]))
    }
}
