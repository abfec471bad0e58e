//! Order: numbers across their types, and values of one type.

use core::cmp::Ordering;

use super::Value;

/// There is no order between the two types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoOrder;

impl Value {
    /// The order of two values; `None` if one of them is not a number (NaN).
    #[expect(clippy::cast_precision_loss, reason = "as cel-go compares numbers with doubles")]
    pub(crate) fn compared(&self, other: &Self) -> Result<Option<Ordering>, NoOrder> {
        Ok(match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Uint(left), Self::Uint(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
            (Self::Uint(left), Self::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
            (Self::Double(left), Self::Double(right)) => left.partial_cmp(right),
            (Self::Double(left), Self::Int(right)) => left.partial_cmp(&(*right as f64)),
            (Self::Double(left), Self::Uint(right)) => left.partial_cmp(&(*right as f64)),
            (Self::Int(left), Self::Double(right)) => (*left as f64).partial_cmp(right),
            (Self::Uint(left), Self::Double(right)) => (*left as f64).partial_cmp(right),
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::String(left), Self::String(right)) => Some(left.cmp(right)),
            (Self::Bytes(left), Self::Bytes(right)) => Some(left.cmp(right)),
            (Self::Duration(left), Self::Duration(right)) => Some(left.cmp(right)),
            (Self::Timestamp(left), Self::Timestamp(right)) => Some(left.cmp(right)),
            _ => return Err(NoOrder),
        })
    }
}
