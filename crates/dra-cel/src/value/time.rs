//! Durations and timestamps as texts.

use alloc::format;
use alloc::string::{String, ToString as _};

const BILLION: i64 = 1_000_000_000;

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Timestamp {
    /// Since 1970, UTC.
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// Units of a duration, in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration such as `1h30m` or `-1.5s`; in nanoseconds.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0_u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|part: char| !part.is_ascii_digit() && part != '.')?;
        let (number, behind) = rest.split_at(end);
        let unit = behind.find(|part: char| part.is_ascii_digit() || part == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(nanoseconds(number, *factor)?)?;
        rest = behind;
    }
    let limit = i64::MAX.unsigned_abs() + u64::from(negative);
    if total > limit {
        return None;
    }
    let signed = i128::from(total) * if negative { -1 } else { 1 };
    i64::try_from(signed).ok()
}

fn nanoseconds(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let (mut part, mut scale) = (0_u64, factor);
    for digit in fraction.bytes() {
        scale /= 10;
        part += u64::from(digit - b'0') * scale;
    }
    whole.checked_mul(factor)?.checked_add(part)
}

/// In seconds: `5400s`, `0.5s`.
pub(crate) fn duration_text(nanoseconds: i64) -> String {
    let (seconds, rest) = (nanoseconds / BILLION, (nanoseconds % BILLION).abs());
    if rest == 0 {
        return format!("{seconds}s");
    }
    let sign = if nanoseconds < 0 && seconds == 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// Reads a time by RFC 3339 as Go's `time.Parse` does, which takes an hour of one digit too.
pub(crate) fn timestamp(text: &str) -> Option<Timestamp> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 2)?;
    let rest = rest.strip_prefix('T')?;
    let (hour, rest) = number(rest, 2).or_else(|| number(rest, 1))?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = number(rest.strip_prefix(':')?, 2)?;
    let is_right = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !is_right || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (nanoseconds, zone) = fraction(rest)?;
    let seconds = days_from_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Timestamp::new(seconds - offset(zone)?, nanoseconds)
}

/// A number of so many digits, and the text behind it.
fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| Some((number.parse().ok()?, rest)))?
}

/// Nanoseconds, and what stands behind them.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let end = rest.find(|part: char| !part.is_ascii_digit()).unwrap_or(rest.len());
    let kept = rest.get(..end.min(9))?;
    let padded = format!("{kept:0<9}");
    (end > 0).then(|| Some((padded.parse().ok()?, &rest[end..])))?
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = number(zone.get(1..)?, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
    (hours <= 24 && minutes <= 60 && rest.is_empty()).then(|| sign * (hours * 3_600 + minutes * 60))
}

pub(crate) const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 of a date of the Gregorian calendar.
pub(crate) const fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A date of the Gregorian calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Date {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
}

/// The date so many days after the first of 1970.
pub(crate) const fn date(days: i64) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400;
    Date { year: if month <= 2 { year + 1 } else { year }, month, day }
}

/// By RFC 3339, with as many decimals as it takes.
pub(crate) fn timestamp_text(time: Timestamp) -> String {
    let Date { year, month, day } = date(time.seconds.div_euclid(86_400));
    let second = time.seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let fraction = format!(".{:09}", time.nanoseconds);
    let fraction =
        if time.nanoseconds == 0 { String::new() } else { fraction.trim_end_matches('0').to_string() };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}
