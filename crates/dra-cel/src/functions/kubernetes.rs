//! Quantities and semantic versions.

use alloc::format;
use alloc::string::ToString as _;
use alloc::sync::Arc;
use core::cmp::Ordering;

use k8s_quantity::{Format, Quantity, Sign};

use super::call::Implementation;
use crate::value::{Fault, Value, Version};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "quantity" => |values, _| match values {
            [Value::String(text)] => {
                let read = text.parse().map_err(|error| Fault::text(format!("{error}")))?;
                Ok(Value::Quantity(Arc::new(read)))
            }
            _ => Err(Fault::NoOverload),
        },
        "isQuantity" => |values, _| match values {
            [Value::String(text)] => Ok(Value::Bool(text.parse::<Quantity>().is_ok())),
            _ => Err(Fault::NoOverload),
        },
        "sign" => |values, _| {
            quantity(values, |quantity| {
                Ok(Value::Int(match quantity.sign() {
                    Sign::Negative => -1,
                    Sign::Zero => 0,
                    Sign::Positive => 1,
                }))
            })
        },
        "asInteger" => |values, _| {
            quantity(values, |quantity| {
                let whole = quantity.as_int64().map(Value::Int);
                whole.ok_or_else(|| Fault::text("cannot convert value to integer"))
            })
        },
        "isInteger" => {
            |values, _| quantity(values, |quantity| Ok(Value::Bool(quantity.as_int64().is_some())))
        }
        "asApproximateFloat" => {
            |values, _| quantity(values, |quantity| Ok(Value::Double(approximate(quantity))))
        }
        "add" => |values, _| sum(values, |left, right| left + right),
        "sub" => |values, _| sum(values, |left, right| left - right),
        "isGreaterThan" => |values, _| compared(values, |order| Value::Bool(order.is_gt())),
        "isLessThan" => |values, _| compared(values, |order| Value::Bool(order.is_lt())),
        "compareTo" => |values, _| compared(values, |order| Value::Int(i64::from(order as i8))),
        "semver" => |values, _| {
            let version = version(values)?.map_err(Fault::Text)?;
            Ok(Value::Version(Arc::new(version)))
        },
        "isSemver" => |values, _| Ok(Value::Bool(version(values)?.is_ok())),
        "major" => |values, _| part(values, |version| version.major),
        "minor" => |values, _| part(values, |version| version.minor),
        "patch" => |values, _| part(values, |version| version.patch),
        _ => return None,
    })
}

fn quantity(values: &[Value], of: impl Fn(&Quantity) -> Result<Value, Fault>) -> Result<Value, Fault> {
    match values {
        [Value::Quantity(quantity) | Value::Computed(quantity)] => of(quantity),
        _ => Err(Fault::NoOverload),
    }
}

/// The nearest double to the exact value, read from its digits.
fn approximate(quantity: &Quantity) -> f64 {
    if let Some(whole) = quantity.as_int64() {
        #[expect(clippy::cast_precision_loss, reason = "it is approximate")]
        return whole as f64;
    }
    let text = quantity.canonical().to_string();
    let end = text.find(|part: char| !part.is_ascii_digit() && !matches!(part, '.' | '-' | '+'));
    let (digits, suffix) = text.split_at(end.unwrap_or(text.len()));
    let scaled = |power: i32| format!("{digits}e{power}").parse().unwrap_or(0.0);
    let binary = |power: i32| digits.parse().unwrap_or(0.0) * libm::ldexp(1.0, power);
    match suffix {
        "n" => scaled(-9),
        "u" => scaled(-6),
        "m" => scaled(-3),
        "k" => scaled(3),
        "M" => scaled(6),
        "G" => scaled(9),
        "T" => scaled(12),
        "P" => scaled(15),
        "E" => scaled(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => text.parse().unwrap_or(0.0),
    }
}

fn sum(values: &[Value], operation: impl Fn(&Quantity, &Quantity) -> Quantity) -> Result<Value, Fault> {
    let result = match values {
        [Value::Quantity(left) | Value::Computed(left), Value::Quantity(right) | Value::Computed(right)] => {
            operation(left, right)
        }
        [Value::Quantity(left) | Value::Computed(left), Value::Int(right)] => {
            operation(left, &Quantity::from_units(*right, Format::DecimalExponent))
        }
        _ => return Err(Fault::NoOverload),
    };
    Ok(Value::Computed(Arc::new(result)))
}

fn compared(values: &[Value], of: impl Fn(Ordering) -> Value) -> Result<Value, Fault> {
    match values {
        [Value::Quantity(left) | Value::Computed(left), Value::Quantity(right) | Value::Computed(right)] => {
            Ok(of(left.cmp(right)))
        }
        [Value::Version(left), Value::Version(right)] => Ok(of(left.precedence(right))),
        _ => Err(Fault::NoOverload),
    }
}

fn version(values: &[Value]) -> Result<Result<Version, alloc::string::String>, Fault> {
    match values {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Ok(Version::parse(text)),
        [Value::String(text), Value::Bool(true)] => Ok(Version::parse_normalized(text)),
        _ => Err(Fault::NoOverload),
    }
}

#[expect(clippy::cast_possible_wrap, reason = "Kubernetes converts so")]
fn part(values: &[Value], of: impl Fn(&Version) -> u64) -> Result<Value, Fault> {
    match values {
        [Value::Version(version)] => Ok(Value::Int(of(version) as i64)),
        _ => Err(Fault::NoOverload),
    }
}
