//! Functions on lists that give lists or positions, and sets.

use alloc::format;
use alloc::vec::Vec;

use super::call::Implementation;
use super::strings;
use crate::value::{Budget, Fault, List, Value, Verdict};

/// Longer ranges cost more than an evaluation may.
const LONGEST_RANGE: i64 = 1_000_000;

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "lists.range" => range,
        "reverse" => |values, budget| match values {
            [Value::List(list)] => {
                budget.spend(list.len())?;
                let mut reversed: Vec<_> = list.iter().cloned().collect();
                reversed.reverse();
                Ok(Value::List(reversed.into()))
            }
            _ => Err(Fault::NoOverload),
        },
        "slice" => |values, budget| match values {
            [Value::List(list), Value::Int(start), Value::Int(end)] => slice(list, *start, *end, budget),
            _ => Err(Fault::NoOverload),
        },
        "flatten" => |values, budget| match values {
            [Value::List(list)] => flattened(list, 1, budget),
            [Value::List(list), Value::Int(depth)] => flattened(list, *depth, budget),
            _ => Err(Fault::NoOverload),
        },
        "distinct" => distinct,
        "sort" => |values, budget| match values {
            [Value::List(list)] => sorted(list, list, budget),
            _ => Err(Fault::NoOverload),
        },
        "@sortByAssociatedKeys" => |values, budget| match values {
            [Value::List(list), Value::List(keys)] => sorted(list, keys, budget),
            _ => Err(Fault::NoOverload),
        },
        "indexOf" => |values, budget| match values {
            [Value::List(list), value] => position(list, value, budget, Direction::Forward),
            [Value::String(text), Value::String(part)] => strings::index_of(text, part, 0),
            [Value::String(text), Value::String(part), Value::Int(offset)] => {
                strings::index_of(text, part, *offset)
            }
            _ => Err(Fault::NoOverload),
        },
        "lastIndexOf" => |values, budget| match values {
            [Value::List(list), value] => position(list, value, budget, Direction::Backward),
            [Value::String(text), Value::String(part)] => strings::last_index_of(text, part, None),
            [Value::String(text), Value::String(part), Value::Int(offset)] => {
                strings::last_index_of(text, part, Some(*offset))
            }
            _ => Err(Fault::NoOverload),
        },
        "sets.contains" => |values, budget| sets(values, |left, right| includes(left, right, budget)),
        "sets.equivalent" => |values, budget| {
            sets(values, |left, right| Ok(includes(left, right, budget)? && includes(right, left, budget)?))
        },
        "sets.intersects" => |values, budget| {
            sets(values, |left, right| {
                for element in left.iter() {
                    if element.is_in(right, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            })
        },
        _ => return None,
    })
}

fn range(values: &[Value], _: &Budget) -> Result<Value, Fault> {
    match values {
        [Value::Int(count @ ..0)] => {
            Err(Fault::text(format!("lists.range: size must be non-negative, got {count}")))
        }
        [Value::Int(count @ ..=LONGEST_RANGE)] => Ok(Value::List((0..*count).map(Value::Int).collect())),
        [Value::Int(_)] => Err(Fault::CostLimit),
        _ => Err(Fault::NoOverload),
    }
}

fn slice(list: &List, start: i64, end: i64, budget: &Budget) -> Result<Value, Fault> {
    let cannot = |reason: &str| Err(Fault::text(format!("cannot slice({start}, {end}), {reason}")));
    let (Ok(first), Ok(last)) = (usize::try_from(start), usize::try_from(end)) else {
        return cannot("negative indexes not supported");
    };
    if first > last {
        return cannot("start index must be less than or equal to end index");
    }
    if list.len() < last {
        return cannot(&format!("list is length {}", list.len()));
    }
    budget.spend(last - first)?;
    Ok(Value::List((first..last).map_while(|at| list.get(at).cloned()).collect()))
}

fn flattened(list: &List, depth: i64, budget: &Budget) -> Result<Value, Fault> {
    if depth < 0 {
        return Err(Fault::text("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten(list, depth, &mut flat, budget)?;
    Ok(Value::List(flat.into()))
}

fn flatten(list: &List, depth: i64, flat: &mut Vec<Value>, budget: &Budget) -> Result<(), Fault> {
    budget.spend(list.len())?;
    for element in list.iter() {
        match element {
            Value::List(inner) if depth > 0 => flatten(inner, depth - 1, flat, budget)?,
            other => flat.push(other.clone()),
        }
    }
    Ok(())
}

fn distinct(values: &[Value], budget: &Budget) -> Result<Value, Fault> {
    let [Value::List(list)] = values else { return Err(Fault::NoOverload) };
    let mut unique: Vec<Value> = Vec::new();
    for element in list.iter() {
        let mut is_new = true;
        for other in &unique {
            if element.equals(other, budget)? == Verdict::Equal {
                is_new = false;
                break;
            }
        }
        if is_new {
            unique.push(element.clone());
        }
    }
    Ok(Value::List(unique.into()))
}

/// The list in the order of its keys. The keys have to be of one type that has an order.
fn sorted(list: &List, keys: &List, budget: &Budget) -> Result<Value, Fault> {
    if list.len() != keys.len() {
        let message =
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got";
        let (list, keys) = (list.len(), keys.len());
        return Err(Fault::text(format!("{message} {list} and {keys} elements respectively")));
    }
    budget.spend(list.len().saturating_mul(16))?;
    let Some(first) = keys.get(0) else { return Ok(Value::List(list.clone())) };
    if first.compared(first).is_err() {
        return Err(Fault::text("list elements must be comparable"));
    }
    if list.len() > 1 && keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(Fault::text("list elements must have the same type"));
    }
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|left, right| {
        let pair = keys.get(*left).zip(keys.get(*right));
        let compared = pair.and_then(|(left, right)| left.compared(right).ok().flatten());
        compared.unwrap_or(core::cmp::Ordering::Equal)
    });
    Ok(Value::List(order.into_iter().filter_map(|at| list.get(at).cloned()).collect()))
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forward,
    Backward,
}

fn position(list: &List, value: &Value, budget: &Budget, direction: Direction) -> Result<Value, Fault> {
    for step in 0..list.len() {
        let at = if direction == Direction::Forward { step } else { list.len() - 1 - step };
        let Some(element) = list.get(at) else { break };
        if element.equals(value, budget)? == Verdict::Equal {
            return i64::try_from(at).map(Value::Int).map_err(|_| Fault::NoOverload);
        }
    }
    Ok(Value::Int(-1))
}

fn sets(values: &[Value], test: impl Fn(&List, &List) -> Result<bool, Fault>) -> Result<Value, Fault> {
    match values {
        [Value::List(left), Value::List(right)] => test(left, right).map(Value::Bool),
        _ => Err(Fault::NoOverload),
    }
}

fn includes(list: &List, part: &List, budget: &Budget) -> Result<bool, Fault> {
    for element in part.iter() {
        if !element.is_in(list, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}
