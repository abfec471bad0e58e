//! Which fields of a kubelet a form has: its maker writes the kubelet's file field by field, without any others.

use super::kind::{AKS, ConfigKind, GKE_KIND, names};
use super::node_groups::{group_lists, has_pods_of_gke};
use super::{EKSCTL, KARPENTER};
use crate::kubelet_fields::READ;
use crate::node::{Entry, Field, Node, Value};
use crate::warning::Warning;
use crate::{ManifestError, Problem};

/// Fields that decide and that kops has (`KubeletConfigSpec` in `pkg/apis/kops/componentconfig.go` of kubernetes/kops).
const OF_KOPS: [&str; 14] = [
    "cgroupRoot",
    "cpuManagerPolicy",
    "enforceNodeAllocatable",
    "evictionHard",
    "featureGates",
    "kubeReserved",
    "kubeReservedCgroup",
    "maxPods",
    "nodeLeaseDurationSeconds",
    "nodeStatusUpdateFrequency",
    "systemCgroups",
    "systemReserved",
    "systemReservedCgroup",
    "topologyManagerPolicy",
];

/// The same of Karpenter in an `EC2NodeClass` (`KubeletConfiguration` in `pkg/apis/v1/ec2nodeclass.go` of
/// aws/karpenter-provider-aws).
const OF_KARPENTER: [&str; 5] = ["evictionHard", "kubeReserved", "maxPods", "podsPerCore", "systemReserved"];

/// The same of AKS ("Kubelet custom configuration parameters" in learn.microsoft.com/azure/aks/custom-node-configuration-reference,
/// and `KubeletConfiguration` in `pkg/apis/v1beta1/aksnodeclass.go` of Azure/karpenter-provider-azure); pods stand beside them.
const OF_AKS: [&str; 3] = ["cpuManagerPolicy", "maxPods", "topologyManagerPolicy"];

/// The same of GKE (`NodeKubeletConfig` of its API, cloud.google.com/kubernetes-engine/docs/reference/rest/v1/NodeKubeletConfig).
const OF_GKE: [&str; 5] =
    ["maxPods", "cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope"];

/// The same of Gardener (`KubeletConfig` in `pkg/apis/core/v1beta1/types_shoot.go` of gardener/gardener).
const OF_GARDENER: [&str; 6] =
    ["cpuManagerPolicy", "evictionHard", "featureGates", "kubeReserved", "maxPods", "systemReserved"];

/// The same of a managed node group of eksctl, where it is called `maxPodsPerNode`: `kubeletExtraConfig` is a field of `NodeGroup`
/// alone (`pkg/apis/eksctl.io/v1alpha5/types.go` of eksctl-io/eksctl).
const OF_MANAGED_GROUPS: [&str; 1] = ["maxPods"];

/// Fields that OpenShift's machine config operator sets on each worker and lays a `KubeletConfig` over, with its values
/// (`templates/worker/01-worker-kubelet` of openshift/machine-config-operator). It merges both with mergo, which takes no zero value
/// over another. Periods are left out: Go writes `0s` where a program sets none.
const OF_OPENSHIFT: [(&str, &str); 10] = [
    ("cgroupRoot", "/"),
    ("containerLogMaxSize", "50Mi"),
    ("enableSystemLogQuery", "true"),
    ("kubeAPIBurst", "100"),
    ("kubeAPIQPS", "50"),
    ("maxPods", "250"),
    ("podPidsLimit", "4096"),
    ("rotateCertificates", "true"),
    ("serverTLSBootstrap", "true"),
    ("systemCgroups", "/system.slice"),
];

/// Warns of zero values in a `KubeletConfig` that are not carried over to the kubelet.
pub(crate) fn warn_of_zeros(
    document: &Field<'_>,
    body: &Field<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(), ManifestError> {
    if names(document).0 != "KubeletConfig" || !body.is_mapping() {
        return Ok(());
    }
    for (name, own) in OF_OPENSHIFT {
        let Some(field) = body.get(name)?.filter(is_zero) else { continue };
        let what = format!(
            "a zero value, which OpenShift's machine config operator does not carry over: {own} stays, which it sets itself"
        );
        warnings.push(Warning(field.fail(Problem::Useless { what, expected: "a value, or no field" })));
    }
    Ok(())
}

/// Whether Go has a value as zero.
fn is_zero(field: &Field<'_>) -> bool {
    match &field.node.value {
        Value::Bool(switch) => !switch,
        Value::Number(number) => number.parse() == Ok(0.0),
        Value::Text(text) => text.is_empty(),
        Value::Null | Value::List(_) | Value::Map(_) => false,
    }
}

/// The fields of a form without those that it does not have, of which `warnings` are; `None`: it has all.
///
/// # Errors
/// The fields are no mapping.
pub(crate) fn supported_fields(
    document: &Field<'_>,
    body: &Field<'_>,
    kind: ConfigKind,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Node>, ManifestError> {
    const EXPECTED: &str = "a field that the form has";
    let (Some(known), ConfigKind::Part(form)) = (fields_of(document, kind)?, kind) else { return Ok(None) };
    let is_managed = is_managed(document, kind);
    let is_missing = |key: &str| READ.contains(&key) && !known.contains(&key);
    let form = if is_managed { "a managed node group of eksctl" } else { form };
    let entries = body.entries()?;
    let missing: Vec<_> = entries.iter().filter(|entry| is_missing(entry.key)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    for entry in missing {
        let what = format!("{form} has no field {}: the kubelet does not get it", entry.key);
        let problem = Problem::Useless { what, expected: EXPECTED };
        warnings.push(Warning(entry.value.fail_at(entry.key_span, problem)));
    }
    let Value::Map(own) = &body.node.value else { return Ok(None) };
    let kept: Vec<Entry> = own.iter().filter(|entry| !is_missing(&entry.key)).cloned().collect();
    Ok(Some(Node { value: Value::Map(kept), span: body.node.span.clone() }))
}

/// The fields that decide and that the form of a document has; `None`: all.
pub(crate) fn fields_of(
    document: &Field<'_>,
    kind: ConfigKind,
) -> Result<Option<&'static [&'static str]>, ManifestError> {
    Ok(Some(match kind {
        ConfigKind::Part("kops") => &OF_KOPS,
        ConfigKind::Part(KARPENTER) => &OF_KARPENTER,
        ConfigKind::Part(AKS) => &OF_AKS,
        // The number of pods stands beside the fields.
        ConfigKind::Part(GKE_KIND) if has_pods_of_gke(document.node) => &OF_GKE,
        ConfigKind::Part(GKE_KIND) => OF_GKE.get(1..).unwrap_or_default(),
        ConfigKind::Part("Gardener") => &OF_GARDENER,
        ConfigKind::Part(EKSCTL) if is_managed(document, kind) => {
            if has_pods(document)? {
                &OF_MANAGED_GROUPS
            } else {
                &[]
            }
        }
        _ => return Ok(None),
    }))
}

fn is_managed(document: &Field<'_>, kind: ConfigKind) -> bool {
    kind == ConfigKind::Part(EKSCTL) && group_lists(document) == ["managedNodeGroups"]
}

/// Whether the one node group of a document has a number of pods.
fn has_pods(document: &Field<'_>) -> Result<bool, ManifestError> {
    let Some(groups) = document.get("managedNodeGroups")? else { return Ok(false) };
    let first = groups.items()?.into_iter().next();
    Ok(first.is_some_and(|group| group.node.value.get("maxPodsPerNode").is_some()))
}
