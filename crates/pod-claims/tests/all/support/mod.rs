//! Objects and pods from YAML.

use std::collections::BTreeMap;

use dra_model::{Features, Node};
use pod_claims::{ClaimLedger, ClusterObjects};
use pod_spec::Pod;
use topology_manifest::{ResourceObjects, Source, read_pods, read_resource_objects};

/// Objects of `resource.k8s.io` in a text.
pub(crate) fn objects(text: &str) -> ClusterObjects {
    let read = read_resource_objects(&Source { name: "objects", text }).unwrap();
    assert!(read.refused.is_empty(), "{:?}", read.refused);
    let ResourceObjects { slices, classes, claims, templates, taint_rules, .. } = read;
    ClusterObjects { slices, classes, claims, templates, taint_rules }
}

/// The one pod of a text.
pub(crate) fn pod(text: &str) -> Pod {
    let mut pods = read_pods(&Source { name: "pod", text }).unwrap();
    assert_eq!(pods.len(), 1);
    pods.remove(0)
}

/// `worker-1` beside these objects, without device plugins.
pub(crate) fn ledger(objects: ClusterObjects, labels: &[(&str, &str)]) -> ClaimLedger {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let node = Node { name: "worker-1".to_owned(), labels: labels.collect() };
    ClaimLedger::new(objects, node, Features::DEFAULT, BTreeMap::new())
}
