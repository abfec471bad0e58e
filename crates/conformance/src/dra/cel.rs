//! Selectors and derived attributes: an expression on a device.

use anyhow::{Context as _, Result};
use dra_cel::{DeviceVariable, Environment, Program, Purpose};
use dra_model::AttributeValue;
use serde_json::{Value, json};

use super::objects;
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(crate) fn cel(_: &Corpus, case: &Case) -> Outcome {
    let got = match answer(&case.input) {
        Ok(got) => got,
        Err(error) => return Outcome::unreadable(error),
    };
    let recorded = case.recorded("");
    let any = recorded["anyOf"].as_array().map_or(std::slice::from_ref(recorded), Vec::as_slice);
    if any.iter().any(|expected| agrees(expected, &got)) { Outcome::Passed } else { Outcome::Failed { got } }
}

fn answer(case: &Value) -> Result<Value> {
    let program = match Program::compile(text(&case["expression"]), &environment(case)?) {
        Ok(program) => program,
        Err(error) => return Ok(json!({ "compile_error": error.to_string() })),
    };
    let device = device(&case["device"])?;
    let (mut result, cost) = if case["derived"] == true {
        let evaluation = program.derive(&device);
        let attribute = evaluation.outcome.map(|attribute| json!({ "attribute": shown(&attribute) }));
        (attribute.unwrap_or_else(|error| json!({ "error": error.to_string() })), evaluation.cost)
    } else {
        let evaluation = program.evaluate(&device);
        let value = evaluation.outcome.map(|value| json!({ "value": value }));
        (value.unwrap_or_else(|error| json!({ "error": error.to_string() })), evaluation.cost)
    };
    result["cost"] = json!(cost);
    result["max_cost"] = json!(program.estimated_cost());
    Ok(result)
}

fn environment(case: &Value) -> Result<Environment> {
    let environment = match case["env"].as_str() {
        Some("new") => Environment::new_expressions(objects::features(&case["features"])?),
        _ => Environment::stored(),
    };
    let is_derived = case["derived"] == true;
    Ok(environment.for_purpose(if is_derived { Purpose::DerivedAttribute } else { Purpose::Selector }))
}

/// The device as one of a slice.
fn device(value: &Value) -> Result<DeviceVariable> {
    let driver = text(&value["driver"]);
    let mut device = value.clone();
    device.as_object_mut().context("no device")?.remove("driver");
    let slices = objects::slices(&json!([{ "spec": { "driver": driver, "devices": [device] } }]))?;
    let device = slices.first().and_then(|slice| slice.devices().first()).context("no device")?;
    Ok(DeviceVariable::of(driver, device))
}

fn shown(attribute: &AttributeValue) -> Value {
    match attribute {
        AttributeValue::Int(value) => json!({ "int": value }),
        AttributeValue::Bool(value) => json!({ "bool": value }),
        AttributeValue::String(value) => json!({ "string": value }),
        AttributeValue::Version(value) => json!({ "version": value }),
        AttributeValue::Ints(values) => json!({ "ints": values }),
        AttributeValue::Bools(values) => json!({ "bools": values }),
        AttributeValue::Versions(values) => json!({ "versions": values }),
        AttributeValue::Strings(values) if values.is_empty() => json!({}),
        AttributeValue::Strings(values) => json!({ "strings": values }),
    }
}

/// Whether an answer is the recorded one. Texts of errors count for missing keys and for faults of the device.
fn agrees(expected: &Value, got: &Value) -> bool {
    let has = |value: &Value, field: &str| value.get(field).is_some();
    if has(expected, "compile_error") || has(got, "compile_error") {
        return has(expected, "compile_error") && has(got, "compile_error");
    }
    let same = |field: &str| expected[field] == got[field];
    let exact = ["no such key", "attribute "].iter().any(|start| text(&expected["error"]).starts_with(start));
    let same_error = has(expected, "error") == has(got, "error") && (!exact || same("error"));
    let same_cost = !has(expected, "cost") || same("cost");
    same("value") && same("attribute") && same("max_cost") && same_error && same_cost
}
