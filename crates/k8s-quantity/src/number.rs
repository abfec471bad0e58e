//! The number inside a quantity, in its small or its big form, and what depends on the form.

use core::cmp::Ordering;

use num_bigint::Sign as BigSign;

use crate::decimal::Decimal;

/// A number in one of the reference's two forms. Addition and comparison of small ones allocate nothing.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    /// `value` × 10^`scale`.
    Small {
        value: i64,
        scale: i32,
    },
    Big(Decimal),
}

/// On which side of zero a quantity is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sign {
    /// Below zero.
    Negative,
    /// Zero.
    Zero,
    /// Above zero.
    Positive,
}

/// 10^19 is the largest power that brings any 64-bit number to at most 127 bits.
const COMPARABLE_SCALES: u32 = 19;

impl Number {
    pub(crate) const ZERO: Self = Self::Small { value: 0, scale: 0 };

    pub(crate) fn sign(&self) -> Sign {
        let order = match self {
            Self::Small { value, .. } => value.cmp(&0),
            Self::Big(decimal) => decimal.unscaled.sign().cmp(&BigSign::NoSign),
        };
        match order {
            Ordering::Less => Sign::Negative,
            Ordering::Equal => Sign::Zero,
            Ordering::Greater => Sign::Positive,
        }
    }

    /// Whether the other is the same number in the same form.
    pub(crate) fn has_form_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Small { value, scale }, Self::Small { value: of, scale: at }) => {
                (value, scale) == (of, at)
            }
            (Self::Big(decimal), Self::Big(other)) => {
                (&decimal.unscaled, decimal.places) == (&other.unscaled, other.places)
            }
            (Self::Small { .. }, Self::Big(_)) | (Self::Big(_), Self::Small { .. }) => false,
        }
    }

    /// The integer, for those forms that the reference reads one from.
    pub(crate) fn as_int64(&self) -> Option<i64> {
        match *self {
            Self::Small { value, scale } => scale_up(value, u32::try_from(scale).ok()?),
            Self::Big(_) => None,
        }
    }

    /// The value in units of 10^`target`, away from zero; overflow as in the reference.
    pub(crate) fn scaled_int64(&self, target: i32) -> i64 {
        let (value, scale) = match self {
            Self::Big(decimal) => return decimal.scaled_int64(-target),
            Self::Small { value, scale } => (*value, *scale),
        };
        let difference = scale.abs_diff(target);
        if scale < target {
            return scale_down(value, difference);
        }
        scale_up(value, difference).unwrap_or(match difference {
            // For these the reference has special functions, which give back what they overflowed to.
            1 | 2 | 3 | 6 | 9 => value.wrapping_mul(10_i64.pow(difference)),
            _ => 0,
        })
    }

    pub(crate) fn to_decimal(&self) -> Decimal {
        match self {
            Self::Small { value, scale } => Decimal { unscaled: (*value).into(), places: -scale },
            Self::Big(decimal) => decimal.clone(),
        }
    }

    pub(crate) fn negated(&self) -> Self {
        if let Self::Small { value, scale } = *self
            && let Some(value) = value.checked_neg()
        {
            return Self::Small { value, scale };
        }
        Self::Big(self.to_decimal().negated())
    }

    /// The sum: small if both are and nothing overflows on the way, else big.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (&Self::Small { value, scale }, &Self::Small { value: other_value, scale: other_scale }) => {
                sum_small((value, scale), (other_value, other_scale))
            }
            _ => None,
        }
        .unwrap_or_else(|| Self::Big(self.to_decimal().plus(&other.to_decimal())))
    }

    /// Rounded away from zero to units of 10^`target`, if it is finer.
    pub(crate) fn rounded_up(self, target: i32) -> Self {
        match self {
            Self::Small { value, scale } if scale < target => {
                Self::Small { value: scale_down(value, scale.abs_diff(target)), scale: target }
            }
            Self::Small { .. } => self,
            Self::Big(decimal) => Self::Big(decimal.rounded_up(-target)),
        }
    }

    /// The order of the values, whatever the forms.
    pub(crate) fn cmp_value(&self, other: &Self) -> Ordering {
        match (self, other) {
            (&Self::Small { value, scale }, &Self::Small { value: other_value, scale: other_scale }) => {
                cmp_small((value, scale), (other_value, other_scale))
            }
            _ => self.to_decimal().cmp_value(&other.to_decimal()),
        }
    }
}

/// The sum of two small amounts at the smaller scale, unless something overflows.
fn sum_small((a, a_scale): (i64, i32), (b, b_scale): (i64, i32)) -> Option<Number> {
    let (value, scale) = if b == 0 {
        (a, a_scale)
    } else if a == 0 {
        (b, b_scale)
    } else {
        let scale = a_scale.min(b_scale);
        let a = scale_up(a, a_scale.abs_diff(scale))?;
        (a.checked_add(scale_up(b, b_scale.abs_diff(scale))?)?, scale)
    };
    Some(Number::Small { value, scale })
}

fn cmp_small((a, a_scale): (i64, i32), (b, b_scale): (i64, i32)) -> Ordering {
    let by_sign = a.signum().cmp(&b.signum());
    let difference = a_scale.abs_diff(b_scale);
    by_sign.then_with(|| {
        if a == 0 {
            return Ordering::Equal;
        }
        // Beyond 19 powers of ten no 64-bit number can make up for its scale.
        let factor = 10_i128.pow(difference.min(COMPARABLE_SCALES));
        let (a, b) = match a_scale.cmp(&b_scale) {
            Ordering::Greater => (i128::from(a) * factor, i128::from(b)),
            _ => (i128::from(a), i128::from(b) * factor),
        };
        a.cmp(&b)
    })
}

/// `value` × 10^`by`, unless it overflows.
fn scale_up(value: i64, by: u32) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10_i64.checked_pow(by)?)
}

/// `value` / 10^`by`, away from zero.
fn scale_down(value: i64, by: u32) -> i64 {
    let Some(unit) = 10_i64.checked_pow(by) else { return value.signum() };
    value / unit + (value % unit).signum()
}
