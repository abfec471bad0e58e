//! Equality: across types of numbers, false for other types, and not defined for Kubernetes' types and others.

use super::{Budget, Fault, List, Map, Value};

/// How two values compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Equal,
    Unequal,
    /// A quantity, version, address or the like on the left, and another type on the right.
    NoOverload,
}

impl From<bool> for Verdict {
    fn from(is_equal: bool) -> Self {
        if is_equal { Self::Equal } else { Self::Unequal }
    }
}

impl Value {
    /// Whether it equals another value.
    pub(crate) fn equals(&self, other: &Self, budget: &Budget) -> Result<Verdict, Fault> {
        budget.spend(1)?;
        let is_equal = match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Null, _) | (_, Self::Null) => false,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::String(left), Self::String(right)) => left == right,
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            (Self::Type(left), Self::Type(right)) => left == right,
            (Self::Duration(left), Self::Duration(right)) => left == right,
            (Self::Timestamp(left), Self::Timestamp(right)) => left == right,
            (Self::List(left), Self::List(right)) => return lists(left, right, budget),
            (Self::Map(left), Self::Map(right)) => return maps(left, right, budget),
            (Self::Optional(None), Self::Optional(None)) => true,
            (Self::Optional(Some(left)), Self::Optional(Some(right))) => return left.equals(right, budget),
            (Self::Int(_) | Self::Uint(_) | Self::Double(_), _) => {
                self.compared(other) == Ok(Some(core::cmp::Ordering::Equal))
            }
            _ => return Ok(self.equals_special(other)),
        };
        Ok(is_equal.into())
    }

    fn equals_special(&self, other: &Self) -> Verdict {
        match (self, other) {
            (Self::Quantity(left) | Self::Computed(left), Self::Quantity(right)) => (left == right).into(),
            (Self::Version(left), Self::Version(right)) => (left.precedence(right).is_eq()).into(),
            (Self::Address(left), Self::Address(right)) => (left == right).into(),
            (Self::Prefix(left), Self::Prefix(right)) => (left == right).into(),
            (Self::Url(left), Self::Url(right)) => (left == right).into(),
            (Self::Format(left), Self::Format(right)) => core::ptr::eq(*left, *right).into(),
            (
                Self::Quantity(_)
                | Self::Computed(_)
                | Self::Version(_)
                | Self::Address(_)
                | Self::Prefix(_)
                | Self::Url(_)
                | Self::Format(_),
                _,
            ) => Verdict::NoOverload,
            _ => Verdict::Unequal,
        }
    }

    /// Whether it is an element of a list.
    pub(crate) fn is_in(&self, list: &List, budget: &Budget) -> Result<bool, Fault> {
        for element in list.iter() {
            if self.equals(element, budget)? == Verdict::Equal {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Elements without a verdict do not make lists unequal.
fn lists(left: &List, right: &List, budget: &Budget) -> Result<Verdict, Fault> {
    if left.len() != right.len() {
        return Ok(Verdict::Unequal);
    }
    for (left, right) in left.iter().zip(right.iter()) {
        if left.equals(right, budget)? == Verdict::Unequal {
            return Ok(Verdict::Unequal);
        }
    }
    Ok(Verdict::Equal)
}

fn maps(left: &Map, right: &Map, budget: &Budget) -> Result<Verdict, Fault> {
    if left.len() != right.len() {
        return Ok(Verdict::Unequal);
    }
    for (key, value) in left.iter() {
        let Some(other) = right.find(key) else { return Ok(Verdict::Unequal) };
        if value.equals(other, budget)? == Verdict::Unequal {
            return Ok(Verdict::Unequal);
        }
    }
    Ok(Verdict::Equal)
}
