//! What is printed as JSON is what `schema/decisions.json` describes, and all of that is printed somewhere.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// As much of JSON Schema as the file uses.
struct Schema {
    whole: Value,
    /// Properties that have been met, as `definition.property`.
    met: BTreeSet<String>,
}

impl Schema {
    fn check(&mut self, name: &str, schema: &Value, value: &Value, place: &str) {
        if let Some(target) = schema.get("$ref") {
            let name = target.as_str().unwrap().strip_prefix("#/$defs/").unwrap().to_owned();
            let schema = self.whole["$defs"][&name].clone();
            assert!(schema.is_object(), "there is no definition {name}");
            return self.check(&name, &schema, value, place);
        }
        if let Some(only) = schema.get("const") {
            assert_eq!(value, only, "{place}");
        }
        if let Some(values) = schema.get("enum") {
            assert!(values.as_array().unwrap().contains(value), "{place}: {value} is none of {values}");
        }
        let is_of_type = match schema.get("type").map(|name| name.as_str().unwrap()) {
            None => true,
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some(other) => panic!("the schema has a type {other}"),
        };
        assert!(is_of_type, "{place}: {value} is no {}", schema["type"]);
        for (at, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(name, &schema["items"], item, &format!("{place}[{at}]"));
        }
        let Some(fields) = value.as_object() else { return };
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(fields.contains_key(required.as_str().unwrap()), "{place} has no {required}");
        }
        for (field, value) in fields {
            let place = format!("{place}.{field}");
            let known = schema["properties"].get(field).unwrap_or_else(|| panic!("{place} is not described"));
            self.met.insert(format!("{name}.{field}"));
            self.check(name, known, value, &place);
        }
    }

    fn described(&self) -> BTreeSet<String> {
        let definitions = self.whole["$defs"].as_object().unwrap();
        let named = definitions.iter().map(|(name, schema)| (name.as_str(), schema));
        let all = named.chain([("document", &self.whole)]).flat_map(|(name, schema)| {
            let fields = schema["properties"].as_object().unwrap();
            fields.keys().map(move |field| format!("{name}.{field}"))
        });
        all.collect()
    }
}

#[test]
fn all_that_is_printed_is_described() {
    let whole: Value = serde_json::from_str(include_str!("../schema/decisions.json")).unwrap();
    let mut schema = Schema { whole: whole.clone(), met: BTreeSet::new() };
    let sessions = [
        "explain -m xeon-2s-96cpu-sriov -f pods/dpdk.yaml -f pods/gpu.yaml --devices devices/intel-2s-16vf.yaml",
        "explain -m phytium-ft2500-16node --hugepages 0:1Gi=12 -f pods/dpdk.yaml --tries 3",
        "explain -m xeon-cxl-4node -f pods/mesh-sidecar.yaml -f pods/init-containers.yaml --policy none",
        "explain -m xeon-2s-96cpu-sriov -f pods/refused/conflict.yaml --policy single-numa-node --scope pod --devices devices/xeon-2s-1gpu-2vf.yaml",
        "explain -m gb200-nvl4-34node -f pods/gpu-4.yaml --devices devices/gb200-4gpu.yaml --config configs/closest.yaml",
        "admit -m xeon-2s-96cpu-sriov -f pods/refused/handed-on.yaml",
        "explain -m xeon-2s-96cpu-sriov -f pods/workloads.yaml -f pods/refused/smt.yaml --config configs/cpu-full-pcpus-only.yaml",
        "admit -m xeon-2s-96cpu-sriov -f pods/refused/device.yaml --state state/healthy --pods state/pods --devices devices/example.yaml",
        "admit -m xeon-2s-96cpu-sriov -f pods/cards.yaml --devices devices/example.yaml --policy best-effort",
        "explain -m xeon-2s-96cpu-sriov -f pods/memory-groups.yaml --policy best-effort --scope pod",
        "admit -m xeon-2s-96cpu-sriov -f pods/memory-groups.yaml --scope pod",
        "admit -m xeon-2s-96cpu-sriov -f pods/pod-policy.yaml --topolet-config configs/own-pod-policy.yaml",
        "admit -m epyc-2s-96cpu-16l3-8gpu -f pods/linked.yaml --topolet-config configs/own-links-prefer.yaml",
    ];
    for session in sessions {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(session.split(' '))
            .args(["-o", "json"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures"))
            .output()
            .unwrap();
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            panic!("topolet {session}: {}", String::from_utf8_lossy(&output.stderr));
        });
        schema.check("document", &whole, &document, session);
    }
    // Only a daemon has pods wait, which serve_deferred.rs looks at.
    let is_of_daemon = |name: &&String| name.starts_with("deferred.") || name.ends_with(".deferred");
    let described = schema.described();
    let unmet: Vec<&String> = described.difference(&schema.met).filter(|name| !is_of_daemon(name)).collect();
    assert!(unmet.is_empty(), "described and printed nowhere: {unmet:?}");
}
