//! The forms in which people have a kubelet's configuration: which one a document is, and where the fields are in it.
//!
//! What an installer or an operator takes has the fields of a `KubeletConfiguration` as a part ([`PARTS`]). Of some only the
//! part is known, and not what is set beneath it. Others have no such part: they are refused, with what to give instead.

mod choice;
mod envelope;
mod flags;
mod kind;
mod machine_config;
mod node_class;

use crate::kubelet_fields::READ;
use crate::node::{Field, Node, Value};
use crate::performance_profile;
use crate::problem::ACCEPTED_CONFIGS;
use crate::warning::{Warning, unknown_fields};
use crate::{ManifestError, Problem};

pub(crate) use choice::{Chosen, chosen};
pub(crate) use envelope::{Envelope, envelope};
pub(crate) use flags::flags;
pub use kind::ConfigKind;
pub use node_class::{ImageFamily, NodeClass};

/// A form with the fields as a part.
struct Part {
    kind: &'static str,
    group: &'static str,
    path: &'static [&'static str],
    is: ConfigKind,
}

const fn part(
    kind: &'static str,
    group: &'static str,
    path: &'static [&'static str],
    is: ConfigKind,
) -> Part {
    Part { kind, group, path, is }
}

const PARTS: [Part; 14] = [
    part(
        "KubeletConfig",
        "machineconfiguration.openshift.io/v1",
        &["spec", "kubeletConfig"],
        ConfigKind::OpenShift,
    ),
    part("NodeConfig", "node.eks.aws/", &["spec", "kubelet", "config"], ConfigKind::Eks),
    part("EC2NodeClass", "karpenter.k8s.aws/", &["spec", "kubelet"], ConfigKind::Part(KARPENTER)),
    part("ClusterConfig", "eksctl.io/", &[], ConfigKind::Part(EKSCTL)),
    part("KubeadmConfig", "bootstrap.cluster.x-k8s.io/", &[], ConfigKind::Part(CLUSTER_API)),
    part("KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io/", &[], ConfigKind::Part(CLUSTER_API)),
    part("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/", &[], ConfigKind::Part(CLUSTER_API)),
    part("KubeadmControlPlaneTemplate", "controlplane.cluster.x-k8s.io/", &[], ConfigKind::Part(CLUSTER_API)),
    part("AKSNodeClass", "karpenter.azure.com/", &["spec", "kubelet"], ConfigKind::Part("AKS")),
    part("AzureManagedMachinePool", CAPI_NODES, &["spec", "kubeletConfig"], ConfigKind::Part("AKS")),
    part(
        "ContainerNodePool",
        "container.cnrm.cloud.google.com/",
        &["spec", "nodeConfig", "kubeletConfig"],
        ConfigKind::Part("GKE"),
    ),
    part("Shoot", "core.gardener.cloud/", &["spec", "kubernetes", "kubelet"], ConfigKind::Part("Gardener")),
    part("InstanceGroup", "kops.k8s.io/", &["spec", "kubelet"], ConfigKind::Part("kops")),
    part("Cluster", "kops.k8s.io/", &["spec", "kubelet"], ConfigKind::Part("kops")),
];
/// A class of nodes with user data.
pub(crate) const KARPENTER: &str = "Karpenter";
/// A cluster with node groups, each of which may have fields of a kubelet.
const EKSCTL: &str = "eksctl";
/// Objects of which the kubelet's part is flags.
const CLUSTER_API: &str = "Cluster API";
const CAPI_NODES: &str = "infrastructure.cluster.x-k8s.io/";

/// The fields around the kubelet's part, where a misspelt one would leave it out.
const AROUND: [(ConfigKind, &[&str], &[&str]); 4] = [
    (
        ConfigKind::OpenShift,
        &["spec"],
        &[
            "autoSizingReserved",
            "kubeletConfig",
            "logLevel",
            "machineConfigPoolSelector",
            "tlsSecurityProfile",
        ],
    ),
    (ConfigKind::Eks, &["spec"], &["cluster", "containerd", "featureGates", "hybrid", "instance", "kubelet"]),
    (ConfigKind::Eks, &["spec", "kubelet"], &["config", "flags", "maxPodsExpression"]),
    (
        ConfigKind::Talos,
        &["machine", "kubelet"],
        &[
            "clusterDNS",
            "credentialProviderConfig",
            "defaultRuntimeSeccompProfileEnabled",
            "disableManifestsDirectory",
            "extraArgs",
            "extraConfig",
            "extraMounts",
            "image",
            "nodeIP",
            "registerWithFQDN",
            "skipNodeRegistration",
        ],
    ),
];

