//! Parsing, printing, rounding and comparing quantities.

use k8s_quantity::{ParseError, Quantity, Sign, hugepage_resource_name};
use serde_json::{Value, json};

use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;
use crate::runner::Runner;

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    (kind == "quantity").then_some(quantity)
}

fn quantity(_: &Corpus, case: &Case) -> Outcome {
    let operand = |name: &str| text(&case.input[name]).parse::<Quantity>();
    let result = match text(&case.input["op"]) {
        "parse" => operand("s"),
        "json" => Quantity::from_json_token(text(&case.input["s"])),
        "add" => operand("a").and_then(|a| Ok(a + operand("b")?)),
        "sub" => operand("a").and_then(|a| Ok(a - operand("b")?)),
        "cmp" => {
            let order = operand("a").and_then(|a| Ok(a.cmp(&operand("b")?)));
            return match order {
                Ok(order) => case.compare(json!({ "cmp": order as i8 })),
                Err(error) => case.compare(json!({ "error": error.to_string() })),
            };
        }
        "hugepage_name" => {
            let Some(kib) = case.input["kib"].as_u64() else { return Outcome::Skipped };
            return case.compare(json!({ "name": hugepage_resource_name(kib) }));
        }
        _ => return Outcome::Skipped,
    };
    match result {
        Ok(quantity) => case.compare(described(&quantity)),
        Err(error @ ParseError::TooLarge) => Outcome::unanswered(error),
        Err(error) => case.compare(json!({ "error": error.to_string() })),
    }
}

fn described(quantity: &Quantity) -> Value {
    let sign = match quantity.sign() {
        Sign::Negative => -1,
        Sign::Zero => 0,
        Sign::Positive => 1,
    };
    json!({
        "string": quantity.to_string(),
        "canonical": quantity.canonical().to_string(),
        "json": format!("\"{quantity}\""),
        "format": quantity.format().to_string(),
        "sign": sign,
        "zero": quantity.is_zero(),
        "value": quantity.value(),
        "milli": quantity.milli_value(),
        "as_int64": quantity.as_int64(),
    })
}
