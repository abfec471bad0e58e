//! Operators as functions, but those that do not need all of their operands.

use core::cmp::Ordering;

use super::call::Implementation;
use crate::value::{Budget, Fault, Key, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "_+_" => |values, _| pair(values, Value::plus),
        "_-_" => |values, _| pair(values, Value::minus),
        "_*_" => |values, _| pair(values, Value::times),
        "_/_" => |values, _| pair(values, Value::divided_by),
        "_%_" => |values, _| pair(values, Value::modulo),
        "_<_" => |values, _| compared(values, Ordering::is_lt),
        "_<=_" => |values, _| compared(values, Ordering::is_le),
        "_>_" => |values, _| compared(values, Ordering::is_gt),
        "_>=_" => |values, _| compared(values, Ordering::is_ge),
        "-_" => |values, _| match values {
            [value] => value.negated(),
            _ => Err(Fault::NoOverload),
        },
        "!_" => |values, _| match values {
            [Value::Bool(value)] => Ok(Value::Bool(!value)),
            _ => Err(Fault::NoOverload),
        },
        "@in" => contained,
        _ => return None,
    })
}

fn pair(
    values: &[Value],
    operation: impl Fn(&Value, &Value) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    match values {
        [left, right] => operation(left, right),
        _ => Err(Fault::NoOverload),
    }
}

fn compared(values: &[Value], holds: impl Fn(Ordering) -> bool) -> Result<Value, Fault> {
    pair(values, |left, right| match left.compared(right) {
        Ok(Some(order)) => Ok(Value::Bool(holds(order))),
        Ok(None)
            if [left, right]
                .iter()
                .any(|value| matches!(value, Value::Double(number) if number.is_nan())) =>
        {
            Err(Fault::text("NaN values cannot be ordered"))
        }
        _ => Err(Fault::NoOverload),
    })
}

fn contained(values: &[Value], budget: &Budget) -> Result<Value, Fault> {
    match values {
        [value, Value::List(list)] => value.is_in(list, budget).map(Value::Bool),
        [value, Value::Map(map)] => {
            Ok(Value::Bool(Key::of(value).is_some_and(|key| map.entry(&key).is_some())))
        }
        _ => Err(Fault::NoOverload),
    }
}
