//! One device for one alternative: the checks in the order of the real allocator, and how they are undone.

use alloc::vec::Vec;

use super::constraint::Next;
use super::facts::{Answer, Facts};
use super::problem::{Access, Held, Sharing, Want};
use super::state::Search;
use super::status::{Status, StatusId, UNTOUCHED};

/// What became of a device that was tried.
pub(crate) enum Entry<E> {
    Taken(Taken),
    No,
    Error(E),
}

/// A device that was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    alternative: usize,
    device: usize,
    /// Its status now.
    pub(crate) status: StatusId,
    drawn: Drawn,
    /// How many states were saved before.
    constraints: usize,
    groups: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drawn {
    Nothing,
    Counters,
}

/// Why a device is not taken.
enum Stop<E> {
    No,
    Error(E),
}

impl<F: Facts> Search<'_, F> {
    /// Whether nothing else has a device of this status.
    pub(crate) fn is_usable(&self, alternative: usize, device: usize, status: StatusId) -> bool {
        let alternative = &self.problem.alternatives[alternative];
        let device = &self.problem.devices[device];
        match alternative.access {
            Access::Ordinary => device.held == Held::Free && (device.is_shared() || status == UNTOUCHED),
            Access::Admin => match self.statuses.at(status) {
                Status::Held(claims) => !claims.contains(&alternative.claim),
                Status::Untouched | Status::Shared(_) => true,
            },
        }
    }

    /// Takes a device of some status. That it is usable and may serve the alternative has been looked at.
    pub(crate) fn enter(&mut self, alternative: usize, device: usize, status: StatusId) -> Entry<F::Error> {
        let mut taken = Taken {
            alternative,
            device,
            status,
            drawn: Drawn::Nothing,
            constraints: self.saved.constraints.len(),
            groups: self.saved.groups.len(),
        };
        match self.checked(&mut taken) {
            Ok(()) => {
                self.taken[self.problem.alternatives[alternative].claim] += 1;
                Entry::Taken(taken)
            }
            Err(stop) => {
                self.restore(&taken);
                match stop {
                    Stop::No => Entry::No,
                    Stop::Error(error) => Entry::Error(error),
                }
            }
        }
    }

    /// Gives a device back.
    pub(crate) fn leave(&mut self, taken: &Taken) {
        self.taken[self.problem.alternatives[taken.alternative].claim] -= 1;
        self.restore(taken);
    }

    fn checked(&mut self, taken: &mut Taken) -> Result<(), Stop<F::Error>> {
        let is_all = matches!(self.problem.alternatives[taken.alternative].want, Want::All(_));
        let share = self.share(taken);
        let has_room = share.as_deref().is_none_or(|share| self.has_room(taken, share));
        if !is_all && !has_room {
            return Err(Stop::No);
        }
        if self.draws(taken) {
            self.admit_groups(taken)?;
            self.draw(taken)?;
        }
        self.constrain(taken)?;
        if is_all
            && (!has_room || matches!(self.facts.answer(taken.alternative, taken.device), Answer::NoRoom))
        {
            return Err(Stop::No);
        }
        taken.status = match share {
            Some(share) => self.statuses.shared(taken.status, &share),
            None => self.statuses.held(taken.status, self.problem.alternatives[taken.alternative].claim),
        };
        Ok(())
    }

    fn share(&self, taken: &Taken) -> Option<Vec<i128>> {
        let is_shared = self.problem.devices[taken.device].is_shared();
        is_shared.then(|| self.facts.share(taken.alternative, taken.device))
    }

    fn has_room(&self, taken: &Taken, share: &[i128]) -> bool {
        let Sharing::Shared { room, .. } = &self.problem.devices[taken.device].sharing else { return true };
        let before = self.statuses.taken(taken.status, share.len());
        room.iter().zip(share).zip(before).all(|((room, share), before)| before + share <= *room)
    }

    /// Whether the device is charged: a further share of a device in use is not.
    fn draws(&self, taken: &Taken) -> bool {
        let device = &self.problem.devices[taken.device];
        match device.sharing {
            Sharing::Shared { in_use, .. } => !in_use && taken.status == UNTOUCHED,
            Sharing::Alone => true,
        }
    }

    fn admit_groups(&mut self, taken: &Taken) -> Result<(), Stop<F::Error>> {
        for (place, groups) in &self.problem.devices[taken.device].groups {
            let next = self.groups[*place].admitting(groups).ok_or(Stop::No)?;
            let before = core::mem::replace(&mut self.groups[*place], next);
            self.saved.groups.push((*place, before));
        }
        Ok(())
    }

    /// Every counter of the pool must have enough, not only those that the device draws on.
    fn draw(&mut self, taken: &mut Taken) -> Result<(), Stop<F::Error>> {
        let device = &self.problem.devices[taken.device];
        if device.draws.is_empty() {
            return Ok(());
        }
        let drawn = &mut self.drawn[device.pool];
        for draw in &device.draws {
            drawn[draw.counter] += draw.amount;
        }
        taken.drawn = Drawn::Counters;
        let available = &self.problem.pools[device.pool].available;
        let has_enough = available.iter().zip(drawn.iter()).all(|(available, drawn)| available >= drawn);
        if has_enough { Ok(()) } else { Err(Stop::No) }
    }

    fn constrain(&mut self, taken: &Taken) -> Result<(), Stop<F::Error>> {
        let problem = self.problem;
        let alternative = &problem.alternatives[taken.alternative];
        let must = matches!(alternative.want, Want::All(_));
        for &place in &alternative.constraints {
            let kind = problem.claims[alternative.claim].constraints[place];
            let value = self.facts.value(place, taken.alternative, taken.device);
            let seen = &mut self.seen[alternative.claim][place];
            match seen.next(kind, value) {
                Next::State(next) => {
                    let before = core::mem::replace(seen, next);
                    self.saved.constraints.push((place, before));
                }
                Next::Refused if must => {
                    return Err(Stop::Error(self.facts.unsatisfied(taken.alternative, taken.device)));
                }
                Next::Refused => return Err(Stop::No),
                Next::Error(error) => return Err(Stop::Error(error)),
            }
        }
        Ok(())
    }

    fn restore(&mut self, taken: &Taken) {
        let claim = self.problem.alternatives[taken.alternative].claim;
        while self.saved.constraints.len() > taken.constraints
            && let Some((place, before)) = self.saved.constraints.pop()
        {
            self.seen[claim][place] = before;
        }
        while self.saved.groups.len() > taken.groups
            && let Some((place, before)) = self.saved.groups.pop()
        {
            self.groups[place] = before;
        }
        if taken.drawn == Drawn::Counters {
            let device = &self.problem.devices[taken.device];
            for draw in &device.draws {
                self.drawn[device.pool][draw.counter] -= draw.amount;
            }
        }
    }
}
