//! Lines of case files that name a claim in a file beside them instead of holding a case.

use serde_json::{Value, json};

use crate::case::text;

/// The kind of these cases, and the folder that they and their files lie in.
pub(crate) const DRIVERS: &str = "drivers";

/// Whether a line of a case file is an answer to a claim of a file that lies beside it.
pub(crate) fn is_answer(line: &Value) -> bool {
    line["file"].is_string() && line["claim"].is_string()
}

/// Such a line in the shape of the others: with an id and a case, and with its steps in the result.
pub(crate) fn with_case(mut line: Value) -> Value {
    let (file, claim, steps) = (line["file"].take(), line["claim"].take(), line["steps"].take());
    let mut result = line["result"].take();
    result["steps"] = steps;
    let id = format!("{}/{}", text(&file), text(&claim));
    json!({ "id": id, "case": { "kind": DRIVERS, "file": file, "claim": claim }, "result": result })
}
