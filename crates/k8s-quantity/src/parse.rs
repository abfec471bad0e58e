//! From text to quantity: one scan, then the small form where the reference would take it, else the big one.
//!
//! The grammar is the scanner's, not the regular expression that the error names: `.`, `-` and `Ki` are zero.
//! Which form a text gets depends on how many characters it has, not on its value; see [`small`].

use alloc::string::String;
use core::str::FromStr;

use num_bigint::{BigInt, BigUint, Sign as BigSign};
use thiserror::Error;

use crate::decimal::{Decimal, power_of_ten};
use crate::number::Number;
use crate::{Format, Quantity};

/// Why a text is not a quantity. The texts are Kubernetes', except that of [`ParseError::TooLarge`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ParseError {
    /// Empty, or something is left over after the suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The suffix has the right characters but is none.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// No digits before a large binary suffix.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// More than a thousand digits. The reference takes such numbers, or never returns.
    #[error("quantity has more than {MAX_DIGITS} digits")]
    TooLarge,
}

/// The most digits that a quantity may have, written out without its suffix or exponent.
const MAX_DIGITS: usize = 1000;

/// The finest unit that is kept: anything smaller rounds up to a billionth.
const NANO_PLACES: i32 = 9;

impl FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let scanned = Scanned::new(text)?;
        let suffix = Suffix::parse(scanned.suffix)?;
        scanned.check_size(&suffix)?;
        if let Some((amount, remember)) = small(&scanned, &suffix) {
            let text = (remember == Remember::Text).then(|| text.into());
            return Ok(Self { amount, format: suffix.format, text });
        }
        big(&scanned, &suffix)
    }
}

impl Quantity {
    /// Reads a JSON token: a string with its quotes, a bare number, or `null` (zero without a format). Escapes
    /// inside a string are not undone, as in Kubernetes.
    ///
    /// ```
    /// use k8s_quantity::Quantity;
    ///
    /// assert_eq!(Quantity::from_json_token("\"1Gi\"")?, Quantity::from_json_token("1073741824")?);
    /// # Ok::<(), k8s_quantity::ParseError>(())
    /// ```
    pub fn from_json_token(token: &str) -> Result<Self, ParseError> {
        if token == "null" {
            return Ok(Self::default());
        }
        let inside = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inside.unwrap_or(token).trim().parse()
    }
}

/// A text cut into its parts.
struct Scanned<'a> {
    sign: BigSign,
    /// Digits before the point without leading zeros, `0` if there are none left.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    digits: Digits,
    suffix: &'a str,
}

/// Whether any digit was written, be it a zero.
#[derive(PartialEq)]
enum Digits {
    Some,
    None,
}

impl<'a> Scanned<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        if text.is_empty() {
            return Err(ParseError::Format);
        }
        let sign = if text.starts_with('-') { BigSign::Minus } else { BigSign::Plus };
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let tail = suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
        let (_, left_over) = split_digits(tail.strip_prefix(['+', '-']).unwrap_or(tail));
        if !left_over.is_empty() {
            return Err(ParseError::Format);
        }
        let digits = if whole.is_empty() && fraction.is_empty() { Digits::None } else { Digits::Some };
        let significant = whole.trim_start_matches('0');
        let whole = if significant.is_empty() { "0" } else { significant };
        Ok(Self { sign, whole, fraction, digits, suffix })
    }

    fn is_zero(&self) -> bool {
        self.whole == "0" && self.fraction.bytes().all(|digit| digit == b'0')
    }

    fn all_digits(&self) -> String {
        [self.whole, self.fraction].concat()
    }

    /// Refuses what would need absurd memory, before any number is made.
    fn check_size(&self, suffix: &Suffix) -> Result<(), ParseError> {
        let written = self.whole.len() + self.fraction.len();
        let zeros = match suffix.base {
            Base::Ten => usize::try_from(suffix.exponent).unwrap_or(0),
            Base::Two => 0,
        };
        let too_large = written > MAX_DIGITS || (!self.is_zero() && self.whole.len() + zeros > MAX_DIGITS);
        if too_large { Err(ParseError::TooLarge) } else { Ok(()) }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// What the number is multiplied with.
struct Suffix {
    base: Base,
    exponent: i32,
    format: Format,
}

enum Base {
    Two,
    Ten,
}

impl Suffix {
    fn parse(text: &str) -> Result<Self, ParseError> {
        let decimal = |exponent| Ok(Self { base: Base::Ten, exponent, format: Format::DecimalSi });
        let binary = |exponent| Ok(Self { base: Base::Two, exponent, format: Format::BinarySi });
        match text {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            _ => {
                let digits = text.strip_prefix(['e', 'E']).ok_or(ParseError::Suffix)?;
                let exponent: i64 = digits.parse().map_err(|_| ParseError::Suffix)?;
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the reference truncates: 1e4294967297 is 10"
                )]
                let exponent = exponent as i32;
                Ok(Self { base: Base::Ten, exponent, format: Format::DecimalExponent })
            }
        }
    }
}

