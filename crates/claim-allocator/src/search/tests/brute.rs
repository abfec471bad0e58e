//! All devices in all positions, everything recomputed from the list of choices.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::made::Made;
use crate::search::{
    Access, Answer, Choice, Constraint, Facts, Form, Groups, Held, MOST_RESULTS, Order, Outcome, Sharing,
    Solution, Value, Want,
};

type Error = &'static str;

const LONGEST: u128 = 3_000;

pub(crate) struct Brute<'a> {
    made: &'a Made,
    choices: Vec<Choice>,
    selected: Vec<usize>,
    calls: u128,
}

enum End {
    Found,
    Failed,
    Exceeded,
    Error(Error),
    TooLong,
}

impl<'a> Brute<'a> {
    /// The outcome and the calls; `None` for what takes too long.
    pub(crate) fn search(made: &'a Made) -> Option<(Outcome<Error>, u128)> {
        let selected = std::vec![0; made.problem.requests.len()];
        let mut brute = Self { made, choices: Vec::new(), selected, calls: 0 };
        let outcome = match brute.request(0, 0) {
            End::Found => Outcome::Found(Solution { choices: brute.choices, selected: brute.selected }),
            End::Failed | End::Exceeded => Outcome::Failed,
            End::Error(error) => Outcome::Error(error),
            End::TooLong => return None,
        };
        Some((outcome, brute.calls))
    }

    fn request(&mut self, claim: usize, request: usize) -> End {
        self.calls += 1;
        if self.calls > LONGEST {
            return End::TooLong;
        }
        let problem = &self.made.problem;
        if claim == problem.claims.len() {
            return End::Found;
        }
        if request == problem.claims[claim].requests.end {
            let end = self.request(claim + 1, request);
            return if matches!(end, End::Exceeded) { End::Failed } else { end };
        }
        let alternatives = problem.requests[request].alternatives.clone();
        let is_list = problem.requests[request].form == Form::FirstAvailable;
        let mut all_exceed = true;
        for alternative in alternatives {
            self.calls += u128::from(is_list);
            self.selected[request] = alternative;
            let end = self.device(alternative, 0, 0);
            match end {
                End::Exceeded => {}
                End::Failed => all_exceed = false,
                other => return other,
            }
        }
        if all_exceed { End::Exceeded } else { End::Failed }
    }

    fn device(&mut self, alternative: usize, placed: usize, start: usize) -> End {
        let problem = &self.made.problem;
        let shape = &problem.alternatives[alternative];
        let wanted = usize::try_from(problem.wanted(alternative)).expect("a small count");
        let is_all = matches!(shape.want, Want::All(_));
        if is_all && wanted == 0 {
            return End::Failed;
        }
        if placed == wanted {
            return self.request(shape.claim, shape.request + 1);
        }
        let of_claim = self
            .choices
            .iter()
            .filter(|choice| problem.alternatives[choice.alternative].claim == shape.claim);
        if (wanted - placed + of_claim.count()) as u64 > MOST_RESULTS {
            return End::Exceeded;
        }
        let candidates: Vec<usize> = match &shape.want {
            Want::All(devices) => std::vec![devices[placed]],
            Want::Count(_) => (start..problem.devices.len()).collect(),
        };
        for device in candidates {
            match self.accepts(alternative, device) {
                Ok(false) => {}
                Err(error) => return End::Error(error),
                Ok(true) => {
                    self.choices.push(Choice { alternative, device });
                    self.calls += 1;
                    let next = if problem.order == Order::Combinations { device + 1 } else { 0 };
                    let end = self.device(alternative, placed + 1, next);
                    if !matches!(end, End::Failed) {
                        if matches!(end, End::Exceeded) {
                            self.choices.pop();
                        }
                        return end;
                    }
                    self.choices.pop();
                }
            }
        }
        End::Failed
    }

    /// One candidate, in the order of the real checks.
    fn accepts(&self, alternative: usize, device: usize) -> Result<bool, Error> {
        let problem = &self.made.problem;
        let shape = &problem.alternatives[alternative];
        let is_all = matches!(shape.want, Want::All(_));
        if !self.is_usable(alternative, device) {
            return Ok(false);
        }
        let answer = self.made.answer(alternative, device);
        match answer {
            Answer::Error(error) => return Err(error),
            Answer::No => return Ok(false),
            Answer::NoRoom if !is_all => return Ok(false),
            Answer::NoRoom | Answer::Yes => {}
        }
        let has_room = self.has_room(alternative, device);
        if (!has_room && !is_all) || !self.has_groups(device) || !self.has_counters(device) {
            return Ok(false);
        }
        for &place in &shape.constraints {
            if !self.is_satisfied(alternative, place, device)? {
                return if is_all { Err("unsatisfied") } else { Ok(false) };
            }
        }
        Ok(has_room && answer == Answer::Yes)
    }

