//! Whatever comes in, there is an answer: values or an error that can be shown, and no panic.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use topology_manifest::{Source, read_pods};

use crate::readers::read_everything as read;

const VALID: [&str; 10] = [
    "apiVersion: topolet.dev/v1alpha1\nkind: Scenario\nseed: 7\nruns: 2\nscheduler: pack\nmachines:\n\
     - {machine: m, count: 2, hugepages: \"0:1Gi=1\", devices: d}\nconfigurations:\n\
     - {name: a, config: pinned, policy: none, scope: pod, cpuOptions: {full-pcpus-only: true}}\npods:\n\
     - weight: 2\n  lifetime: {logNormal: {median: 1h30m, sigma: 0.5}}\n  pod: {metadata: {name: a}, spec: \
     {containers: [{name: c}]}}\narrivals: {count: 10, every: {uniform: [0, 250ms]}}\n",
    "apiVersion: topolet.dev/v1alpha1\nkind: Scenario\nmachines: [{machine: m}]\npods:\n- pod: {metadata: {name: a}, \
     spec: {containers: [{name: c}]}}\ntrace:\n- {at: 1m, pod: a, stays: 1d}\n- {at: 1.5m, pod: a}\n",
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: ns\nspec:\n  overhead: {cpu: 250m}\n  \
     initContainers:\n  - name: i\n    restartPolicy: Always\n  containers:\n  - name: c\n    resources:\n      \
     requests: &r {cpu: 2, memory: 1.5Gi}\n      limits: *r\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n\
     spec: {containers: [{name: c}]}\n",
    r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"é"},
       "spec":{"resources":{},"containers":[{"name":"c","resources":{"limits":{"cpu":0644,"memory":"1e3"}}}]}}]}"#,
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
     cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\nkubeReserved: {cpu: \"1\"}\nmaxPods: 110\n\
     reservedMemory:\n- {numaNode: 0, limits: {memory: 1Gi}}\nfeatureGates: {PodLevelResources: true}\n",
    "devices:\n- resource: a/b\n  list:\n  - {id: x, nodes: [0]}\n- resource: c/d\n  perNode: {0: 2}\n\
     - resource: e/f\n  pci: {vendor: \"8086\", class: \"02\"}\n",
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: a, labels: {x: y}}\n  \
     spec:\n    replicas: 3\n    template:\n      spec:\n        tolerations: [{key: a, operator: Exists}]\n        \
     resourceClaims: [{name: gpu}]\n        resources: {limits: {cpu: 4}}\n        containers:\n        - {name: c, \
     ports: [{containerPort: 80, hostPort: 80}], resources: {limits: {cpu: 1, hugepages-2Mi: 4Mi, a/b: 1}}}\n\
     - {apiVersion: v1, kind: Service, metadata: {name: s}}\n",
    "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: j-}\nspec:\n  parallelism: 2\n  template:\n    spec:\n      \
     restartPolicy: Never\n      nodeSelector: {a: b}\n      affinity: {nodeAffinity: \
     {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, \
     values: [b]}]}]}}}\n      containers: [{name: c}]\n",
    r#"{"devices":[{"resourceName":"a/b","deviceIds":["x"],"topology":{"nodes":[{"ID":"1"}]}}],"cpuIds":["2"],
       "memory":[{"memoryType":"memory","size":"5"}]}{"podResources":[{"name":"p","namespace":"n","containers":[]}]}"#,
    r#"{"resourceList":[{"resourceName":"x","resourcePrefix":"a.b","selectors":[{"vendors":["8086"],
       "rootDevices":["0000:18:00.0#0-3,7"],"drivers":["vfio-pci"],"linkTypes":["ether"]}]}]}"#,
];

/// Pieces that YAML, JSON or quantities give a meaning.
const PIECES: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "- ",
    "\n",
    "\r\n",
    "  ",
    "\t",
    "\"",
    "'",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "|\n",
    ">-\n",
    "---\n",
    "...\n",
    "# ",
    "? ",
    "%",
    "~",
    "null",
    "-1",
    "1e999",
    "\u{feff}",
    "\u{2028}é",
    "\0",
];

/// One change: at a place, so much is taken out and a piece put in.
fn change() -> impl Strategy<Value = (Index, usize, &'static str)> {
    (any::<Index>(), 0..6usize, select(&PIECES[..]))
}

proptest! {
    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn random_pieces(pieces in vec(select(&PIECES[..]), 0..60)) {
        read(pieces.concat().as_bytes());
    }

    #[test]
    fn changed_manifests(text in select(&VALID[..]), changes in vec(change(), 1..5)) {
        let mut bytes = text.as_bytes().to_vec();
        for (place, removed, piece) in changes {
            let start = place.index(bytes.len() + 1);
            let end = (start + removed).min(bytes.len());
            bytes.splice(start..end, piece.bytes());
        }
        read(&bytes);
    }
}

#[test]
fn nesting_ends_before_the_stack_does() {
    let chain: String = (1..60).fold("a0: &a0 1\n".to_owned(), |text, at| {
        format!("{text}a{at}: &a{at} {}*a{}{}\n", "[".repeat(20), at - 1, " ]".repeat(20))
    });
    let deep = ["- ", "[", "{a: ", "{\"a\": ", "? ", "? - ", "a:\n - "].map(|opening| opening.repeat(50_000));
    deep.iter().chain([&chain]).for_each(|text| {
        read(text.as_bytes());
        let source = Source { name: "input.yaml", text };
        assert!(read_pods(&source).is_err());
    });
}
