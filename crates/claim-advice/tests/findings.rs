//! Findings in objects as their users write them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use claim_advice::{ClaimAdvice, Findings};
use dra_model::Features;
use pod_claims::ClusterObjects;
use topology_manifest::{ResourceObjects, Source, read_resource_objects};

fn objects(text: &str) -> ClusterObjects {
    let read = read_resource_objects(&Source { name: "objects", text }).unwrap();
    assert!(read.refused.is_empty(), "{:?}", read.refused);
    let ResourceObjects { slices, classes, claims, templates, taint_rules, .. } = read;
    ClusterObjects { slices, classes, claims, templates, taint_rules }
}

/// Two NUMA nodes with 48 CPUs each, two GPUs on node 1, and their classes.
fn cluster() -> String {
    let device = |name: &str, node| {
        format!(
            "  - {{name: {name}, attributes: {{model: {{string: a}}, resource.kubernetes.io/numaNode: {{int: {node}}}}}}}\n"
        )
    };
    let slice = |driver: &str, devices: String| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: w-{driver}}}\nspec:\n  driver: {driver}\n  \
             pool: {{name: w, generation: 1, resourceSliceCount: 1}}\n  nodeName: w\n  devices:\n{devices}---\n\
             apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: {driver}}}\n\
             spec: {{selectors: [{{cel: {{expression: 'device.driver == \"{driver}\"'}}}}]}}\n---\n"
        )
    };
    let cpus: String = (0..96).map(|cpu| device(&format!("cpu-{cpu}"), cpu / 48)).collect();
    let gpus: String = (0..2).map(|gpu| device(&format!("gpu-{gpu}"), 1)).collect();
    slice("cpu.example.com", cpus) + &slice("gpu.example.com", gpus)
}

/// The findings in the last object of this text beside the cluster, a line each.
fn found(text: &str) -> Vec<String> {
    let whole = cluster() + text;
    let (cluster, last) = (objects(&whole), objects(text));
    let mut advice = ClaimAdvice::new(&cluster, Features::DEFAULT);
    let Findings { errors, warnings } = match &last {
        ClusterObjects { claims, .. } if !claims.is_empty() => advice.claim(&claims[claims.len() - 1]),
        ClusterObjects { templates, .. } if !templates.is_empty() => advice.template(&templates[0]),
        ClusterObjects { classes, .. } if !classes.is_empty() => advice.class(&classes[0]),
        ClusterObjects { taint_rules, .. } if !taint_rules.is_empty() => advice.taint_rule(&taint_rules[0]),
        ClusterObjects { slices, .. } => advice.slice(&slices[slices.len() - 1]),
    };
    let errors = errors.into_iter().map(|error| format!("error {}: {}", error.field, error.message));
    errors.chain(warnings.into_iter().map(|found| format!("{}: {}", found.field, found.text))).collect()
}

fn claim(devices: &str) -> String {
    format!(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: c, namespace: d}}\nspec: {{devices: {{{devices}}}}}\n"
    )
}

#[test]
fn each_mistake_is_found_at_its_field() {
    let slice = |name: &str, generation, count, device: &str| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {name}}}\nspec: {{driver: nic.example.com, \
             pool: {{name: w, generation: {generation}, resourceSliceCount: {count}}}, nodeName: w, devices: [{{name: {device}}}]}}\n---\n"
        )
    };
    let rows: Vec<(String, &[&str])> = vec![
        (claim("requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}]"), &[]),
        (
            claim("requests: [{name: G, exactly: {deviceClassName: gpu.example.com}}]"),
            &["error spec.devices.requests[0].name: Invalid value: \"G\": a lowercase RFC 1123 label"],
        ),
        (
            claim("requests: [{name: g, exactly: {deviceClassName: gpu}}]"),
            &["spec.devices.requests[0].exactly.deviceClassName: DeviceClass gpu is not among the objects given"],
        ),
        (
            claim("requests: [{name: g, exactly: {deviceClassName: gpu.example.com, selectors: [{cel: {expression: 'device.attributes[\"gpu.example.com\"].modle == \"a\"'}}]}}]"),
            &[
                "spec.devices.requests[0].exactly.selectors[0].cel.expression: no driver publishes attribute gpu.example.com/modle; did you mean gpu.example.com/model?",
                "spec.devices.requests[0].exactly.selectors[0].cel.expression: fails on device gpu.example.com/w/gpu-0: no such key: modle",
            ],
        ),
        (
            claim("requests: [{name: g, exactly: {deviceClassName: gpu.example.com, selectors: [{cel: {expression: 'device.attributes[\"gpu.example.com\"].model == \"b\"'}}]}}]"),
            &["spec.devices.requests[0].exactly.selectors[0].cel.expression: none of the 98 devices in slices is selected"],
        ),
        (
            claim("requests: [{name: a, exactly: {deviceClassName: cpu.example.com, count: 20}}, {name: b, firstAvailable: [{name: x, deviceClassName: cpu.example.com, count: 13}]}]"),
            &["spec.devices.requests[1]: a claim can have 32 devices, and with this request it needs 33"],
        ),
        (
            claim("requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}], constraints: [{matchAttribute: resource.kubernetes.io/numanode}]"),
            &["spec.devices.constraints[0].matchAttribute: no device satisfies the constraint: no driver publishes attribute resource.kubernetes.io/numanode; did you mean resource.kubernetes.io/numaNode?"],
        ),
        (
            claim("requests: [{name: cpus, exactly: {deviceClassName: cpu.example.com, count: 6}}, {name: gpu, exactly: {deviceClassName: gpu.example.com}}], constraints: [{matchAttribute: resource.kubernetes.io/numaNode}]"),
            &["spec.devices.requests: kube-scheduler will exceed its limit of 10 s on node w: its search takes 26468391 steps; with the requests in the order gpu, cpus it takes 11 steps (https://github.com/topolet/topolet/blob/main/docs/upstream/claims/search-explosion.md)"],
        ),
        (
            claim("requests: []") + "status: {allocation: {devices: {results: [{request: g, driver: gpu.example.com, pool: w, device: gpu-9}]}}}\n",
            &["status.allocation.devices.results[0].device: no slice lists device gpu.example.com/w/gpu-9"],
        ),
        (
            "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec: {selectors: [{cel: {expression: 'device.driver == \"gpu\"'}}]}\n".to_owned(),
            &["spec.selectors: none of the 98 devices in slices is selected"],
        ),
        (
            "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {deviceSelector: {driver: gpu}, taint: {key: a, effect: NoSchedule}}\n".to_owned(),
            &["spec.deviceSelector: no device that a slice lists is selected"],
        ),
        (
            slice("second", 3, 2, "a"),
            &["spec.pool.resourceSliceCount: pool nic.example.com/w is incomplete: 1 of 2 slices of generation 3 are there"],
        ),
        (
            slice("first", 4, 1, "a") + &slice("second", 3, 2, "b"),
            &["spec.pool.generation: pool nic.example.com/w has slices of a higher generation than 3"],
        ),
        (
            slice("first", 3, 1, "a") + &slice("second", 3, 2, "b"),
            &["spec.pool.resourceSliceCount: slices of pool nic.example.com/w in generation 3 announce different"],
        ),
        (
            slice("first", 3, 2, "a") + &slice("second", 3, 2, "a"),
            &["spec.pool: pool nic.example.com/w is invalid: duplicate device name a"],
        ),
    ];
    for (text, expected) in rows {
        let found = found(&text);
        assert_eq!(found.len(), expected.len(), "{text}\n{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{text}\n{found}\n{expected}");
        }
    }
}
