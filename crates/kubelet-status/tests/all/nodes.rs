//! Node objects as a kubelet writes them.

use std::collections::BTreeMap;

use kubelet_status::{
    HostFacts, NodeFacts, Readiness, node_status, registered, relabelled, without_heartbeat,
};
use node_config::RegisteredTaint;
use serde_json::{Value, json};

const BEFORE: &str = "2026-01-01T00:00:00Z";
const NOW: &str = "2026-01-01T00:05:00Z";

/// Facts of a node with these amounts, and the labels `rack=7`.
fn with_facts<T>(capacity: &[(&str, &str)], make: impl FnOnce(&NodeFacts<'_>) -> T) -> T {
    let host = HostFacts {
        architecture: "amd64".to_owned(),
        kernel: "6.12.0".to_owned(),
        addresses: vec!["10.0.0.1".to_owned()],
        ..HostFacts::default()
    };
    let capacity: BTreeMap<String, String> =
        capacity.iter().map(|(resource, amount)| ((*resource).to_owned(), (*amount).to_owned())).collect();
    let taint =
        RegisteredTaint { key: "gpu".to_owned(), value: String::new(), effect: "NoSchedule".to_owned() };
    make(&NodeFacts {
        name: "worker-1",
        labels: &[("rack".to_owned(), "7".to_owned())].into(),
        taints: &[taint],
        host: &host,
        kubelet_version: "v1.36.3",
        runtime: "topolet://0.1.0",
        allocatable: capacity.clone(),
        capacity,
    })
}

#[test]
fn a_new_node_has_labels_taints_and_a_status() {
    let amounts = [("cpu", "96"), ("pods", "110")];
    let object = with_facts(&amounts, |facts| {
        registered(facts, &node_status(facts, &Readiness::Ready, &Value::Null, NOW))
    });
    assert_eq!(
        object["metadata"]["labels"],
        json!({
            "kubernetes.io/hostname": "worker-1",
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": "amd64",
            "rack": "7",
        })
    );
    assert_eq!(object["spec"]["taints"], json!([{ "key": "gpu", "effect": "NoSchedule" }]));
    let status = &object["status"];
    assert_eq!(status["capacity"], json!({ "cpu": "96", "pods": "110" }));
    assert_eq!(status["nodeInfo"]["kubeletVersion"], "v1.36.3");
    assert_eq!(
        status["addresses"],
        json!([{ "type": "InternalIP", "address": "10.0.0.1" }, { "type": "Hostname", "address": "worker-1" }])
    );
    let conditions: Vec<String> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| format!("{}={} {}", one["type"], one["status"], one["reason"]).replace('"', ""))
        .collect();
    assert_eq!(
        conditions,
        [
            "MemoryPressure=False KubeletHasSufficientMemory",
            "DiskPressure=False KubeletHasNoDiskPressure",
            "PIDPressure=False KubeletHasSufficientPID",
            "Ready=True KubeletReady",
        ]
    );
}

#[test]
fn what_others_have_written_on_a_node_stays() {
    let of_kubelet = [
        ("kubernetes.io/hostname", "worker-1"),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("beta.kubernetes.io/arch", "amd64"),
    ];
    for (changed, expected) in [
        (vec![("rack", "7"), ("zone", "b")], None),
        // An operator has moved it to another rack.
        (vec![("rack", "8")], None),
        (vec![], Some(json!({ "rack": "7" }))),
        (
            vec![("rack", "7"), ("kubernetes.io/arch", "arm64")],
            Some(json!({ "kubernetes.io/arch": "amd64" })),
        ),
    ] {
        let labels: BTreeMap<&str, &str> = of_kubelet.into_iter().chain(changed.clone()).collect();
        let object = json!({ "metadata": { "labels": labels } });
        let patch = with_facts(&[], |facts| relabelled(facts, &object));
        assert_eq!(patch.map(|patch| patch["metadata"]["labels"].clone()), expected, "{changed:?}");
    }
}

#[test]
fn a_heart_beat_is_no_change_and_a_device_that_is_gone_is_one() {
    let status = |amounts: &[(&str, &str)], readiness: &Readiness, before: &Value, now| {
        with_facts(amounts, |facts| node_status(facts, readiness, before, now))
    };
    let with_card = [("cpu", "96"), ("example.com/card", "4")];
    let first = status(&with_card, &Readiness::Ready, &Value::Null, BEFORE);
    let beat = status(&with_card, &Readiness::Ready, &first, NOW);
    assert_ne!(first, beat);
    assert_eq!(without_heartbeat(&first), without_heartbeat(&beat));
    let without = status(&[("cpu", "96")], &Readiness::Ready, &beat, NOW);
    assert_eq!(without["capacity"], json!({ "cpu": "96", "example.com/card": "0" }));
    assert_ne!(without_heartbeat(&without), without_heartbeat(&beat));
    let why = Readiness::NotReady { why: vec!["the disk is full".to_owned()] };
    let unready = status(&with_card, &why, &beat, NOW);
    let ready = unready["conditions"][3].clone();
    assert_eq!((&ready["status"], &ready["message"]), (&json!("False"), &json!("[the disk is full]")));
    assert_eq!(ready["lastTransitionTime"], NOW);
    assert_eq!(unready["conditions"][0]["lastTransitionTime"], BEFORE);
}
