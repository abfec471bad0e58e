//! The big inner form: an integer of any size, and how many of its decimals stand after the point.

use core::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

/// `unscaled` × 10^-`places`. Two decimals of equal value may differ in their places, and the reference's
/// rounding looks at those, so they are kept as they come.
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    pub(crate) unscaled: BigInt,
    pub(crate) places: i32,
}

impl Decimal {
    pub(crate) fn is_zero(&self) -> bool {
        self.unscaled.sign() == Sign::NoSign
    }

    /// The sum, with the larger number of places.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let places = self.places.max(other.places);
        Self { unscaled: self.unscaled_at(places) + other.unscaled_at(places), places }
    }

    pub(crate) fn negated(&self) -> Self {
        Self { unscaled: -&self.unscaled, places: self.places }
    }

    /// Exactly `places` places; digits that are lost round away from zero.
    pub(crate) fn rounded_up(&self, places: i32) -> Self {
        if places >= self.places {
            return Self { unscaled: self.unscaled_at(places), places };
        }
        let unit = power_of_ten(self.places.abs_diff(places));
        let mut unscaled = &self.unscaled / &unit;
        if &unscaled * &unit != self.unscaled {
            unscaled += if self.unscaled.sign() == Sign::Minus { -1 } else { 1 };
        }
        Self { unscaled, places }
    }

    /// The value if it is an integer.
    pub(crate) fn whole(&self) -> Option<BigInt> {
        if self.places <= 0 {
            return Some(self.unscaled_at(0));
        }
        let unit = power_of_ten(self.places.unsigned_abs());
        let whole = &self.unscaled / &unit;
        (&whole * unit == self.unscaled).then_some(whole)
    }

    /// The smallest integer that is not below the value.
    pub(crate) fn ceil(&self) -> BigInt {
        if self.unscaled.sign() == Sign::Minus && self.places > 0 {
            return &self.unscaled / power_of_ten(self.places.unsigned_abs());
        }
        self.rounded_up(self.places.min(0)).unscaled_at(0)
    }

    /// The value in units of 10^-`places` as the reference rounds it: right for what is not negative and fits;
    /// otherwise cut to 64 bits, and a negative number with a remainder comes out one too high or worse.
    pub(crate) fn scaled_int64(&self, places: i32) -> i64 {
        let dropped = self.places - places;
        if dropped <= 0 {
            return low_bits(&self.unscaled).wrapping_mul(10_i64.wrapping_pow(dropped.unsigned_abs()));
        }
        // The reference takes its short way for everything below 2^63 - 1, without asking how far below.
        let short = 10_i64.checked_pow(dropped.unsigned_abs()).filter(|_| self.unscaled < i64::MAX.into());
        if let Some(unit) = short {
            let low = low_bits(&self.unscaled);
            return low / unit + i64::from(low % unit != 0);
        }
        let unit = power_of_ten(dropped.unsigned_abs());
        let truncated = &self.unscaled / &unit;
        let remainder = &self.unscaled - &truncated * &unit;
        let floor = if remainder.sign() == Sign::Minus { truncated - 1 } else { truncated };
        low_bits(&floor).wrapping_add(i64::from(remainder.sign() != Sign::NoSign))
    }

    pub(crate) fn cmp_value(&self, other: &Self) -> Ordering {
        let by_sign = self.unscaled.sign().cmp(&other.unscaled.sign());
        by_sign.then_with(|| {
            let places = self.places.max(other.places);
            self.unscaled_at(places).cmp(&other.unscaled_at(places))
        })
    }

    /// The unscaled integer at `places`, which are at least this number's own.
    fn unscaled_at(&self, places: i32) -> BigInt {
        if self.is_zero() || places <= self.places {
            return self.unscaled.clone();
        }
        &self.unscaled * power_of_ten(places.abs_diff(self.places))
    }
}

pub(crate) fn power_of_ten(exponent: u32) -> BigInt {
    BigUint::from(10_u8).pow(exponent).into()
}

/// The low 64 bits of the magnitude, with the sign.
fn low_bits(number: &BigInt) -> i64 {
    let magnitude = number.magnitude().iter_u64_digits().next().unwrap_or(0).cast_signed();
    if number.sign() == Sign::Minus { magnitude.wrapping_neg() } else { magnitude }
}
