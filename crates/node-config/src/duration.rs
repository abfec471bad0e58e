//! Spans of time as Go reads and prints them.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// A span of time: `10s`, `1m30s`, `1.5h`. Printed as Go does, so that `1m` becomes `1m0s`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Duration {
    nanoseconds: i64,
}

/// A text that Go does not read as a duration, or one beyond 292 years.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("not a duration")]
pub struct DurationError;

/// Names of units and their length in nanoseconds; `ms` before `m`.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];
const SECOND: i64 = 1_000_000_000;

impl Duration {
    /// A whole number of seconds.
    #[must_use]
    pub const fn from_seconds(seconds: i32) -> Self {
        Self { nanoseconds: seconds as i64 * SECOND }
    }

    /// The span as others have it; one that goes back in time is none.
    #[must_use]
    pub const fn span(self) -> core::time::Duration {
        let nanoseconds = if self.nanoseconds < 0 { 0 } else { self.nanoseconds };
        core::time::Duration::from_nanos(nanoseconds.unsigned_abs())
    }

    /// Whether it is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.nanoseconds == 0
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self::default());
        }
        if rest.is_empty() {
            return Err(DurationError);
        }
        let mut sum: i128 = 0;
        while !rest.is_empty() {
            let (part, after) = part(rest)?;
            sum += part;
            rest = after;
        }
        i64::try_from(sign * sum).map(|nanoseconds| Self { nanoseconds }).map_err(|_| DurationError)
    }
}

/// The first number with its unit, in nanoseconds, and what follows.
fn part(text: &str) -> Result<(i128, &str), DurationError> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError);
    }
    let unit = UNITS.iter().find_map(|(name, length)| Some((rest.strip_prefix(name)?, *length)));
    let (rest, unit) = unit.ok_or(DurationError)?;
    let unit = i128::from(unit);
    // A number of more digits is beyond what a duration holds, whatever its unit.
    let whole: i128 = match whole.trim_start_matches('0') {
        "" => 0,
        whole if whole.len() <= 19 => whole.parse().map_err(|_| DurationError)?,
        _ => return Err(DurationError),
    };
    // Digits below a nanosecond are cut off.
    let (mut below, mut scale) = (0, 1);
    for digit in fraction.bytes().take(18) {
        below = below * 10 + i128::from(digit - b'0');
        scale *= 10;
    }
    Ok((whole * unit + below * unit / scale, rest))
}

/// Whether `name` is a unit of time.
pub(crate) fn is_unit(name: &str) -> bool {
    UNITS.iter().any(|(unit, _)| *unit == name)
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        let all = self.nanoseconds.unsigned_abs();
        let second = SECOND.unsigned_abs();
        match all {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{all}ns"),
            1_000..1_000_000 => decimal(f, all, 1_000, "µs"),
            1_000_000..1_000_000_000 => decimal(f, all, 1_000_000, "ms"),
            _ => {
                let (hours, minutes) = (all / second / 3600, all / second / 60);
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                decimal(f, all % (60 * second), second, "s")
            }
        }
    }
}

/// A number of units, without zeros at the end.
fn decimal(f: &mut fmt::Formatter<'_>, amount: u64, unit: u64, name: &str) -> fmt::Result {
    write!(f, "{}", amount / unit)?;
    let (mut rest, mut place) = (amount % unit, unit);
    if rest > 0 {
        f.write_str(".")?;
    }
    while rest > 0 {
        place /= 10;
        write!(f, "{}", rest / place)?;
        rest %= place;
    }
    f.write_str(name)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn durations_are_read_and_printed_as_go_does() {
        for (text, printed) in [
            ("0", "0s"),
            ("-0s", "0s"),
            ("10s", "10s"),
            ("+5s", "5s"),
            ("-1s", "-1s"),
            ("1m", "1m0s"),
            ("90s", "1m30s"),
            ("1h", "1h0m0s"),
            ("1.5h", "1h30m0s"),
            ("3723.25s", "1h2m3.25s"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("1500us", "1.5ms"),
            ("1µs", "1µs"),
            ("1h30m5s10ms", "1h30m5.01s"),
            ("7ns", "7ns"),
            ("0.1ns", "0s"),
            ("9223372036854775807ns", "2562047h47m16.854775807s"),
        ] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), printed, "{text}");
        }
    }

    #[test]
    fn what_go_does_not_read_is_refused() {
        for text in ["", "-", "1", "s", ".s", "1d", "1 s", "1s ", "--1s", "3000000h", "99999999999999999999s"]
        {
            assert_eq!(text.parse::<Duration>(), Err(DurationError), "{text}");
        }
    }
}