/// Warns of fields around the kubelet's part that the form does not have.
pub(crate) fn warn_around(
    document: &Field<'_>,
    kind: ConfigKind,
    warnings: &mut Vec<Warning>,
) -> Result<(), ManifestError> {
    const EXPECTED: &str = "a field of this kind of object; this one has no effect";
    let kind = if kind == ConfigKind::TalosControlPlane { ConfigKind::Talos } else { kind };
    for (_, path, known) in AROUND.iter().filter(|(of, ..)| *of == kind) {
        if let Some(field) = document.descend(path)?.filter(Field::is_mapping) {
            unknown_fields(&field, known, EXPECTED, warnings)?;
        }
    }
    Ok(())
}

/// Forms without a kind, by a key that only they have, and where the fields are.
const WITHOUT_KIND: [(&str, &[&str], ConfigKind); 18] = [
    ("machine", &["machine", "kubelet", "extraConfig"], ConfigKind::Talos),
    ("cni", &[], ConfigKind::Rke2),
    ("audit-policy-file", &[], ConfigKind::Rke2),
    ("control-plane-resource-limits", &[], ConfigKind::Rke2),
    ("control-plane-resource-requests", &[], ConfigKind::Rke2),
    ("pod-security-admission-config-file", &[], ConfigKind::Rke2),
    ("kubelet-arg", &[], ConfigKind::K3s),
    ("kubelet-arg+", &[], ConfigKind::K3s),
    ("tls-san", &[], ConfigKind::K3s),
    ("cluster-init", &[], ConfigKind::K3s),
    ("write-kubeconfig-mode", &[], ConfigKind::K3s),
    ("node-label", &[], ConfigKind::K3s),
    ("node-taint", &[], ConfigKind::K3s),
    ("flannel-backend", &[], ConfigKind::K3s),
    ("disable", &[], ConfigKind::K3s),
    ("kubelet", &["kubelet"], ConfigKind::Part("MicroShift")),
    ("apiServer", &["kubelet"], ConfigKind::Part("MicroShift")),
    ("kubeletConfig", &["kubeletConfig"], ConfigKind::Part("its installer")),
];

/// A form without fields of the kubelet: what it is, and what to give instead.
struct Other {
    /// Empty for all kinds of a group.
    kind: &'static str,
    /// The end of the group, with the slash after it.
    group: &'static str,
    what: &'static str,
    instead: &'static str,
}

const CONFIGZ: &str = "what a node's kubelet answers: kubectl get --raw /api/v1/nodes/NODE/proxy/configz";
const OF_KUBEADM: &str = "the KubeletConfiguration beside it, or what the cluster has: kubectl -n kube-system get configmap kubelet-config -o yaml";

const fn other(kind: &'static str, group: &'static str, what: &'static str, instead: &'static str) -> Other {
    Other { kind, group, what, instead }
}

const OTHERS: [Other; 10] = [
    other("ClusterConfiguration", "kubeadm.k8s.io/", "a ClusterConfiguration of kubeadm alone", OF_KUBEADM),
    other("InitConfiguration", "kubeadm.k8s.io/", "an InitConfiguration of kubeadm alone", OF_KUBEADM),
    other("JoinConfiguration", "kubeadm.k8s.io/", "a JoinConfiguration of kubeadm alone", OF_KUBEADM),
    other(
        "MachineConfig",
        "machineconfiguration.openshift.io/",
        "files of a node, which OpenShift renders",
        CONFIGZ,
    ),
    other(
        "ClusterConfig",
        "eksctl.io/",
        "a cluster of eksctl",
        "its kubeletExtraConfig below spec.kubelet.config of a NodeConfig (node.eks.aws/v1alpha1)",
    ),
    other("Cluster", "kind.x-k8s.io/", "a cluster of kind", CONFIGZ),
    other(
        "NodePool",
        "karpenter.sh/",
        "a NodePool of Karpenter",
        "the EC2NodeClass that it refers to (karpenter.k8s.aws)",
    ),
    other(
        "Tuned",
        "tuned.openshift.io/",
        "a profile of TuneD",
        "the PerformanceProfile or the KubeletConfig of the same nodes",
    ),
    other("KubeProxyConfiguration", "kubeproxy.config.k8s.io/", "a configuration of kube-proxy", OF_KUBEADM),
    other("", ".x-k8s.io/", "an object of Cluster API", CONFIGZ),
];

/// The path of a document that is the fields alone.
const WHOLE: &[&str] = &[""];

/// Nothing is written.
static NOTHING: Node = Node { value: Value::Map(Vec::new()), span: 0..0 };

/// The kind and version of a document; empty where it has none.
fn names<'a>(document: &Field<'a>) -> (&'a str, &'a str) {
    let word = |key| document.get(key).ok().flatten().and_then(|field| field.text("a name").ok());
    (word("kind").unwrap_or_default(), word("apiVersion").unwrap_or_default())
}

