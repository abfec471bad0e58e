//! Conversions between types, and sizes.

use alloc::format;

use super::call::Implementation;
use crate::value::time;
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
        "string" => |values, _| converted(values, |value| value.to_text().map(|text| Value::text(&text))),
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
