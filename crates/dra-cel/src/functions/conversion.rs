//! Conversions between types, and sizes.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::call::Implementation;
use super::time;
use crate::value::{Fault, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "size" => |values, _| match values {
            [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))] => {
                i64::try_from(value.size()).map(Value::Int).map_err(|_| Fault::NoOverload)
            }
            [Value::Address(_) | Value::Prefix(_)] => values
                .first()
                .and_then(|value| i64::try_from(value.size()).ok())
                .map(Value::Int)
                .ok_or(Fault::NoOverload),
            _ => Err(Fault::NoOverload),
        },
        "type" => |values, _| converted(values, |value| Some(Value::Type(value.type_name()))),
        "dyn" => |values, _| converted(values, |value| Some(value.clone())),
        "bool" => |values, _| converted(values, to_bool),
        "bytes" => |values, _| converted(values, to_bytes),
        "double" => |values, _| converted(values, to_double),
        "duration" => |values, _| converted(values, to_duration),
        "int" => |values, _| converted(values, to_int),
        "string" => |values, _| converted(values, |value| to_text(value).map(|text| Value::text(&text))),
        "timestamp" => |values, _| converted(values, to_timestamp),
        "uint" => |values, _| converted(values, to_uint),
        _ => return None,
    })
}

fn converted(values: &[Value], convert: impl Fn(&Value) -> Option<Value>) -> Result<Value, Fault> {
    let [value] = values else { return Err(Fault::NoOverload) };
    convert(value).ok_or_else(|| Fault::text(format!("type conversion error from '{}'", value.type_name())))
}

fn to_bool(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

fn to_bytes(value: &Value) -> Option<Value> {
    match value {
        Value::Bytes(_) => Some(value.clone()),
        Value::String(text) => Some(Value::Bytes(text.as_bytes().into())),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "cel-go rounds to the next double")]
fn to_double(value: &Value) -> Option<Value> {
    match value {
        Value::Double(_) => Some(value.clone()),
        Value::Int(number) => Some(Value::Double(*number as f64)),
        Value::Uint(number) => Some(Value::Double(*number as f64)),
        Value::String(text) => float(text).map(Value::Double),
        _ => None,
    }
}

/// Go's floats, without hexadecimal ones and underscores.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_name = ["inf", "infinity", "nan"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    let number: f64 = text.parse().ok()?;
    (is_name || number.is_finite()).then_some(number)
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) => Some(value.clone()),
        Value::Uint(number) => i64::try_from(*number).ok().map(Value::Int),
        Value::Double(number) => {
            let fits = *number > -9_223_372_036_854_775_808.0 && *number < 9_223_372_036_854_775_808.0;
            fits.then_some(Value::Int(*number as i64))
        }
        Value::String(text) => text.parse().ok().map(Value::Int),
        Value::Duration(nanoseconds) => Some(Value::Int(*nanoseconds)),
        Value::Timestamp(time) => Some(Value::Int(time.seconds)),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
fn to_uint(value: &Value) -> Option<Value> {
    match value {
        Value::Uint(_) => Some(value.clone()),
        Value::Int(number) => u64::try_from(*number).ok().map(Value::Uint),
        Value::Double(number) => {
            let fits = *number >= 0.0 && *number < 18_446_744_073_709_551_616.0;
            fits.then_some(Value::Uint(*number as u64))
        }
        Value::String(text) if !text.starts_with('+') => text.parse().ok().map(Value::Uint),
        _ => None,
    }
}

fn to_duration(value: &Value) -> Option<Value> {
    match value {
        Value::Duration(_) => Some(value.clone()),
        Value::String(text) => time::duration(text).map(Value::Duration),
        _ => None,
    }
}

fn to_timestamp(value: &Value) -> Option<Value> {
    match value {
        Value::Timestamp(_) => Some(value.clone()),
        Value::Int(seconds) => crate::value::Timestamp::new(*seconds, 0).map(Value::Timestamp),
        Value::String(text) => time::timestamp(text).map(Value::Timestamp),
        _ => None,
    }
}

/// The text that `string` makes of a value.
pub(crate) fn to_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => double_text(*number),
        Value::Bytes(bytes) => core::str::from_utf8(bytes).ok()?.to_string(),
        Value::Duration(nanoseconds) => time::duration_text(*nanoseconds),
        Value::Timestamp(timestamp) => time::timestamp_text(*timestamp),
        Value::Address(address) => address.to_string(),
        Value::Prefix(prefix) => prefix.to_string(),
        Value::Type(name) => (*name).to_string(),
        _ => return None,
    })
}

/// The shortest text that is read as the same number, with an exponent where that is below -4 or above 20.
pub(super) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_string();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_string();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
