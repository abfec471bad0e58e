//! The kubelet's own answers on CPU lists, where they are at hand.
#![expect(clippy::unwrap_used, reason = "a vector that cannot be read fails the test")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cpuset::{CpuId, CpuOutOfRange, CpuSet, ParseError};
use serde_json::{Value, json};

/// Runs `answer` on every case of `kind`; `None` counts as an answer outside the domain of our ids.
fn compare(kind: &str, answer: fn(&Value) -> Option<Value>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/discovery");
    if !path.is_dir() {
        println!("skipped: no vectors in ../shared/oracle/discovery beside the project");
        return;
    }
    let file = File::open(path.join(format!("{kind}.jsonl.zst"))).unwrap();
    let mut lines = String::new();
    ruzstd::decoding::StreamingDecoder::new(file).unwrap().read_to_string(&mut lines).unwrap();
    let (mut equal, mut outside) = (0, 0);
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        match answer(&vector["case"]) {
            Some(answer) => {
                assert_eq!(answer, vector["result"], "{line}");
                equal += 1;
            }
            None => outside += 1,
        }
    }
    assert!(equal > 0, "the file holds vectors");
    println!("{kind}: {equal} agree, {outside} name ids that no kernel has");
}

#[test]
fn parses_like_the_kubelet() {
    compare("cpuset_parse", |case| {
        let (set, error) = match case["text"].as_str().unwrap().parse::<CpuSet>() {
            Ok(set) => (set, Value::Null),
            Err(ParseError::TooLarge(_)) => return None,
            Err(error) => (CpuSet::new(), error.to_string().into()),
        };
        Some(json!({ "error": error, "size": set.len(), "string": set.to_string() }))
    });
}

#[test]
fn computes_like_the_kubelet() {
    compare("cpuset_ops", |case| {
        let read = |name: &str| -> Result<CpuSet, CpuOutOfRange> {
            let ids = case[name].as_array();
            ids.into_iter().flatten().map(|id| CpuId::try_from(id.as_i64().unwrap())).collect()
        };
        let (Ok(a), Ok(b)) = (read("a"), read("b")) else { return None };
        Some(json!({
            "a": a.to_string(),
            "a_empty": a.is_empty(),
            "a_list": a.iter().map(CpuId::get).collect::<Vec<_>>(),
            "a_size": a.len(),
            "a_subset_of_b": a.is_subset(&b),
            "b": b.to_string(),
            "b_subset_of_a": b.is_subset(&a),
            "difference": (&a - &b).to_string(),
            "equals": a == b,
            "intersection": (&a & &b).to_string(),
            "reverse_difference": (&b - &a).to_string(),
            "union": (&a | &b).to_string(),
            "union_none": (&a | &CpuSet::new()).to_string(),
        }))
    });
}
