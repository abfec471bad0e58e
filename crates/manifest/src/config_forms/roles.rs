//! Which machines an object is for: those of the control plane, or workers.

use super::kind::names;
use crate::Source;
use crate::node::{Field, Node, Value};

/// Roles of the control plane, as kops, OpenShift and Talos call them.
const CONTROL_PLANE: [&str; 6] =
    ["ControlPlane", "Master", "APIServer", "control-plane", "controlplane", "master"];

/// Whether an object is for machines of the control plane: by its kind, as `KubeadmControlPlane` of Cluster API, by its role in
/// kops, or by the labels of OpenShift by which it selects a pool of machines or belongs to one.
pub(crate) fn is_of_control_plane(document: &Node) -> bool {
    let source = Source { name: "", text: "" };
    let field = Field::document(&source, document);
    let (kind, version) = names(&field);
    let at = |path: &[&str]| path.iter().try_fold(document, |node, key| node.value.get(key));
    let is_role =
        |node: &Node| matches!(&node.value, Value::Text(role) if CONTROL_PLANE.contains(&role.as_str()));
    // Its selectors, and the label by which a MachineConfig belongs to a pool.
    let labels: [&[&str]; 3] = [
        &["spec", "machineConfigPoolSelector", "matchLabels"],
        &["spec", "nodeSelector"],
        &["metadata", "labels"],
    ];
    let has_role = |labels: &Node| {
        let Value::Map(labels) = &labels.value else { return false };
        labels.iter().any(|label| {
            let name = label.key.rsplit('/').next().unwrap_or_default();
            CONTROL_PLANE.contains(&name) || is_role(&label.value)
        })
    };
    kind.contains("ControlPlane")
        || at(&["spec", "role"]).is_some_and(is_role)
        || version.contains(".openshift.io/") && labels.iter().filter_map(|path| at(path)).any(has_role)
}

/// The selector of a `KubeletConfig` of OpenShift, to be compared; empty of another object.
pub(super) fn selector(document: &Node) -> String {
    let own = document.value.get("spec").and_then(|spec| spec.value.get("machineConfigPoolSelector"));
    own.map(Node::to_json).unwrap_or_default()
}
