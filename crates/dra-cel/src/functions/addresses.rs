//! Functions on addresses and networks.

use alloc::string::ToString as _;

use super::call::Implementation;
use crate::value::{Address, Prefix};
use crate::value::{Fault, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "ip" => |values, _| match values {
            [Value::String(text)] => address(text).map(Value::Address),
            [Value::Prefix(prefix)] => Ok(Value::Address(prefix.address())),
            _ => Err(Fault::NoOverload),
        },
        "isIP" => |values, _| text(values, |text| Ok(Value::Bool(Address::parse(text).is_ok()))),
        "ip.isCanonical" => {
            |values, _| text(values, |text| Ok(Value::Bool(address(text)?.to_string() == text)))
        }
        "family" => |values, _| of_address(values, |address| Value::Int(address.family())),
        "isUnspecified" => |values, _| of_address(values, |address| Value::Bool(address.is_unspecified())),
        "isLoopback" => |values, _| of_address(values, |address| Value::Bool(address.is_loopback())),
        "isLinkLocalMulticast" => {
            |values, _| of_address(values, |address| Value::Bool(address.is_link_local_multicast()))
        }
        "isLinkLocalUnicast" => {
            |values, _| of_address(values, |address| Value::Bool(address.is_link_local_unicast()))
        }
        "isGlobalUnicast" => {
            |values, _| of_address(values, |address| Value::Bool(address.is_global_unicast()))
        }
        "cidr" => |values, _| text(values, |text| prefix(text).map(Value::Prefix)),
        "isCIDR" => |values, _| text(values, |text| Ok(Value::Bool(Prefix::parse(text).is_ok()))),
        "prefixLength" => |values, _| match values {
            [Value::Prefix(prefix)] => Ok(Value::Int(i64::from(prefix.length()))),
            _ => Err(Fault::NoOverload),
        },
        "masked" => |values, _| match values {
            [Value::Prefix(prefix)] => Ok(Value::Prefix(prefix.masked())),
            _ => Err(Fault::NoOverload),
        },
        "containsIP" => |values, _| match values {
            [Value::Prefix(prefix), Value::Address(address)] => Ok(Value::Bool(prefix.contains(*address))),
            [Value::Prefix(prefix), Value::String(text)] => {
                address(text).map(|address| Value::Bool(prefix.contains(address)))
            }
            _ => Err(Fault::NoOverload),
        },
        "containsCIDR" => |values, _| match values {
            [Value::Prefix(outer), Value::Prefix(inner)] => Ok(Value::Bool(outer.contains_network(*inner))),
            [Value::Prefix(outer), Value::String(text)] => {
                prefix(text).map(|inner| Value::Bool(outer.contains_network(inner)))
            }
            _ => Err(Fault::NoOverload),
        },
        _ => return None,
    })
}

fn address(text: &str) -> Result<Address, Fault> {
    Address::parse(text).map_err(Fault::Text)
}

fn prefix(text: &str) -> Result<Prefix, Fault> {
    Prefix::parse(text).map_err(Fault::Text)
}

fn text(values: &[Value], of: impl Fn(&str) -> Result<Value, Fault>) -> Result<Value, Fault> {
    match values {
        [Value::String(text)] => of(text),
        _ => Err(Fault::NoOverload),
    }
}

fn of_address(values: &[Value], of: impl Fn(Address) -> Value) -> Result<Value, Fault> {
    match values {
        [Value::Address(address)] => Ok(of(*address)),
        _ => Err(Fault::NoOverload),
    }
}