#[derive(PartialEq)]
enum Remember {
    Text,
    Nothing,
}

/// The small form, if the text is short enough for it, and whether the text is remembered.
///
/// A decimal has room for 18 digits and is kept down to 10^-9. A binary has none for a point, and for fewer
/// digits the larger its suffix is (15 less three for each step, less one).
fn small(scanned: &Scanned<'_>, suffix: &Suffix) -> Option<(Number, Remember)> {
    let (room, scale) = match suffix.base {
        Base::Ten => (18, suffix.exponent.checked_sub_unsigned(u32::try_from(scanned.fraction.len()).ok()?)?),
        Base::Two if scanned.fraction.is_empty() => (usize::try_from(14 - suffix.exponent * 3 / 10).ok()?, 0),
        Base::Two => return None,
    };
    if scanned.whole.len() + scanned.fraction.len() > room || scale < -NANO_PLACES {
        return None;
    }
    let digits = scanned.all_digits();
    let number: i64 = digits.parse().ok()?;
    let (magnitude, remembers) = match suffix.base {
        Base::Ten => (number, scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')),
        Base::Two => (number.checked_mul(1 << suffix.exponent)?, number % 8 != 0),
    };
    let value = if scanned.sign == BigSign::Minus { -magnitude } else { magnitude };
    // A zero's exponent is written nowhere; as it may be absurd, it must not reach the arithmetic.
    let scale = if value == 0 { scale.min(0) } else { scale };
    Some((Number::Small { value, scale }, if remembers { Remember::Text } else { Remember::Nothing }))
}

/// The big form: rounded up to billionths, and a binary one capped at the largest 64-bit integer.
fn big(scanned: &Scanned<'_>, suffix: &Suffix) -> Result<Quantity, ParseError> {
    if scanned.digits == Digits::None {
        return Err(ParseError::Numeric);
    }
    let magnitude = big_magnitude(scanned, suffix);
    let mut format = suffix.format;
    let mut amount = magnitude;
    if format == Format::BinarySi {
        let one = Decimal { unscaled: 1.into(), places: 0 };
        let cap = Decimal { unscaled: i64::MAX.into(), places: 0 };
        if amount.cmp_value(&cap).is_gt() {
            amount = cap;
        } else if !amount.is_zero() && amount.cmp_value(&one).is_lt() {
            format = Format::DecimalSi;
        }
    }
    if scanned.sign == BigSign::Minus {
        amount = amount.negated();
    }
    Ok(Quantity { amount: Number::Big(amount), format, text: None })
}

fn big_magnitude(scanned: &Scanned<'_>, suffix: &Suffix) -> Decimal {
    // Both texts are digits and at least one is there, so this is a number.
    let digits = BigUint::parse_bytes(scanned.all_digits().as_bytes(), 10).unwrap_or_default();
    let digits = BigInt::from(digits);
    let written = i64::try_from(scanned.fraction.len()).unwrap_or(i64::MAX);
    let (unscaled, places) = match suffix.base {
        Base::Two => (digits << suffix.exponent, written),
        Base::Ten => (digits, written.saturating_sub(suffix.exponent.into())),
    };
    let limit = i64::try_from(MAX_DIGITS).unwrap_or(i64::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "within plus and minus the limit")]
    let clamped = places.clamp(-limit, limit) as i32;
    if scanned.is_zero() {
        return Decimal { unscaled, places: clamped };
    }
    // Far below a billionth: rounded up it is one billionth, without making the number that says so.
    if places > limit * 2 {
        return Decimal { unscaled: power_of_ten(0), places: NANO_PLACES };
    }
    let places = i32::try_from(places).unwrap_or(clamped);
    Decimal { unscaled, places }.rounded_up(NANO_PLACES)
}
