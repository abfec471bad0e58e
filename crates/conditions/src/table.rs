//! The table of a program's conditions.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::condition::{Change, Condition, State, Status};

/// Conditions by type and subject, in the order of both.
///
/// `T` is the type, an enum of the program. `S` is the subject: `()` where all conditions are about the program itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conditions<T, S = ()>(BTreeMap<(T, S), Condition>);

impl<T, S> Default for Conditions<T, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, S> Conditions<T, S> {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy + Ord, S: Ord> Conditions<T, S> {
    /// This was found of a type and subject at this time. Times are of one clock.
    pub fn set(&mut self, of: T, on: S, state: State, now: Duration) -> Change {
        use alloc::collections::btree_map::Entry;

        match self.0.entry((of, on)) {
            Entry::Occupied(mut known) => known.get_mut().set(state, now),
            Entry::Vacant(new) => {
                let change = if state.status() == Status::False { Change::Status } else { Change::None };
                new.insert(Condition::new(state, now));
                change
            }
        }
    }

    /// The condition of a type and subject; `None`: nothing is known.
    #[must_use]
    pub fn get(&self, of: T, on: &S) -> Option<&Condition>
    where
        S: Clone,
    {
        self.0.get(&(of, on.clone()))
    }

    /// All, by type and subject.
    pub fn iter(&self) -> impl Iterator<Item = (T, &S, &Condition)> {
        self.0.iter().map(|((of, on), condition)| (*of, on, condition))
    }

    /// Those that are not as they should be: what has failed, and what has not been tried.
    pub fn failing(&self) -> impl Iterator<Item = (T, &S, &Condition)> {
        self.iter().filter(|(.., condition)| condition.status() != Status::True)
    }

    /// Those of a type.
    pub fn of(&self, of: T) -> impl Iterator<Item = (&S, &Condition)> {
        self.iter().filter(move |(found, ..)| *found == of).map(|(_, on, condition)| (on, condition))
    }

    /// Forgets subjects that are gone.
    pub fn retain(&mut self, mut is_kept: impl FnMut(T, &S) -> bool) {
        self.0.retain(|(of, on), _| is_kept(*of, on));
    }
}