    fn is_usable(&self, alternative: usize, device: usize) -> bool {
        let problem = &self.made.problem;
        let shape = &problem.alternatives[alternative];
        let is_shared = problem.devices[device].is_shared();
        let mut holders = self.choices.iter().filter(|choice| choice.device == device && !is_shared);
        match shape.access {
            Access::Ordinary => problem.devices[device].held == Held::Free && holders.next().is_none(),
            Access::Admin => {
                !holders.any(|choice| problem.alternatives[choice.alternative].claim == shape.claim)
            }
        }
    }

    fn has_room(&self, alternative: usize, device: usize) -> bool {
        let Sharing::Shared { room, .. } = &self.made.problem.devices[device].sharing else { return true };
        let mut taken = self.made.share(alternative, device);
        for choice in self.choices.iter().filter(|choice| choice.device == device) {
            let share = self.made.share(choice.alternative, device);
            taken.iter_mut().zip(share).for_each(|(taken, share)| *taken += share);
        }
        taken.iter().zip(room).all(|(taken, room)| taken <= room)
    }

    /// The choices that are charged, in order.
    fn charged(&self) -> Vec<usize> {
        let mut charged = Vec::new();
        for choice in &self.choices {
            let device = &self.made.problem.devices[choice.device];
            let again = match device.sharing {
                Sharing::Shared { in_use, .. } => in_use || charged.contains(&choice.device),
                Sharing::Alone => false,
            };
            if !again {
                charged.push(choice.device);
            }
        }
        charged
    }

    fn is_charged(&self, device: usize) -> bool {
        match self.made.problem.devices[device].sharing {
            Sharing::Shared { in_use, .. } => !in_use && !self.charged().contains(&device),
            Sharing::Alone => true,
        }
    }

    fn has_counters(&self, device: usize) -> bool {
        let problem = &self.made.problem;
        let pool = problem.devices[device].pool;
        if problem.devices[device].draws.is_empty() || !self.is_charged(device) {
            return true;
        }
        let mut left = problem.pools[pool].available.clone();
        let charged = self.charged().into_iter().chain([device]);
        for device in charged.map(|device| &problem.devices[device]).filter(|device| device.pool == pool) {
            device.draws.iter().for_each(|draw| left[draw.counter] -= draw.amount);
        }
        left.iter().all(|left| *left >= 0)
    }

    fn has_groups(&self, device: usize) -> bool {
        let problem = &self.made.problem;
        if !self.is_charged(device) {
            return true;
        }
        problem.devices[device].groups.iter().all(|(place, groups)| {
            let mut state: Groups = problem.group_states[*place].clone();
            for charged in self.charged() {
                let others = problem.devices[charged].groups.iter().filter(|(other, _)| other == place);
                others.for_each(|(_, groups)| state = state.with(groups));
            }
            state.admitting(groups).is_some()
        })
    }

    fn is_satisfied(&self, alternative: usize, place: usize, device: usize) -> Result<bool, Error> {
        let problem = &self.made.problem;
        let claim = problem.alternatives[alternative].claim;
        let value = match self.made.value(place, alternative, device) {
            Value::Error(error) => return Err(error),
            Value::Absent => return Ok(false),
            value => value,
        };
        let bound = self.choices.iter().filter(|choice| {
            let shape = &problem.alternatives[choice.alternative];
            shape.claim == claim && shape.constraints.contains(&place)
        });
        let before: Vec<Value<Error>> =
            bound.map(|choice| self.made.value(place, choice.alternative, choice.device)).collect();
        let Value::Known(values) = value else { return Ok(before.is_empty()) };
        let values: BTreeSet<u32> = values.iter().copied().collect();
        Ok(match problem.claims[claim].constraints[place] {
            Constraint::Match => {
                let mut common = values;
                for value in &before {
                    let Value::Known(other) = value else { return Ok(false) };
                    common.retain(|value| other.contains(value));
                }
                !common.is_empty()
            }
            Constraint::Distinct => {
                before.iter().all(|other| !matches!(other, Value::Known(other) if other.iter().any(|value| values.contains(value))))
            }
        })
    }
}
