//! `lscpu --json`, of the counts and of the table.

use std::ops::ControlFlow;

use serde_json::Value;

use super::counts;
use super::line::Line;
use super::table::Columns;
use crate::error::MachineTextError;
use crate::facts::Facts;
use crate::form::{Form, OtherForm};

/// Reads the JSON with which `rest` begins, and gives the number of its bytes.
pub(super) fn read(rest: &str, line: Line<'_>, facts: &mut Facts) -> Result<usize, MachineTextError> {
    let end = end(rest).unwrap_or(rest.len());
    // Where a machine lacks a value lscpu 2.38 prints a mark without quotes.
    let text = rest.get(..end).unwrap_or_default().replace(": -,", ": null,").replace(": -\n", ": null\n");
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| line.error(Form::Lscpu, format!("JSON from this line on is damaged: {error}")))?;
    if let Some(fields) = value.get("lscpu").and_then(Value::as_array) {
        fields.iter().try_for_each(|field| self::field(field, line, facts))?;
    } else if let Some(cpus) = value.get("cpus").and_then(Value::as_array) {
        facts.begin_table();
        cpus.iter().try_for_each(|cpu| row(cpu, line, facts))?;
    } else {
        return Err(
            OtherForm::of(rest).map_or(MachineTextError::Unknown, |form| MachineTextError::Other { form })
        );
    }
    Ok(end)
}

/// Where the object ends with which a text begins.
fn end(text: &str) -> Option<usize> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let end = text.bytes().enumerate().try_for_each(|(at, byte)| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' if !is_text => depth += 1,
            b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if byte == b'}' && depth == 0 && !is_text {
            ControlFlow::Break(at + 1)
        } else {
            ControlFlow::Continue(())
        }
    });
    end.break_value()
}

/// `{"field": "CPU(s):", "data": "24", "children": [...]}`
fn field(field: &Value, line: Line<'_>, facts: &mut Facts) -> Result<(), MachineTextError> {
    if let (Some(name), Some(value)) =
        (field.get("field").and_then(Value::as_str), field.get("data").and_then(Value::as_str))
    {
        counts::field(line, name.trim_end_matches(':').trim(), value.trim(), facts)?;
    }
    let children = field.get("children").and_then(Value::as_array);
    children.into_iter().flatten().try_for_each(|child| self::field(child, line, facts))
}

/// `{"cpu": 0, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "online": true}`
fn row(row: &Value, line: Line<'_>, facts: &mut Facts) -> Result<(), MachineTextError> {
    let Some(row) = row.as_object() else { return Ok(()) };
    let columns = Columns::of_keys(row.keys().map(String::as_str));
    let columns = columns.ok_or_else(|| line.error(Form::LscpuTable, "a row has no number of a CPU"))?;
    let values: Vec<String> = row.values().map(text).collect();
    columns.row(line, values.iter().map(String::as_str).collect(), facts)
}

/// A value as the table prints it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}