fn part_of(document: &Field<'_>) -> Option<&'static Part> {
    let (kind, version) = names(document);
    PARTS.iter().find(|part| part.kind == kind && version.starts_with(part.group))
}

fn without_kind(document: &Field<'_>) -> Option<(&'static [&'static str], ConfigKind)> {
    if !names(document).0.is_empty() {
        return None;
    }
    let has = |key: &str| document.node.value.get(key).is_some();
    let Some((_, path, kind)) = WITHOUT_KIND.iter().find(|(key, ..)| has(key)) else {
        // Fields of a KubeletConfiguration alone, as installers take them for patches.
        let is_field =
            names(document).1.is_empty() && READ.iter().any(|field| has(field)) && !has("kubeletconfig");
        return is_field.then_some((WHOLE, ConfigKind::Part("its installer")));
    };
    let machine = document.descend(&["machine", "type"]).ok().flatten();
    let is_control_plane = machine
        .and_then(|kind| kind.text("").ok())
        .is_some_and(|kind| matches!(kind, "controlplane" | "init"));
    Some((path, if is_control_plane { ConfigKind::TalosControlPlane } else { *kind }))
}

/// What kind of file a document is. What is none is found out when its fields are looked for.
pub(crate) fn kind_of(document: &Field<'_>) -> ConfigKind {
    let (kind, version) = names(document);
    if performance_profile::is_one(kind, version) {
        return ConfigKind::PerformanceProfile;
    }
    match (part_of(document), without_kind(document)) {
        (Some(part), _) => part.is,
        (None, Some((_, kind))) => kind,
        (None, None) => ConfigKind::Kubelet,
    }
}

/// Whether a document is a configuration of the kubelet in some form.
fn is_configuration(document: &Field<'_>) -> bool {
    let (kind, version) = names(document);
    kind == "KubeletConfiguration"
        || performance_profile::is_one(kind, version)
        || part_of(document).is_some()
        || without_kind(document).is_some()
}

/// The fields of the one node group of eksctl that has some.
fn node_group<'a>(document: &Field<'a>) -> Result<Option<Field<'a>>, ManifestError> {
    let mut found = Vec::new();
    for list in ["nodeGroups", "managedNodeGroups"] {
        let Some(groups) = document.get(list)? else { continue };
        for group in groups.items()? {
            found.extend(group.get("kubeletExtraConfig")?);
        }
    }
    if let [_, second, ..] = found.as_slice() {
        return Err(second.fail(Problem::OtherForm {
            what: "a second node group with fields of the kubelet".to_owned(),
            instead: "one node group: take the others out of the file",
        }));
    }
    Ok(found.pop())
}

/// The mapping that holds the fields; an empty one where a form sets none.
pub(crate) fn body<'a>(document: &Field<'a>) -> Result<Field<'a>, ManifestError> {
    const VERSION: &str = "apiVersion kubelet.config.k8s.io/v1beta1";
    const KIND: &str = ACCEPTED_CONFIGS;
    if !document.is_mapping() {
        return Err(document.unexpected(ACCEPTED_CONFIGS));
    }
    if let Some(configz) = document.get("kubeletconfig")? {
        return Ok(configz);
    }
    let place = match part_of(document) {
        Some(Part { is: ConfigKind::Part(EKSCTL), .. }) => match node_group(document)? {
            Some(fields) => return Ok(fields),
            None => None,
        },
        Some(Part { is: ConfigKind::Part(CLUSTER_API), .. }) if flags(document)?.is_empty() => None,
        Some(part) => Some(part.path),
        None => without_kind(document).map(|(path, _)| path),
    };
    if let Some(path) = place {
        if path == WHOLE {
            return Ok(document.clone());
        }
        let nothing = Field { source: document.source, node: &NOTHING, path: path.join(".") };
        let fields = if path.is_empty() { None } else { document.descend(path)? };
        return Ok(fields.unwrap_or(nothing));
    }
    let kind_field = document.require("kind", KIND)?;
    let version_field = document.require("apiVersion", VERSION)?;
    let (kind, version) = (kind_field.text(KIND)?, version_field.text(VERSION)?);
    if (kind, version) == ("KubeletConfiguration", "kubelet.config.k8s.io/v1beta1") {
        return Ok(document.clone());
    }
    let group = version.split_inclusive('/').next().unwrap_or_default();
    let is_it = |other: &&Other| ["", kind].contains(&other.kind) && group.ends_with(other.group);
    let other = OTHERS.iter().find(is_it);
    if let Some(Other { what, instead, .. }) = other {
        return Err(kind_field.fail(Problem::OtherForm { what: (*what).to_owned(), instead }));
    }
    let is_of_known_kind = kind == "KubeletConfiguration" || PARTS.iter().any(|part| part.kind == kind);
    let at = if is_of_known_kind { version_field } else { kind_field };
    Err(at.fail(Problem::NotRegistered { kind: kind.to_owned(), version: version.to_owned() }))
}
