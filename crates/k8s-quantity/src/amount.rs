//! Amounts as people read them.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;

/// A number of bytes or of things, to be shown to a person. A [`Quantity`](crate::Quantity) is what a manifest says, and
/// is printed exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Shown in binary units, exactly where two decimals or four digits are enough for that (`1.25Mi`, `5118Ki`), and
    /// rounded down otherwise: what is shown is really there. Whole numbers from 10 on, and numbers with two
    /// decimals below, can be rounded.
    Bytes(u64),
    /// Shown as it is.
    Count(u64),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match *self {
            Self::Count(count) => return write!(f, "{count}"),
            Self::Bytes(bytes) => bytes,
        };
        let is_whole = |shift: u32| bytes.trailing_zeros() >= shift;
        let Some((name, shift)) = unit_of(bytes) else { return write!(f, "{bytes}") };
        let smaller = UNITS.into_iter().find(|(_, other)| *other + 10 == shift);
        let exact = smaller.filter(|(_, shift)| is_whole(*shift) && bytes >> shift < MOST_EXACT);
        let hundred = u128::from(bytes) * 100;
        let (whole, hundredths) = (bytes >> shift, hundred >> shift);
        match (hundredths % 100, exact) {
            (0, _) if is_whole(shift) => write!(f, "{whole}{name}"),
            (part, _) if hundredths << shift == hundred && part % 10 == 0 => {
                write!(f, "{whole}.{}{name}", part / 10)
            }
            (part, _) if hundredths << shift == hundred => write!(f, "{whole}.{part:02}{name}"),
            (_, Some((name, shift))) => write!(f, "{}{name}", bytes >> shift),
            (part, None) if whole < 10 => write!(f, "{whole}.{part:02}{name}"),
            (_, None) => write!(f, "{whole}{name}"),
        }
    }
}

impl Amount {
    /// The amounts as texts. Those that differ and would be rounded to the same text have as many decimals as it takes,
    /// rounded down too: `13.9Gi` beside `13.0Gi`.
    #[must_use]
    pub fn told_apart<const N: usize>(amounts: [Self; N]) -> [String; N] {
        amounts.map(|amount| {
            let text = amount.to_string();
            let twins = || amounts.iter().filter(|other| **other != amount && other.to_string() == text);
            if twins().next().is_none() {
                return text;
            }
            let with = |amount: &Self, decimals| amount.with_decimals(decimals);
            let apart =
                |decimals: &u32| twins().all(|other| with(other, *decimals) != with(&amount, *decimals));
            (1..MOST_DECIMALS).find(apart).map_or_else(|| amount.exact(), |decimals| with(&amount, decimals))
        })
    }

    /// In the unit in which it is shown rounded, with so many decimals.
    fn with_decimals(self, decimals: u32) -> String {
        let Self::Bytes(bytes) = self else { return self.exact() };
        let Some((name, shift)) = unit_of(bytes) else { return self.exact() };
        let parts = 10_u128.pow(decimals);
        let scaled = (u128::from(bytes) * parts) >> shift;
        format!("{}.{:0width$}{name}", scaled / parts, scaled % parts, width = decimals as usize)
    }

    fn exact(self) -> String {
        let (Self::Bytes(number) | Self::Count(number)) = self;
        format!("{number}")
    }
}

/// The largest unit of which it has one at least. Terabytes only where nothing is lost: people compare 1536Gi with 1152Gi.
fn unit_of(bytes: u64) -> Option<(&'static str, u32)> {
    let wanted =
        |(_, shift): &(&str, u32)| bytes >> shift > 0 && (*shift != 40 || bytes.trailing_zeros() >= *shift);
    UNITS.into_iter().find(wanted)
}

/// Amounts that need more are shown in bytes.
const MOST_DECIMALS: u32 = 6;
/// Units with the power of two that each is, the largest first.
const UNITS: [(&str, u32); 6] = [("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
/// Numbers from this one on are rounded instead of shown in the smaller unit.
const MOST_EXACT: u64 = 10_000;

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn amounts_that_differ_differ_as_texts() {
        let bytes = |amounts: [u64; 3]| Amount::told_apart(amounts.map(Amount::Bytes));
        assert_eq!(bytes([13_400 << 20, 13 << 30, 13 << 30]), ["13.08Gi", "13.00Gi", "13.00Gi"]);
        assert_eq!(bytes([15_000_000_000, 14_000_000_000, 14 << 30]), ["13.9Gi", "13.0Gi", "14Gi"]);
        assert_eq!(
            bytes([(1 << 60) + 1, (1 << 60) + 2, 0]),
            ["1152921504606846977", "1152921504606846978", "0"]
        );
        assert_eq!(bytes([5 << 30, 5 << 30, 6 << 30]), ["5Gi", "5Gi", "6Gi"]);
        assert_eq!(Amount::told_apart([Amount::Count(5), Amount::Count(6)]), ["5", "6"]);
    }

    #[test]
    fn sizes_are_exact_or_rounded_down_to_what_is_there() {
        for (bytes, shown) in [
            (0, "0"),
            (1023, "1023"),
            (1 << 30, "1Gi"),
            (3 << 29, "1.5Gi"),
            (5 << 28, "1.25Gi"),
            (1280 << 10, "1.25Mi"),
            (5118 << 10, "5118Ki"),
            (36_608 << 10, "35.75Mi"),
            (1_230 << 20, "1230Mi"),
            ((5 << 28) + 1, "1.25Gi"),
            ((1 << 30) + 1, "1.00Gi"),
            (u64::MAX, "15Ei"),
            ((16 << 30) - 1, "15Gi"),
            (67_283_976_192, "62Gi"),
            (1 << 40, "1Ti"),
            (1_536 << 30, "1536Gi"),
            (2 << 20, "2Mi"),
        ] {
            assert_eq!(Amount::Bytes(bytes).to_string(), shown, "{bytes}");
        }
    }
}
