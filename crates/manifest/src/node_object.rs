//! A Node object: the name, the labels and the taints by which pods select nodes, the kubelet's version, and how large the
//! node is.

use std::collections::BTreeMap;

use k8s_quantity::Quantity;
use pod_spec::Taint;

use crate::constraints::{read_each, read_labels};
use crate::node::Field;
use crate::quantity::quantity;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// What pods can demand of a node besides resources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeObject {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.nodeInfo.kubeletVersion`, such as `v1.37.1`; `None` where the kubelet has not reported yet.
    pub kubelet_version: Option<String>,
    /// `status.capacity.cpu`; `None` as above.
    pub cpus: Option<Quantity>,
    /// `status.capacity.memory`; `None` as above.
    pub memory: Option<Quantity>,
    /// `status.allocatable`: what its kubelet lets pods have; empty where it has not reported yet.
    pub allocatable: BTreeMap<String, Quantity>,
    /// The OpenShift `MachineConfig` that the node runs with, by its annotation.
    pub machine_config: Option<String>,
}

/// The annotation of a node whose files a `MachineConfig` has written.
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";

/// Reads one Node object, as `kubectl get node NAME -o yaml` prints it. All of its other fields are ignored.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_node(source: &Source<'_>) -> Result<NodeObject, ManifestError> {
    const VERSION: &str = "apiVersion v1";
    const KIND: &str = "kind Node";
    const ONE: &str = "one Node, as `kubectl get node NAME -o yaml` prints it";
    let documents = documents(source, RepeatedKey::LastCounts)?;
    let mut fields = documents.iter().map(|node| Field::document(source, node));
    let Some(document) = &fields.next() else {
        return Ok(NodeObject::default());
    };
    let kind = document.require("kind", KIND)?;
    if kind.text(KIND)? != "Node" {
        let found = kind.text(KIND)?.to_owned();
        return Err(kind.fail(Problem::Kind { found, expected: KIND }));
    }
    let version = document.require("apiVersion", VERSION)?;
    if version.text(VERSION)? != "v1" {
        let found = version.text(VERSION)?.to_owned();
        return Err(version.fail(Problem::ApiVersion { found, expected: VERSION }));
    }
    if let Some(second) = fields.next() {
        return Err(second.unexpected(ONE));
    }
    NodeObject::read(document)
}

impl NodeObject {
    /// Of an object that is a Node.
    pub(crate) fn read(document: &Field<'_>) -> Result<Self, ManifestError> {
        let metadata = document.require("metadata", "the name and labels of the node")?;
        let name = metadata.require("name", "the name of the node")?.text("the name of the node")?.to_owned();
        let labels = metadata.get("labels")?.map_or(Ok(BTreeMap::new()), |labels| read_labels(&labels))?;
        let taints = match document.get("spec")? {
            Some(spec) => read_each(&spec, "taints", read_taint)?,
            None => Vec::new(),
        };
        let version = document.descend(&["status", "nodeInfo", "kubeletVersion"])?;
        let version = version.map(|version| version.text("a version such as v1.37.1")).transpose()?;
        let kubelet_version = version.filter(|version| !version.is_empty()).map(str::to_owned);
        let capacity = |resource| {
            let amount = document.descend(&["status", "capacity", resource]).ok().flatten();
            amount.and_then(|amount| quantity(&amount).ok()).map(|(amount, _)| amount)
        };
        let (cpus, memory) = (capacity("cpu"), capacity("memory"));
        let amounts = document.descend(&["status", "allocatable"]).ok().flatten();
        let amounts = amounts.and_then(|amounts| amounts.entries().ok()).unwrap_or_default();
        let amounts = amounts.iter().filter_map(|entry| Some((entry.key, quantity(&entry.value).ok()?)));
        let allocatable = amounts.map(|(resource, (amount, _))| (resource.to_owned(), amount)).collect();
        let annotation = document.descend(&["metadata", "annotations", MACHINE_CONFIG]).ok().flatten();
        let machine_config = annotation.and_then(|name| name.text("a name").ok()).map(str::to_owned);
        Ok(Self { name, labels, taints, kubelet_version, cpus, memory, allocatable, machine_config })
    }
}

fn read_taint(field: &Field<'_>) -> Result<Taint, ManifestError> {
    const EFFECT: &str = "NoSchedule, PreferNoSchedule or NoExecute";
    let key = field.require("key", "the key of the taint")?.text("a text")?.to_owned();
    let value = field.get("value")?.map(|value| value.text("a text")).transpose()?.unwrap_or_default();
    let effect = field.require("effect", EFFECT)?;
    match effect.text(EFFECT)? {
        known @ ("NoSchedule" | "PreferNoSchedule" | "NoExecute") => {
            Ok(Taint { key, value: value.to_owned(), effect: known.to_owned() })
        }
        _ => Err(effect.unexpected(EFFECT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NodeObject, String> {
        let source = Source { name: "node.yaml", text };
        read_node(&source).map_err(|error| error.problem().to_string())
    }

    #[test]
    fn name_labels_and_taints_are_read_and_the_rest_is_ignored() {
        let text = "apiVersion: v1\nkind: Node\nmetadata:\n  name: worker-1\n  labels: {disk: ssd}\n\
                    spec:\n  podCIDR: 10.0.0.0/24\n  taints: [{key: gpu, value: only, effect: NoExecute}]\n\
                    status: {capacity: {cpu: \"8\"}, nodeInfo: {kubeletVersion: v1.37.1, architecture: arm64}}\n";
        let taint = Taint { key: "gpu".into(), value: "only".into(), effect: "NoExecute".into() };
        let labels = BTreeMap::from([("disk".to_owned(), "ssd".to_owned())]);
        let kubelet_version = Some("v1.37.1".to_owned());
        let cpus = "8".parse().ok();
        let name = "worker-1".into();
        let expected =
            NodeObject { name, labels, taints: vec![taint], kubelet_version, cpus, ..NodeObject::default() };
        assert_eq!(read(text), Ok(expected));
        let bare = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}"#;
        assert_eq!(read(bare), Ok(NodeObject { name: "n".into(), ..NodeObject::default() }));
    }

    #[test]
    fn what_is_no_node_is_refused() {
        let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n";
        for text in [
            "",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: n}\n",
            "apiVersion: v2\nkind: Node\nmetadata: {name: n}\n",
            "apiVersion: v1\nkind: Node\nmetadata: {labels: {}}\n",
            &format!("{node}---\n{node}"),
            &format!("{node}spec: {{taints: [{{key: a, effect: Never}}]}}\n"),
            &format!("{node}spec: {{taints: [{{effect: NoExecute}}]}}\n"),
            &format!("{node}status: {{nodeInfo: {{kubeletVersion: [1, 37]}}}}\n"),
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
