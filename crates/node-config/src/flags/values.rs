//! Values of flags, as the kubelet reads each kind.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::csv;
use super::error::{DurationFault, FlagFault};
use super::labels::is_foreign;
use crate::boolean::parse_bool;
use crate::{Duration, RegisteredTaint};

pub(super) type Texts = BTreeMap<String, String>;
pub(super) type Read = Result<(), FlagFault>;

/// A text; the last one counts.
#[expect(clippy::unnecessary_wraps, reason = "one of the readers, of which others fail")]
pub(super) fn text(flag: &mut Option<String>, value: &str) -> Read {
    *flag = Some(value.to_owned());
    Ok(())
}

/// A boolean; the last one counts.
pub(super) fn boolean(flag: &mut Option<bool>, value: &str) -> Read {
    *flag = Some(parse_bool(value).ok_or_else(|| FlagFault::Boolean(value.to_owned()))?);
    Ok(())
}

/// An integer of 32 bits; the last one counts.
pub(super) fn integer(flag: &mut Option<i32>, value: &str) -> Read {
    *flag = Some(go_int32(value)?);
    Ok(())
}

/// A span of time; the last one counts.
pub(super) fn duration(flag: &mut Option<Duration>, value: &str) -> Read {
    *flag = Some(value.parse().map_err(|_| FlagFault::Duration(DurationFault::of(value)))?);
    Ok(())
}

/// Entries `KEY=VALUE`, separated by commas; those of all values count, the last of a key. Empty ones are skipped.
pub(super) fn pairs(flag: &mut Option<Texts>, value: &str) -> Read {
    split_pairs(flag, value, '=', "string=string")
}

/// Entries `KEY<VALUE`, else as [`pairs`].
pub(super) fn thresholds(flag: &mut Option<Texts>, value: &str) -> Read {
    split_pairs(flag, value, '<', "string<string")
}

fn split_pairs(flag: &mut Option<Texts>, value: &str, separator: char, expected: &'static str) -> Read {
    let entries = flag.get_or_insert_default();
    for entry in value.split(',').filter(|entry| !entry.is_empty()) {
        let (key, value) = entry.split_once(separator).ok_or(FlagFault::Pair(expected))?;
        entries.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    Ok(())
}

/// One entry `KEY=VALUE`, in which a comma is part of the value; the entries of all values count.
pub(super) fn pair(flag: &mut Option<Texts>, value: &str) -> Read {
    let (key, value) = value.split_once('=').ok_or(FlagFault::Pair("string=string"))?;
    flag.get_or_insert_default().insert(key.trim().to_owned(), value.trim().to_owned());
    Ok(())
}

/// Entries `KEY=BOOLEAN`, else as [`pairs`].
pub(super) fn gates(flag: &mut Option<BTreeMap<String, bool>>, value: &str) -> Read {
    let gates = flag.get_or_insert_default();
    for entry in value.split(',').filter(|entry| !entry.is_empty()) {
        let (gate, value) = entry.split_once('=').ok_or(FlagFault::Pair("string=bool"))?;
        let (gate, value) = (gate.trim(), value.trim());
        let on = parse_bool(value);
        let on = on.ok_or_else(|| FlagFault::Gate { gate: gate.to_owned(), value: value.to_owned() })?;
        gates.insert(gate.to_owned(), on);
    }
    Ok(())
}

/// A list as Go reads CSV; those of all values are joined.
pub(super) fn list(flag: &mut Option<Vec<String>>, value: &str) -> Read {
    let fields = csv::fields(value).map_err(FlagFault::List)?;
    flag.get_or_insert_default().extend(fields);
    Ok(())
}

/// Taints `KEY=VALUE:EFFECT` or `KEY:EFFECT`, separated by commas; the last value counts. A taint that ends with a dash
/// would take one away: it is checked and skipped.
pub(super) fn taints(flag: &mut Option<Vec<RegisteredTaint>>, value: &str) -> Read {
    let mut taints = Vec::new();
    let mut seen = BTreeSet::new();
    for spec in value.split(',').filter(|_| !value.is_empty()) {
        if let Some(removed) = spec.strip_suffix('-') {
            taint(removed)?;
            continue;
        }
        let taint = taint(spec)?;
        if taint.effect.is_empty() {
            return Err(FlagFault::Taint(spec.to_owned()));
        }
        if !seen.insert((taint.effect.clone(), taint.key.clone())) {
            let RegisteredTaint { key, value, effect } = taint;
            return Err(FlagFault::TaintTwice { key, value, effect });
        }
        taints.push(taint);
    }
    *flag = Some(taints);
    Ok(())
}

/// Of entries `KEY=VALUE` or `KEY`, separated by commas, the keys that a kubelet must not give its node; no value is kept.
#[expect(clippy::unnecessary_wraps, reason = "one of the readers, of which others fail")]
pub(super) fn foreign_labels(flag: &mut BTreeSet<String>, value: &str) -> Read {
    let keys = value.split(',').map(|entry| entry.split('=').next().unwrap_or_default().trim());
    flag.extend(keys.filter(|key| is_foreign(key)).map(str::to_owned));
    Ok(())
}

/// One taint, which may have no effect.
fn taint(spec: &str) -> Result<RegisteredTaint, FlagFault> {
    let wrong = || FlagFault::Taint(spec.to_owned());
    let (key_and_value, effect) = match spec.split_once(':') {
        None => (spec, None),
        Some((_, rest)) if rest.contains(':') => return Err(wrong()),
        Some((before, effect)) => (before, Some(effect)),
    };
    if let Some(effect) = effect
        && !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect)
    {
        return Err(FlagFault::TaintEffect(effect.to_owned()));
    }
    // Without an effect an equals sign is part of the key, which is refused for it.
    let (key, value) = match key_and_value.split_once('=').filter(|_| effect.is_some()) {
        None => (key_and_value, ""),
        Some((key, value)) => (key, value),
    };
    if !(value.is_empty() || is_label_name(value)) || !is_label_key(key) {
        return Err(wrong());
    }
    let effect = effect.unwrap_or_default();
    Ok(RegisteredTaint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
}

/// Whether `key` is a name as labels have them, or a DNS subdomain, a slash and a name.
fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_label_name(key),
        Some((prefix, name)) => {
            prefix.len() <= 253 && prefix.split('.').all(is_dns_label) && is_label_name(name)
        }
    }
}

