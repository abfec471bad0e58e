//! What a scalar is: nothing, a boolean, a number or text, as `go.yaml.in/yaml/v2` and `encoding/json` of Go have it.
//!
//! That is YAML 1.1 without numbers of base 60: `yes`, `on` and `y` are true, `0644` is 420, and `1_000` is 1000.

use node_config::go_float;

/// What a scalar is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer beyond 63 bits.
    Unsigned(u64),
    Float(f64),
    Text,
}

/// A tag that its scalar does not fit; its short form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unfit(pub(crate) String);

const STANDARD: &str = "tag:yaml.org,2002:";

/// What a scalar with a tag is; `tag` is empty for one without. Tags that are not YAML's own have no effect.
pub(crate) fn resolve(tag: &str, text: &str) -> Result<Scalar, Unfit> {
    let unfit = || Unfit(format!("!!{}", tag.strip_prefix(STANDARD).unwrap_or(tag)));
    let Some(tag) = tag.strip_prefix(STANDARD) else {
        return Ok(if tag.is_empty() { plain(text) } else { Scalar::Text });
    };
    match (tag, plain(text)) {
        ("null", scalar @ Scalar::Null)
        | ("bool", scalar @ Scalar::Bool(_))
        | ("int", scalar @ (Scalar::Integer(_) | Scalar::Unsigned(_)))
        | ("float", scalar @ Scalar::Float(_)) => Ok(scalar),
        #[expect(clippy::cast_precision_loss, reason = "so does the Go library")]
        ("float", Scalar::Integer(value)) => Ok(Scalar::Float(value as f64)),
        ("null" | "bool" | "int" | "float" | "timestamp" | "binary", _) => Err(unfit()),
        // `!!str`, and what is about lists and mappings.
        _ => Ok(Scalar::Text),
    }
}

/// What a scalar without quotes and tag is. Dates stay text.
fn plain(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes() {
        [b'.', ..] => digits_without_separators(text).and_then(|digits| float(&digits)).map(Scalar::Float),
        [b'+' | b'-' | b'0'..=b'9', ..] => number(&text.replace('_', "")),
        _ => None,
    };
    number.unwrap_or(Scalar::Text)
}

/// A text without its `_`, each of which has to be between two digits.
fn digits_without_separators(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let separators = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    let all_between =
        separators.into_iter().all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    all_between.then(|| text.replace('_', ""))
}

fn number(text: &str) -> Option<Scalar> {
    if let Some(value) = integer(text) {
        return Some(Scalar::Integer(value));
    }
    if let Some(value) = unsigned(text) {
        return Some(Scalar::Unsigned(value));
    }
    if let Some(value) = float(text) {
        return Some(Scalar::Float(value));
    }
    // What is left are binary numbers with a sign behind their prefix.
    let binary = |sign: &str, digits: &str| {
        let (sign, digits) = match digits.as_bytes() {
            [b'+', ..] if sign.is_empty() => ("", digits.get(1..)?),
            [b'-', ..] if sign.is_empty() => ("-", digits.get(1..)?),
            _ => (sign, digits),
        };
        let is_binary = !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0' | b'1'));
        is_binary.then(|| i64::from_str_radix(&format!("{sign}{digits}"), 2).ok())?.map(Scalar::Integer)
    };
    match (text.strip_prefix("0b"), text.strip_prefix("-0b")) {
        (Some(digits), _) => binary("", digits),
        (_, Some(digits)) => binary("-", digits),
        _ => None,
    }
}

/// `strconv.ParseInt(text, 0, 64)`.
fn integer(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..)?),
        [b'+', ..] => (false, text.get(1..)?),
        _ => (false, text),
    };
    let value = i128::from(unsigned(digits)?);
    i64::try_from(if is_negative { -value } else { value }).ok()
}

/// `strconv.ParseUint(text, 0, 64)`.
fn unsigned(text: &str) -> Option<u64> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, text.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, text.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, text.get(2..)?),
        [b'0', _, ..] => (8, text.get(1..)?),
        _ => (10, text),
    };
    // Rust takes a sign there.
    if digits.starts_with(['+', '-']) { None } else { u64::from_str_radix(digits, base).ok() }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, if it is not too large.
fn float(text: &str) -> Option<f64> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => is_number(fraction),
        Some((whole, fraction)) => is_number(whole) && (fraction.is_empty() || is_number(fraction)),
        None => is_number(mantissa),
    };
    if !is_mantissa || !is_number(exponent) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A float as Go writes it in JSON; infinity and what is no number have no such form.
pub(crate) fn json_float(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return Some(value.to_string());
    }
    let text = format!("{value:e}");
    Some(if size >= 1e21 { text.replace('e', "e+") } else { text })
}

/// A float as a key: the shortest text that is the same number in 32 bits.
pub(crate) fn key_float(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "so does the Go library")]
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    value.to_string().parse().map_or_else(|_| value.to_string(), go_float)
}
