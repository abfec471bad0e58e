//! Slices and claims in the form of published drivers: each claim alone on a free node gets what kube-scheduler's own allocator
//! answered.

use std::path::{Path, PathBuf};

use pod_claims::Outcome;
use serde_json::Value;

use crate::support::{ledger, objects, pod};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dra/drivers")
}

#[test]
fn each_claim_of_a_published_driver_gets_the_devices_that_kube_scheduler_chose_at_the_same_cost() {
    let answers = std::fs::read_to_string(folder().join("answers.jsonl")).unwrap();
    let mut seen = (0, 0);
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let (file, claim) = (answer["file"].as_str().unwrap(), answer["claim"].as_str().unwrap());
        let text = std::fs::read_to_string(folder().join(file)).unwrap();
        let pod = pod(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: c}}], \
             resourceClaims: [{{name: c, resourceClaimName: {claim}}}]}}"
        ));
        let mut ledger = ledger(objects(&text), &[("rack", "a")]);
        let decision = ledger.decide(&pod).unwrap();
        let expected = &answer["result"]["allocations"];
        let expected = expected.as_array().map(|allocations| {
            let results = allocations[0]["devices"]["results"].as_array().unwrap().iter();
            let text = |result: &Value, field: &str| result[field].as_str().unwrap().to_owned();
            results.map(|result| (text(result, "request"), text(result, "device"))).collect::<Vec<_>>()
        });
        let found = (decision.outcome != Outcome::DoesNotFit).then(|| {
            assert!(decision.is_allocated(), "{file} {claim}: {:?}", decision.outcome);
            let results = &decision.claims[0].claim.status.allocation.as_ref().unwrap().results;
            let pair = |result: &dra_model::DeviceResult| {
                (result.request.to_string(), result.device.device.to_string())
            };
            results.iter().map(pair).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{file} {claim}");
        let steps = decision.cost.and_then(|cost| u64::try_from(cost.steps()).ok());
        assert_eq!(steps, answer["steps"].as_u64(), "{file} {claim}");
        if expected.is_some() { seen.0 += 1 } else { seen.1 += 1 }
    }
    assert_eq!(seen, (16, 10), "some fit and some do not");
}