fn is_label_name(name: &str) -> bool {
    name.len() <= 63 && is_framed(name, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

fn is_dns_label(label: &str) -> bool {
    is_framed(label, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), b"-")
}

/// Whether `text` begins and ends with `outer` bytes, and has those and `inner` ones between.
fn is_framed(text: &str, outer: fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.into_iter().all(|end| end.is_some_and(|byte| outer(*byte)))
        && bytes.iter().all(|byte| outer(*byte) || inner.contains(byte))
}

/// As Go's `strconv.ParseInt(text, 0, 32)`: the prefix names the base, and underscores may separate digits.
fn go_int32(text: &str) -> Result<i32, FlagFault> {
    let syntax = || FlagFault::Integer(text.to_owned());
    let range = || FlagFault::IntegerRange(text.to_owned());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (base, digits) = match unsigned.as_bytes() {
        [] => return Err(syntax()),
        [b'0', b'b' | b'B', _, ..] => (2, unsigned.get(2..)),
        [b'0', b'o' | b'O', _, ..] => (8, unsigned.get(2..)),
        [b'0', b'x' | b'X', _, ..] => (16, unsigned.get(2..)),
        [b'0', ..] => (8, unsigned.get(1..)),
        _ => (10, Some(unsigned)),
    };
    // From the left: what is wrong first counts, but underscores are looked at last.
    let mut magnitude: u32 = 0;
    for digit in digits.unwrap_or_default().chars().filter(|digit| *digit != '_') {
        let digit = digit.to_digit(base).ok_or_else(syntax)?;
        magnitude =
            magnitude.checked_mul(base).and_then(|shifted| shifted.checked_add(digit)).ok_or_else(range)?;
    }
    if !has_underscores_between_digits(unsigned) {
        return Err(syntax());
    }
    let value = i64::from(magnitude) * if text.starts_with('-') { -1 } else { 1 };
    i32::try_from(value).map_err(|_| range())
}

/// Whether each underscore stands between two digits, or between a prefix and a digit; decimal numbers have no prefix.
/// `number` has digits and underscores alone after its prefix.
fn has_underscores_between_digits(number: &str) -> bool {
    if !number.contains('_') {
        return true;
    }
    // A prefix counts as a digit, and `0` is one anyhow. A number without it starts on no digit.
    let bytes = number.as_bytes();
    let after = match bytes {
        [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', after @ ..] => after,
        [b'_', ..] => return false,
        bytes => bytes,
    };
    after.last() != Some(&b'_') && !after.windows(2).any(|pair| pair == b"__")
}
