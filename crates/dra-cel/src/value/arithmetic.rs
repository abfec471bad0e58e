//! The operators + - * / % and negation.

use alloc::sync::Arc;

use super::{Fault, Timestamp, Value};

/// Seconds of the years 1 to 9999, between which timestamps lie.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

const BILLION: i64 = 1_000_000_000;

fn overflow() -> Fault {
    Fault::text("integer overflow")
}

fn checked<T>(value: Option<T>, wrap: impl FnOnce(T) -> Value) -> Result<Value, Fault> {
    value.map(wrap).ok_or_else(overflow)
}

impl Value {
    pub(crate) fn plus(&self, other: &Self) -> Result<Self, Fault> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => checked(left.checked_add(*right), Self::Int),
            (Self::Uint(left), Self::Uint(right)) => checked(left.checked_add(*right), Self::Uint),
            (Self::Double(left), Self::Double(right)) => Ok(Self::Double(left + right)),
            (Self::String(left), Self::String(right)) => {
                Ok(Self::String([&**left, &**right].concat().into()))
            }
            (Self::Bytes(left), Self::Bytes(right)) => Ok(Self::Bytes([&**left, &**right].concat().into())),
            (Self::List(left), Self::List(right)) => Ok(Self::List(left.clone().joined(right.clone()))),
            (Self::Duration(left), Self::Duration(right)) => {
                checked(left.checked_add(*right), Self::Duration)
            }
            (Self::Timestamp(time), Self::Duration(by)) | (Self::Duration(by), Self::Timestamp(time)) => {
                time.shifted(i128::from(*by))
            }
            _ => Err(Fault::NoOverload),
        }
    }

    pub(crate) fn minus(&self, other: &Self) -> Result<Self, Fault> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => checked(left.checked_sub(*right), Self::Int),
            (Self::Uint(left), Self::Uint(right)) => checked(left.checked_sub(*right), Self::Uint),
            (Self::Double(left), Self::Double(right)) => Ok(Self::Double(left - right)),
            (Self::Duration(left), Self::Duration(right)) => {
                checked(left.checked_sub(*right), Self::Duration)
            }
            (Self::Timestamp(time), Self::Duration(by)) => time.shifted(-i128::from(*by)),
            (Self::Timestamp(left), Self::Timestamp(right)) => {
                let between = left.nanoseconds_since_1970() - right.nanoseconds_since_1970();
                checked(i64::try_from(between).ok(), Self::Duration)
            }
            _ => Err(Fault::NoOverload),
        }
    }

    pub(crate) fn times(&self, other: &Self) -> Result<Self, Fault> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => checked(left.checked_mul(*right), Self::Int),
            (Self::Uint(left), Self::Uint(right)) => checked(left.checked_mul(*right), Self::Uint),
            (Self::Double(left), Self::Double(right)) => Ok(Self::Double(left * right)),
            _ => Err(Fault::NoOverload),
        }
    }

    pub(crate) fn divided_by(&self, other: &Self) -> Result<Self, Fault> {
        match (self, other) {
            (Self::Int(_), Self::Int(0)) | (Self::Uint(_), Self::Uint(0)) => {
                Err(Fault::text("division by zero"))
            }
            (Self::Int(left), Self::Int(right)) => checked(left.checked_div(*right), Self::Int),
            (Self::Uint(left), Self::Uint(right)) => checked(left.checked_div(*right), Self::Uint),
            (Self::Double(left), Self::Double(right)) => Ok(Self::Double(left / right)),
            _ => Err(Fault::NoOverload),
        }
    }

    pub(crate) fn modulo(&self, other: &Self) -> Result<Self, Fault> {
        match (self, other) {
            (Self::Int(_), Self::Int(0)) | (Self::Uint(_), Self::Uint(0)) => {
                Err(Fault::text("modulus by zero"))
            }
            (Self::Int(left), Self::Int(right)) => checked(left.checked_rem(*right), Self::Int),
            (Self::Uint(left), Self::Uint(right)) => checked(left.checked_rem(*right), Self::Uint),
            _ => Err(Fault::NoOverload),
        }
    }

    pub(crate) fn negated(&self) -> Result<Self, Fault> {
        match self {
            Self::Int(value) => checked(value.checked_neg(), Self::Int),
            Self::Double(value) => Ok(Self::Double(-value)),
            Self::Duration(value) => checked(value.checked_neg(), Self::Duration),
            _ => Err(Fault::NoOverload),
        }
    }

    /// Whether it is what its type begins with: false, 0, empty.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Optional(None) => true,
            Self::Bool(value) => !value,
            Self::Int(value) | Self::Duration(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            Self::Optional(Some(inner)) => Arc::as_ref(inner).is_zero(),
            _ => false,
        }
    }
}

impl Timestamp {
    /// Within the years that timestamps can have.
    pub(crate) fn new(seconds: i64, nanoseconds: u32) -> Option<Self> {
        (FIRST..=LAST).contains(&seconds).then_some(Self { seconds, nanoseconds })
    }

    fn nanoseconds_since_1970(self) -> i128 {
        i128::from(self.seconds) * i128::from(BILLION) + i128::from(self.nanoseconds)
    }

    fn shifted(self, by: i128) -> Result<Value, Fault> {
        let sum = self.nanoseconds_since_1970() + by;
        let seconds = i64::try_from(sum.div_euclid(i128::from(BILLION))).ok();
        let rest = u32::try_from(sum.rem_euclid(i128::from(BILLION))).ok();
        let shifted = seconds.zip(rest).and_then(|(seconds, rest)| Self::new(seconds, rest));
        shifted.map(Value::Timestamp).ok_or_else(|| Fault::text("timestamp overflow"))
    }
}
