//! Formats by their names, and texts validated by them.

use alloc::vec::Vec;

use super::call::Implementation;
use crate::value::{Fault, Format, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "format.named" => |values, _| match values {
            [Value::String(name)] => {
                Ok(Format::named(name).map_or_else(Value::none, |format| Value::Format(format).some()))
            }
            _ => Err(Fault::NoOverload),
        },
        "validate" => |values, _| match values {
            [Value::Format(format), Value::String(text)] => {
                let faults = format.faults(text);
                if faults.is_empty() {
                    return Ok(Value::none());
                }
                let faults: Vec<_> = faults.iter().map(|fault| Value::text(fault)).collect();
                Ok(Value::List(faults.into()).some())
            }
            _ => Err(Fault::NoOverload),
        },
        _ => return None,
    })
}

/// The format of a function `format.NAME()`.
pub(crate) fn constant(function: &str) -> Option<Value> {
    let name = function.strip_prefix("format.")?;
    Format::named(name).map(Value::Format)
}
