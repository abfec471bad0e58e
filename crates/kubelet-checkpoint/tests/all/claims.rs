//! The answers of kubelet v1.37.2's own code on `dra_manager_state`: files that `NewCheckpoint` of its package `cm/dra/state` makes,
//! and damaged ones, with the error of `UnmarshalCheckpoint` and `GetClaimInfoStateList` or the claims and how many devices each has.

use std::collections::BTreeMap;
use std::path::Path;

use kubelet_checkpoint::claims::{ClaimsFile, PreparedClaim, PreparedDevice};
use pod_spec::PodUid;
use serde_json::Value;

fn vectors() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/state/kubelet-claims-state.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn devices(claim: &PreparedClaim) -> usize {
    claim.drivers.values().map(Vec::len).sum()
}

#[test]
fn files_are_refused_and_read_as_the_kubelet_does() {
    let (mut refused, mut read) = (0, 0);
    for vector in vectors() {
        let file = vector["file"].as_str().unwrap();
        match ClaimsFile::read(file.as_bytes()) {
            Ok(own) => {
                let own = own.claims.iter().map(|claim| {
                    serde_json::json!({"name": format!("{}/{}", claim.namespace, claim.name), "devices": devices(claim)})
                });
                let expected = vector["claims"].as_array().cloned().unwrap_or_default();
                assert_eq!((own.collect::<Vec<_>>(), &Value::Null), (expected, &vector["error"]), "{file}");
                read += 1;
            }
            Err(error) => {
                assert_eq!(Some(error.to_string().as_str()), vector["error"].as_str(), "{file}");
                refused += 1;
            }
        }
    }
    assert!(read >= 10 && refused >= 10, "{read} read, {refused} refused");
}

/// The claim of this name in the recorded files.
fn claim(name: &str) -> PreparedClaim {
    let mut read = vectors().into_iter().filter_map(|vector| {
        let claims = ClaimsFile::read(vector["file"].as_str()?.as_bytes()).ok()?.claims;
        claims.into_iter().find(|claim| claim.name == name)
    });
    read.next_back().unwrap()
}

#[test]
fn the_devices_of_a_claim_are_read_with_their_requests_and_pods() {
    let device = |device: &str| PreparedDevice {
        pool: "worker-1".to_owned(),
        device: device.to_owned(),
        share: None,
        requests: vec!["gpu".to_owned()],
    };
    let training = claim("train-gpu-x7k2p");
    let drivers = BTreeMap::from([("gpu.example.com".to_owned(), vec![device("gpu-0"), device("gpu-1")])]);
    assert_eq!((training.namespace.as_str(), training.drivers), ("ml", drivers));
    assert_eq!(training.uid, "00000000-0000-4000-8000-000000000011");
    let uids: Vec<&str> = training.pods.iter().map(PodUid::as_str).collect();
    assert_eq!(uids, ["00000000-0000-4000-8000-000000000001"]);

    let shared = claim("shared");
    assert_eq!((shared.pods.len(), shared.drivers["dra.cpu"].len()), (2, 0));
    let [nic] = &shared.drivers["dra.net"][..] else { panic!("{shared:?}") };
    assert_eq!((nic.share.as_deref(), nic.requests.len()), (Some("5a3c"), 0));
}
