//! Canonical text: no loss, the largest suffix, no fraction.

use core::fmt;

use num_bigint::BigInt;

use crate::decimal::{Decimal, power_of_ten};
use crate::number::Number;
use crate::{Format, Quantity};

impl Quantity {
    /// The text without regard to a remembered one: `1k` for `1000`, `1536Mi` for `1.5Gi`.
    #[must_use]
    pub const fn canonical(&self) -> Canonical<'_> {
        Canonical(self)
    }
}

impl Quantity {
    /// The quantity as Go prints the struct: `{{10 0} {<nil>} 10 DecimalSI}`. Of the big inner form Go prints an address,
    /// which differs each time; here it is `...`.
    #[must_use]
    pub const fn go_struct(&self) -> GoStruct<'_> {
        GoStruct(self)
    }
}

/// A quantity that displays itself as Go's struct; made by [`Quantity::go_struct`].
#[derive(Clone, Copy, Debug)]
pub struct GoStruct<'a>(&'a Quantity);

impl fmt::Display for GoStruct<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quantity { amount, format, text } = self.0;
        let text = text.as_deref().unwrap_or_default();
        match amount {
            Number::Small { value, scale } => write!(f, "{{{{{value} {scale}}} {{<nil>}} {text} {format}}}"),
            Number::Big(_) => write!(f, "{{{{0 0}} {{...}} {text} {format}}}"),
        }
    }
}

/// A quantity that displays itself canonically; made by [`Quantity::canonical`].
#[derive(Clone, Copy, Debug)]
pub struct Canonical<'a>(&'a Quantity);

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => self.canonical().fmt(f),
        }
    }
}

impl fmt::Display for Canonical<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            return f.write_str("0");
        }
        let decimal = self.0.amount.to_decimal();
        match self.0.format {
            Format::BinarySi => {
                // Small and fractional amounts have no binary text.
                match decimal.whole().filter(|whole| *whole.magnitude() >= 1024_u32.into()) {
                    Some(whole) => write_binary(f, whole),
                    None => write_si(f, decimal),
                }
            }
            Format::DecimalSi => write_si(f, decimal),
            Format::DecimalExponent | Format::Unspecified => match engineering(decimal) {
                (digits, 0) => write!(f, "{digits}"),
                (digits, exponent) => write!(f, "{digits}e{exponent}"),
            },
        }
    }
}

fn write_si(f: &mut fmt::Formatter<'_>, decimal: Decimal) -> fmt::Result {
    let (digits, exponent) = engineering(decimal);
    let suffix = match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        // Beyond exa the reference has no suffix and writes none: 1000E is written `1`.
        _ => "",
    };
    write!(f, "{digits}{suffix}")
}

fn write_binary(f: &mut fmt::Formatter<'_>, mut whole: BigInt) -> fmt::Result {
    let mut suffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = "";
    while (&whole % 1024_u32) == 0.into() {
        let Some(next) = suffixes.next() else { break };
        suffix = next;
        whole /= 1024_u32;
    }
    write!(f, "{whole}{suffix}")
}

/// The fewest digits whose power of ten is a multiple of three, and that power.
fn engineering(Decimal { mut unscaled, places }: Decimal) -> (BigInt, i32) {
    let mut exponent = -places;
    while (&unscaled % 10_u32) == 0.into() {
        unscaled /= 10_u32;
        exponent += 1;
    }
    let extra = exponent.rem_euclid(3);
    (unscaled * power_of_ten(extra.unsigned_abs()), exponent - extra)
}
