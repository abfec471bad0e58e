//! Selectors and derived attributes: an expression on a device.

use dra_cel::{Attribute, Device, Environment, Feature, Program, Purpose};
use k8s_quantity::Quantity;
use serde_json::{Value, json};

use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(crate) fn cel(_: &Corpus, case: &Case) -> Outcome {
    let got = answer(&case.input);
    let recorded = case.recorded("");
    let any = recorded["anyOf"].as_array().map_or(std::slice::from_ref(recorded), Vec::as_slice);
    if any.iter().any(|expected| agrees(expected, &got)) { Outcome::Passed } else { Outcome::Failed { got } }
}

fn answer(case: &Value) -> Value {
    let program = match Program::compile(text(&case["expression"]), &environment(case)) {
        Ok(program) => program,
        Err(error) => return json!({ "compile_error": error.to_string() }),
    };
    let device = device(&case["device"]);
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
    result
}

/// The environment of a case. Sets of features have names; the default release has consumable capacity.
fn environment(case: &Value) -> Environment {
    let new = case["env"] == "new";
    let mut environment = if new { Environment::new_expressions() } else { Environment::stored() };
    if case["derived"] == true {
        environment = environment.for_purpose(Purpose::DerivedAttribute);
    }
    let names: Vec<_> = case["features"].as_array().into_iter().flatten().map(text).collect();
    let has = |sets: &[&str]| names.iter().any(|name| sets.contains(name));
    if names.is_empty() || has(&["all", "default", "incubating", "DRAConsumableCapacity"]) {
        environment = environment.with(Feature::ConsumableCapacity);
    }
    if has(&["all", "DRAListTypeAttributes"]) {
        environment = environment.with(Feature::ListTypeAttributes);
    }
    environment
}

fn device(value: &Value) -> Device {
    let entries = |field: &str| value[field].as_object().into_iter().flatten();
    let attributes = entries("attributes").map(|(name, value)| (name.as_str(), attribute(value)));
    let quantity = |value: &Value| text(&value["value"]).parse::<Quantity>().unwrap_or_default();
    let capacity = entries("capacity").map(|(name, value)| (name.as_str(), quantity(value)));
    let device = Device::of(text(&value["driver"]), attributes, capacity);
    if value["allowMultipleAllocations"] == true { device.allowing_multiple_allocations() } else { device }
}

fn attribute(value: &Value) -> Attribute {
    let list = |field: &str| value[field].as_array();
    let texts = |list: &Vec<Value>| list.iter().map(|value| text(value).to_owned()).collect();
    if let Some(list) = list("ints") {
        return Attribute::Ints(list.iter().filter_map(Value::as_i64).collect());
    }
    if let Some(list) = list("bools") {
        return Attribute::Bools(list.iter().filter_map(Value::as_bool).collect());
    }
    if let Some(list) = list("strings") {
        return Attribute::Strings(texts(list));
    }
    if let Some(list) = list("versions") {
        return Attribute::Versions(texts(list));
    }
    let owned = |field: &str| value[field].as_str().map(str::to_owned);
    let int = value["int"].as_i64().map(Attribute::Int);
    let bool = value["bool"].as_bool().map(Attribute::Bool);
    let string = owned("string").map(Attribute::String);
    let version = owned("version").map(Attribute::Version);
    int.or(bool).or(string).or(version).unwrap_or(Attribute::Missing)
}

fn shown(attribute: &Attribute) -> Value {
    match attribute {
        Attribute::Int(value) => json!({ "int": value }),
        Attribute::Bool(value) => json!({ "bool": value }),
        Attribute::String(value) => json!({ "string": value }),
        Attribute::Version(value) => json!({ "version": value }),
        Attribute::Ints(values) => json!({ "ints": values }),
        Attribute::Bools(values) => json!({ "bools": values }),
        Attribute::Versions(values) => json!({ "versions": values }),
        Attribute::Strings(values) if values.is_empty() => json!({}),
        Attribute::Strings(values) => json!({ "strings": values }),
        Attribute::Missing => json!({}),
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
