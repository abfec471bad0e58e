//! Absolute URLs and paths, as Go reads them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::call::Implementation;
use crate::value::{Fault, Key, Map, Url, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "url" => |values, _| match values {
            [Value::String(text)] => {
                let read = Url::parse(text).map_err(|reason| {
                    let message = "URL parse error during conversion from string: parse";
                    Fault::text(format!("{message} {text:?}: {reason}"))
                })?;
                Ok(Value::Url(Arc::new(read)))
            }
            _ => Err(Fault::NoOverload),
        },
        "isURL" => |values, _| match values {
            [Value::String(text)] => Ok(Value::Bool(Url::parse(text).is_ok())),
            _ => Err(Fault::NoOverload),
        },
        "getScheme" => |values, _| part(values, |url| Value::text(&url.scheme)),
        "getHost" => |values, _| part(values, |url| Value::text(&url.host)),
        "getHostname" => |values, _| part(values, |url| Value::text(url.name_and_port().0)),
        "getPort" => |values, _| part(values, |url| Value::text(url.name_and_port().1)),
        "getEscapedPath" => |values, _| part(values, |url| Value::text(&url.path)),
        "getQuery" => |values, _| part(values, |url| Value::Map(Arc::new(query(url)))),
        _ => return None,
    })
}

fn part(values: &[Value], of: impl Fn(&Url) -> Value) -> Result<Value, Fault> {
    match values {
        [Value::Url(url)] => Ok(of(url)),
        _ => Err(Fault::NoOverload),
    }
}

/// The values of a query by their keys.
fn query(url: &Url) -> Map {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for pair in url.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let Some((key, value)) = unescaped(key).zip(unescaped(value)) {
            found.entry(key).or_default().push(Value::text(&value));
        }
    }
    let mut map = Map::default();
    for (key, values) in found {
        map.insert(Key::String(key.into()), Value::List(values.into()));
    }
    map
}

/// A key or value of a query.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = core::str::from_utf8(rest.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = &rest[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}
