//! What constraints remember of the devices chosen so far.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::facts::Value;
use super::problem::Constraint;

/// The state of one constraint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Seen {
    /// No device yet.
    #[default]
    Nothing,
    /// Match: the values that all devices have. Distinct: the values of any device, in order.
    Values(Arc<[u32]>),
    /// The first device of a match has a value that nothing equals.
    Incomparable,
}

/// Whether a device may follow.
pub(crate) enum Next<E> {
    State(Seen),
    Refused,
    Error(E),
}

impl Seen {
    pub(crate) fn next<E>(&self, constraint: Constraint, value: Value<E>) -> Next<E> {
        match (value, constraint) {
            (Value::Error(error), _) => Next::Error(error),
            (Value::Absent, _) => Next::Refused,
            (Value::Incomparable, constraint) => self.next_incomparable(constraint),
            (Value::Known(values), Constraint::Match) => self.next_match(values),
            (Value::Known(values), Constraint::Distinct) => self.next_distinct(&values),
        }
    }

    /// A list that is not compared passes as the first device only.
    fn next_incomparable<E>(&self, constraint: Constraint) -> Next<E> {
        match (self, constraint) {
            (Self::Nothing, Constraint::Match) => Next::State(Self::Incomparable),
            (Self::Nothing, Constraint::Distinct) => Next::State(Self::Values(Arc::default())),
            (Self::Values(_) | Self::Incomparable, _) => Next::Refused,
        }
    }

    fn next_match<E>(&self, values: Arc<[u32]>) -> Next<E> {
        let common = match self {
            Self::Nothing => values,
            Self::Values(seen) if *seen == values => values,
            Self::Values(seen) => seen.iter().copied().filter(|value| values.contains(value)).collect(),
            Self::Incomparable => return Next::Refused,
        };
        if common.is_empty() { Next::Refused } else { Next::State(Self::Values(common)) }
    }

    fn next_distinct<E>(&self, values: &[u32]) -> Next<E> {
        let mut seen = match self {
            Self::Nothing | Self::Incomparable => vec![],
            Self::Values(seen) => seen.to_vec(),
        };
        if values.iter().any(|value| seen.binary_search(value).is_ok()) {
            return Next::Refused;
        }
        seen.extend(values);
        seen.sort_unstable();
        Next::State(Self::Values(seen.into()))
    }

    /// The state as numbers, for the memory of failed states.
    pub(crate) fn write(&self, key: &mut Vec<u32>) {
        match self {
            Self::Nothing => key.push(0),
            Self::Incomparable => key.push(1),
            Self::Values(values) => {
                key.push(2 + u32::try_from(values.len()).unwrap_or(u32::MAX - 2));
                key.extend(values.iter());
            }
        }
    }
}
