//! Optional values, and what macros insert into maps.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::call::Implementation;
use crate::value::{Budget, Fault, Key, Map, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "optional.of" => |values, _| one(values, |value| Ok(value.clone().some())),
        "optional.ofNonZeroValue" => |values, _| {
            one(values, |value| Ok(if value.is_zero() { Value::none() } else { value.clone().some() }))
        },
        "optional.none" => |_, _| Ok(Value::none()),
        "value" => |values, _| match values {
            [Value::Optional(Some(value))] => Ok(Value::clone(value)),
            [Value::Optional(None)] => Err(Fault::text("optional.none() dereference")),
            _ => Err(Fault::NoOverload),
        },
        "hasValue" => |values, _| match values {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => Err(Fault::NoOverload),
        },
        "first" => |values, _| match values {
            [Value::List(list)] => Ok(list.get(0).cloned().map_or_else(Value::none, Value::some)),
            _ => Err(Fault::NoOverload),
        },
        "last" => |values, _| match values {
            [Value::List(list)] => {
                let last = list.len().checked_sub(1).and_then(|last| list.get(last));
                Ok(last.cloned().map_or_else(Value::none, Value::some))
            }
            _ => Err(Fault::NoOverload),
        },
        "optional.unwrap" | "unwrapOpt" => unwrapped,
        "cel.@mapInsert" => inserted,
        _ => return None,
    })
}

fn one(values: &[Value], of: impl Fn(&Value) -> Result<Value, Fault>) -> Result<Value, Fault> {
    match values {
        [value] => of(value),
        _ => Err(Fault::NoOverload),
    }
}

fn unwrapped(values: &[Value], budget: &Budget) -> Result<Value, Fault> {
    let [Value::List(list)] = values else { return Err(Fault::NoOverload) };
    budget.spend(list.len())?;
    let mut present = Vec::new();
    for element in list.iter() {
        match element {
            Value::Optional(value) => present.extend(value.iter().map(|value| Value::clone(value))),
            other => return Err(Fault::text(format!("value {} is not optional", other.shown()))),
        }
    }
    Ok(Value::List(present.into()))
}

fn inserted(values: &[Value], budget: &Budget) -> Result<Value, Fault> {
    match values {
        [Value::Map(map), key, value] => insert(map.clone(), key, value.clone()),
        [Value::Map(map), Value::Map(more)] => {
            budget.spend(more.len())?;
            let mut map = map.clone();
            for (key, value) in more.iter() {
                let Value::Map(changed) = insert(map, &key.value(), value.clone())? else {
                    return Err(Fault::NoOverload);
                };
                map = changed;
            }
            Ok(Value::Map(map))
        }
        _ => Err(Fault::NoOverload),
    }
}

/// The map with one more entry, in place where it is not shared.
pub(crate) fn insert(mut map: Arc<Map>, key: &Value, value: Value) -> Result<Value, Fault> {
    let Some(known) = Key::of(key) else { return Err(Fault::text("unsupported key type")) };
    if map.entry(&known).is_some() {
        return Err(Fault::text(format!("insert failed: key {} already exists", key.shown())));
    }
    Arc::make_mut(&mut map).insert(known, value);
    Ok(Value::Map(map))
}
