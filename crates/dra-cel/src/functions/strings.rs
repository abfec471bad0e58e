//! Functions on strings. Positions count characters.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::call::Implementation;
use crate::value::{Fault, List, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "contains" => |values, _| tested(values, |text, part| text.contains(part)),
        "startsWith" => |values, _| tested(values, |text, part| text.starts_with(part)),
        "endsWith" => |values, _| tested(values, |text, part| text.ends_with(part)),
        "lowerAscii" => |values, _| changed(values, str::to_ascii_lowercase),
        "upperAscii" => |values, _| changed(values, str::to_ascii_uppercase),
        "trim" => |values, _| changed(values, |text| text.trim_matches(is_space).to_string()),
        "strings.quote" => |values, _| changed(values, quoted),
        "charAt" => |values, _| match values {
            [Value::String(text), Value::Int(at)] => character(text, *at),
            _ => Err(Fault::NoOverload),
        },
        "replace" => replaced,
        "split" => split,
        "substring" => |values, _| match values {
            [Value::String(text), Value::Int(start)] => from(text, *start),
            [Value::String(text), Value::Int(start), Value::Int(end)] => between(text, *start, *end),
            _ => Err(Fault::NoOverload),
        },
        "join" => |values, budget| match values {
            [Value::List(list)] => joined(list, "", budget),
            [Value::List(list), Value::String(separator)] => joined(list, separator, budget),
            _ => Err(Fault::NoOverload),
        },
        _ => return None,
    })
}

/// White space as Go has it.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

fn tested(values: &[Value], test: impl Fn(&str, &str) -> bool) -> Result<Value, Fault> {
    match values {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(test(text, part))),
        _ => Err(Fault::NoOverload),
    }
}

fn changed(values: &[Value], change: impl Fn(&str) -> String) -> Result<Value, Fault> {
    match values {
        [Value::String(text)] => Ok(Value::text(&change(text))),
        _ => Err(Fault::NoOverload),
    }
}

fn out_of_range(at: i64) -> Fault {
    Fault::text(format!("index out of range: {at}"))
}

/// The byte at which a character begins, or the end.
fn byte(text: &str, at: i64) -> Result<usize, Fault> {
    let at_character = usize::try_from(at).map_err(|_| out_of_range(at))?;
    let mut starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
    starts.nth(at_character).ok_or_else(|| out_of_range(at))
}

fn character(text: &str, at: i64) -> Result<Value, Fault> {
    let rest = &text[byte(text, at)?..];
    Ok(Value::text(rest.chars().next().map_or("", |first| &rest[..first.len_utf8()])))
}

fn from(text: &str, start: i64) -> Result<Value, Fault> {
    Ok(Value::text(&text[byte(text, start)?..]))
}

fn between(text: &str, start: i64, end: i64) -> Result<Value, Fault> {
    if start > end {
        return Err(Fault::text(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let (start, end) = (byte(text, start)?, byte(text, end)?);
    Ok(Value::text(&text[start..end]))
}

/// Where a part first stands at or behind a position; -1 for nowhere.
pub(super) fn index_of(text: &str, part: &str, offset: i64) -> Result<Value, Fault> {
    let (text, part): (Vec<char>, Vec<char>) = (text.chars().collect(), part.chars().collect());
    let start = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if part.is_empty() {
        return Ok(position(Some(start.min(text.len()))));
    }
    let last = text.len().checked_sub(part.len());
    let found = last.and_then(|last| (start..=last).find(|at| text[*at..].starts_with(&part)));
    Ok(position(found))
}

/// Where a part last stands at or before a position, or anywhere; -1 for nowhere.
pub(super) fn last_index_of(text: &str, part: &str, offset: Option<i64>) -> Result<Value, Fault> {
    let (text, part): (Vec<char>, Vec<char>) = (text.chars().collect(), part.chars().collect());
    let latest = match offset {
        Some(offset) => usize::try_from(offset).map_err(|_| out_of_range(offset))?,
        None if part.is_empty() => text.len(),
        None if text.is_empty() => return Ok(position(None)),
        None => text.len() - 1,
    };
    if part.is_empty() {
        return Ok(position(Some(latest.min(text.len()))));
    }
    if latest >= text.len() || part.len() > text.len() {
        return Ok(position(None));
    }
    let latest = latest.min(text.len() - part.len());
    Ok(position((0..=latest).rev().find(|at| text[*at..].starts_with(&part))))
}

fn position(at: Option<usize>) -> Value {
    Value::Int(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1))
}

fn replaced(values: &[Value], budget: &crate::value::Budget) -> Result<Value, Fault> {
    let (text, old, new, count) = match values {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(count)] => {
            (text, old, new, *count)
        }
        _ => return Err(Fault::NoOverload),
    };
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let times = most.min(text.matches(&**old).count());
    budget.spend(times.saturating_mul(new.len()) / 8)?;
    Ok(Value::text(&text.replacen(&**old, new, most)))
}

fn split(values: &[Value], budget: &crate::value::Budget) -> Result<Value, Fault> {
    let (text, separator, count) = match values {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(count)] => (text, separator, *count),
        _ => return Err(Fault::NoOverload),
    };
    budget.spend(text.len())?;
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    if most == 0 {
        return Ok(Value::List(Vec::new().into()));
    }
    if separator.is_empty() {
        return Ok(Value::List(characters(text, most)));
    }
    Ok(Value::List(text.splitn(most, &**separator).map(Value::text).collect()))
}

/// Each character as a string; the last one of `most` has the rest.
fn characters(text: &str, most: usize) -> List {
    let starts: Vec<_> = text.char_indices().map(|(start, _)| start).collect();
    let count = starts.len().min(most);
    let part = |at: usize| {
        let end = if at + 1 == count { text.len() } else { starts[at + 1] };
        Value::text(&text[starts[at]..end])
    };
    (0..count).map(part).collect()
}

fn joined(list: &List, separator: &str, budget: &crate::value::Budget) -> Result<Value, Fault> {
    budget.spend(list.len())?;
    let mut text = String::new();
    for (at, element) in list.iter().enumerate() {
        let Value::String(element) = element else {
            return Err(Fault::text(format!("join: invalid input: {}", element.shown())));
        };
        if at > 0 {
            text.push_str(separator);
        }
        text.push_str(element);
        budget.spend(element.len() / 64)?;
    }
    Ok(Value::text(&text))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
