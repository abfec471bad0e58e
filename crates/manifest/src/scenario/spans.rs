//! Spans of time, and how they are distributed.

use core::time::Duration;

use crate::node::{Field, MapEntry, Value, known_fields};
use crate::{ManifestError, Problem};

/// How spans of time are distributed. Each can be: no range is reversed, no mean or median is zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Spans {
    /// The same time for every pod.
    Constant(Duration),
    /// From the one to the other, all as likely.
    Uniform(Duration, Duration),
    /// Without memory, with this mean.
    Exponential(Duration),
    /// Log-normally distributed: mostly short, and some very long.
    LogNormal {
        /// Half are shorter.
        median: Duration,
        /// Standard deviation of the logarithm, from 0 to 10.
        sigma: f64,
    },
}

pub(super) fn read_spans(field: &Field<'_>) -> Result<Spans, ManifestError> {
    const SPANS: &str = "a span of time, or one of exponential, uniform and logNormal";
    let Value::Map(_) = field.node.value else { return Ok(Spans::Constant(span(field)?)) };
    known_fields(field, &["exponential", "uniform", "logNormal"], "exponential, uniform or logNormal")?;
    let entries = field.entries()?;
    let [MapEntry { key, value, .. }] = entries.as_slice() else {
        let found = format!("{} of them", entries.len());
        return Err(field.fail(Problem::Unexpected { found, expected: SPANS }));
    };
    match *key {
        "exponential" => Ok(Spans::Exponential(not_zero(value)?)),
        "uniform" => {
            const RANGE: &str = "a list of two spans of time, the shorter first";
            let items = value.items()?;
            let [from, to] = items.as_slice() else { return Err(value.unexpected(RANGE)) };
            let (shortest, longest) = (span(from)?, span(to)?);
            if shortest > longest {
                let found = format!("{shortest:?} to {longest:?}");
                return Err(value.fail(Problem::Unexpected { found, expected: RANGE }));
            }
            Ok(Spans::Uniform(shortest, longest))
        }
        _ => {
            const SIGMA: &str = "a number from 0 to 10";
            known_fields(value, &["median", "sigma"], "median or sigma")?;
            let sigma_field = value.require("sigma", SIGMA)?;
            let text = sigma_field.scalar(SIGMA)?;
            let sigma = text.parse().ok().filter(|sigma: &f64| (0.0..=10.0).contains(sigma));
            let sigma = sigma.ok_or_else(|| sigma_field.unexpected(SIGMA))?;
            Ok(Spans::LogNormal { median: not_zero(&value.require("median", SPAN)?)?, sigma })
        }
    }
}

fn not_zero(field: &Field<'_>) -> Result<Duration, ManifestError> {
    let span = span(field)?;
    if span.is_zero() { Err(field.unexpected("more than no time at all")) } else { Ok(span) }
}

pub(super) const SPAN: &str = "a span of time such as 90s, 5m, 1h30m or 2d";
/// A hundred years: no simulation is longer.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);
/// Units of time, in nanoseconds; `ms` before `m`.
const UNITS: [(&str, f64); 5] = [("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("d", 86_400e9)];

pub(super) fn span(field: &Field<'_>) -> Result<Duration, ManifestError> {
    let text = field.scalar(SPAN)?;
    parse_span(text).filter(|span| *span <= LONGEST).ok_or_else(|| field.unexpected(SPAN))
}

/// Numbers with units, as in `1h30m`; a bare `0` too.
fn parse_span(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))?;
        let (number, after) = rest.split_at(digits);
        let (unit, nanoseconds) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        sum += number.parse::<f64>().ok()? * nanoseconds;
        rest = after.strip_prefix(unit)?;
    }
    (!text.is_empty()).then_some(sum).and_then(|sum| Duration::try_from_secs_f64(sum / 1e9).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_numbers_with_units() {
        for (text, seconds) in
            [("90s", 90.0), ("1h30m", 5400.0), ("2d", 172_800.0), ("0", 0.0), ("1.5m", 90.0), ("250ms", 0.25)]
        {
            assert_eq!(parse_span(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "90", "s", "-5s", "5 s", "1e3s", "1..5s", "5w", "999999999999999999999999d"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }
}
