//! Kubernetes' functions on lists: sums, extremes, order, and whether a value is included.

use alloc::format;
use core::cmp::Ordering;

use super::call::Implementation;
use crate::value::{Budget, Fault, List, Value, Verdict};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "sum" => |values, budget| of_list(values, budget, sum),
        "max" => |values, budget| of_list(values, budget, |list| extreme(list, "max", Ordering::Less)),
        "min" => |values, budget| of_list(values, budget, |list| extreme(list, "min", Ordering::Greater)),
        "isSorted" => |values, budget| of_list(values, budget, is_sorted),
        "includes" => includes,
        _ => return None,
    })
}

fn of_list(
    values: &[Value],
    budget: &Budget,
    of: impl Fn(&List) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    let [Value::List(list)] = values else { return Err(Fault::NoOverload) };
    budget.spend(list.len())?;
    of(list)
}

/// An empty sum is the integer 0: which type it would have had is not known then.
fn sum(list: &List) -> Result<Value, Fault> {
    let mut elements = list.iter();
    let Some(first) = elements.next() else { return Ok(Value::Int(0)) };
    if !matches!(first, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)) {
        return Err(Fault::NoOverload);
    }
    elements.try_fold(first.clone(), |sum, element| sum.plus(element))
}

/// The first element that `worse` than which no other is.
fn extreme(list: &List, name: &str, worse: Ordering) -> Result<Value, Fault> {
    let mut best: Option<&Value> = None;
    for element in list.iter() {
        let order = best.unwrap_or(element).compared(element).map_err(|_| Fault::NoOverload)?;
        if best.is_none() || order == Some(worse) {
            best = Some(element);
        }
    }
    best.cloned().ok_or_else(|| Fault::text(format!("{name} called on empty list")))
}

fn is_sorted(list: &List) -> Result<Value, Fault> {
    let mut before: Option<&Value> = None;
    for element in list.iter() {
        let order = before.unwrap_or(element).compared(element).map_err(|_| Fault::NoOverload)?;
        if order == Some(Ordering::Greater) {
            return Ok(Value::Bool(false));
        }
        before = Some(element);
    }
    Ok(Value::Bool(true))
}

fn includes(values: &[Value], budget: &Budget) -> Result<Value, Fault> {
    match values {
        [Value::List(list), value] => {
            for element in list.iter() {
                if element.equals(value, budget)? == Verdict::Equal {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        [single, value] => Ok(Value::Bool(single.equals(value, budget)? == Verdict::Equal)),
        _ => Err(Fault::NoOverload),
    }
}
