//! Every vector of Kubernetes' own answers, where they are at hand.
#![expect(clippy::unwrap_used, reason = "a vector that cannot be read fails the test")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use k8s_quantity::{Quantity, Sign, hugepage_resource_name};
use serde_json::{Value, json};

#[test]
fn agrees_with_kubernetes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/quantity");
    if !folder.is_dir() {
        println!("skipped: no vectors in ../shared/oracle/quantity beside the project");
        return;
    }
    let mut compared = 0;
    for name in ["golden.jsonl.zst", "random.jsonl.zst"] {
        let file = File::open(folder.join(name)).unwrap();
        let mut lines = String::new();
        ruzstd::decoding::StreamingDecoder::new(file).unwrap().read_to_string(&mut lines).unwrap();
        for line in lines.lines() {
            let vector: Value = serde_json::from_str(line).unwrap();
            assert_eq!(answer(&vector["case"]), vector["result"], "{line}");
            compared += 1;
        }
    }
    assert!(compared > 0, "the files hold vectors");
    println!("{compared} vectors agree");
}

fn answer(case: &Value) -> Value {
    let operand = |name: &str| case[name].as_str().unwrap().parse::<Quantity>();
    let result = match case["op"].as_str().unwrap() {
        "parse" => operand("s"),
        "json" => Quantity::from_json_token(case["s"].as_str().unwrap()),
        "add" => operand("a").and_then(|a| Ok(a + operand("b")?)),
        "sub" => operand("a").and_then(|a| Ok(a - operand("b")?)),
        "cmp" => return json!({ "cmp": operand("a").unwrap().cmp(&operand("b").unwrap()) as i8 }),
        "hugepage_name" => return json!({ "name": hugepage_resource_name(case["kib"].as_u64().unwrap()) }),
        other => panic!("unknown operation {other}"),
    };
    match result {
        Ok(quantity) => describe(&quantity),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn describe(quantity: &Quantity) -> Value {
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
