//! The kubelet's own answers on `allocated_pods_state`, in each release: `crates/workspace-tools/kubelet/cmd/podstate` writes them.

use std::path::Path;

use kubelet_checkpoint::pods::PodsFile;
use kubelet_release::{Release, Rules};
use pod_spec::{ContainerName, PodUid};
use serde_json::Value;

const PATH: &str = "/var/lib/kubelet/allocated_pods_state";

fn vectors() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/state/kubelet-pods-state.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn files_are_refused_and_read_as_each_release_does() {
    let (mut refused, mut read) = (0, 0);
    for vector in vectors() {
        let file = vector["file"].as_str().unwrap();
        for release in Release::ALL {
            let answer =
                vector["answer"].get(release.verified().to_string()).unwrap_or(&vector["answer"]["all"]);
            match PodsFile::read(file.as_bytes(), Rules::of(release).pod_allocations) {
                Ok(own) => {
                    assert_eq!(Some(own.pods.len() as u64), answer["pods"].as_u64(), "{release}: {file}");
                    read += 1;
                }
                Err(error) => {
                    let own = error.refused(PATH).to_string();
                    assert_eq!(Some(own.as_str()), answer["error"].as_str(), "{release}: {file}");
                    refused += 1;
                }
            }
        }
    }
    assert!(read >= 30 && refused >= 80, "{read} read, {refused} refused");
}

#[test]
fn what_a_pod_was_admitted_with_is_read() {
    let is_one =
        |vector: &Value| vector["file"].as_str().is_some_and(|file| file.contains("8000-000000000001"));
    let vector = vectors().into_iter().find(is_one).unwrap();
    let read = PodsFile::read(
        vector["file"].as_str().unwrap().as_bytes(),
        Rules::of(Release::V1_36).pod_allocations,
    )
    .unwrap();
    let pod = &read.pods[&PodUid::new("00000000-0000-4000-8000-000000000001")];
    let of = &pod.containers[&ContainerName::new("c")];
    assert_eq!(of.requests, of.limits);
    assert_eq!(of.requests.get("cpu").map(ToString::to_string).as_deref(), Some("2"));
    assert_eq!(of.requests.get("memory").map(ToString::to_string).as_deref(), Some("1Gi"));
    assert_eq!(pod.pod, None);
}
