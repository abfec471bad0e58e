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
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy + Ord, S: Ord> Conditions<T, S> {
    /// Records the result of a check at the time `now`, and returns what of it is worth a log line. All times of a table are
    /// from one clock.
    pub fn set(&mut self, kind: T, subject: S, state: State, now: Duration) -> Change {
        use alloc::collections::btree_map::Entry;

        match self.0.entry((kind, subject)) {
            Entry::Occupied(mut earlier) => earlier.get_mut().set(state, now),
            Entry::Vacant(first) => {
                // As in `Condition::set`: only failures and their ends are worth a line.
                let change = if state.status() == Status::False { Change::Status } else { Change::None };
                first.insert(Condition::new(state, now));
                change
            }
        }
    }

    /// The condition of a type and subject; `None`: it has not been set. The subject is cloned, since the keys of the map are
    /// pairs.
    #[must_use]
    pub fn get(&self, kind: T, subject: &S) -> Option<&Condition>
    where
        S: Clone,
    {
        self.0.get(&(kind, subject.clone()))
    }

    /// All conditions, ordered by type, then by subject.
    pub fn iter(&self) -> impl Iterator<Item = (T, &S, &Condition)> {
        self.0.iter().map(|((kind, subject), condition)| (*kind, subject, condition))
    }

    /// Conditions whose status is not [`Status::True`]: those that failed, and those that have not been tried yet.
    pub fn failing(&self) -> impl Iterator<Item = (T, &S, &Condition)> {
        self.iter().filter(|(.., condition)| condition.status() != Status::True)
    }

    /// Conditions of one type, with their subjects.
    pub fn of(&self, kind: T) -> impl Iterator<Item = (&S, &Condition)> {
        self.iter()
            .filter(move |(found, ..)| *found == kind)
            .map(|(_, subject, condition)| (subject, condition))
    }

    /// Keeps the conditions for which `is_kept` holds: for subjects that no longer exist.
    pub fn retain(&mut self, mut is_kept: impl FnMut(T, &S) -> bool) {
        self.0.retain(|(kind, subject), _| is_kept(*kind, subject));
    }
}
