//! The forms in which people have a kubelet's configuration: which one a document is, and where the fields are in it.
//!
//! What an installer or an operator takes has the fields of a `KubeletConfiguration` as a part ([`PARTS`]). Of some only the
//! part is known, and not what is set beneath it. Others have no such part: they are refused, with what to give instead.

mod choice;
mod object_choice;
mod objects;
mod roles;
mod node_groups;
mod machines;
mod kubeadm_patches;
mod field_names;
mod supported_fields;
mod envelope;
mod flags;
mod kind;
mod machine_config;
mod operator_refusals;
mod talos;
mod node_class;
mod options;
mod node_files;
mod steps;
mod patches;
mod stated_release;

use crate::node::{Field, Node, Value};
use crate::performance_profile;
use crate::problem::{ACCEPTED_CONFIGS, CONFIGZ};
use crate::warning::{Warning, unknown_fields};
use crate::{ManifestError, Problem};

pub(crate) use choice::{Chosen, chosen};
pub(crate) use envelope::{Envelope, envelope};
pub use field_names::form_fields;
pub(crate) use field_names::has_own_names;
pub(crate) use flags::{filled_in, flags, lay_options};
pub use kind::ConfigKind;
use kind::{
    AKS, GKE, GKE_GROUP, GKE_KIND, K0S_GROUP, K0SCTL_GROUP, OLD_KOPS, PATCHED, RANCHER_GROUP, WHOLE, names,
};
pub(crate) use machine_config::kernel_arguments;
pub use node_class::{ImageFamily, NodeClass};
pub(crate) use node_files::{WrittenFile, command, is_of_k3s, refused_form, refused_item};
pub use object_choice::ObjectChoice;
pub(crate) use operator_refusals::refused_by_operator;
use options::form_without_kind;
pub(crate) use roles::is_of_control_plane;
pub use stated_release::{StatedRelease, stated_releases};
pub(crate) use supported_fields::{fields_of, supported_fields, warn_of_zeros};

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

pub(crate) const KUBEADM_GROUP: &str = "kubeadm.k8s.io/";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/";
const OPENSHIFT_GROUP: &str = "machineconfiguration.openshift.io/";

const PARTS: [Part; 34] = [
    part(
        "KubeletConfig",
        "machineconfiguration.openshift.io/v1",
        &["spec", "kubeletConfig"],
        ConfigKind::OpenShift,
    ),
    part("MachineConfig", OPENSHIFT_GROUP, &[], ConfigKind::OpenShift),
    part("NodeConfig", "node.eks.aws/", &["spec", "kubelet", "config"], ConfigKind::Eks),
    part("EC2NodeClass", "karpenter.k8s.aws/", &["spec", "kubelet"], ConfigKind::Part(KARPENTER)),
    part("ClusterConfig", "eksctl.io/", &[], ConfigKind::Part(EKSCTL)),
    part("ClusterConfiguration", KUBEADM_GROUP, &[], ConfigKind::Part(KUBEADM_CONFIG_MAP)),
    part("InitConfiguration", KUBEADM_GROUP, &[], ConfigKind::Part(KUBEADM_CONFIG_MAP)),
    part("JoinConfiguration", KUBEADM_GROUP, &[], ConfigKind::Part(KUBEADM_CONFIG_MAP)),
    part("KubeadmConfig", BOOTSTRAP, &[PATCHED], ConfigKind::Part(CLUSTER_API)),
    part("KubeadmConfigTemplate", BOOTSTRAP, &[PATCHED], ConfigKind::Part(CLUSTER_API)),
    part("KubeadmControlPlane", CONTROL_PLANE, &[PATCHED], ConfigKind::Part(CLUSTER_API)),
    part("KubeadmControlPlaneTemplate", CONTROL_PLANE, &[PATCHED], ConfigKind::Part(CLUSTER_API)),
    part("EKSConfig", BOOTSTRAP, &[], ConfigKind::Part(CLUSTER_API)),
    part("EKSConfigTemplate", BOOTSTRAP, &[], ConfigKind::Part(CLUSTER_API)),
    part("NodeadmConfig", BOOTSTRAP, &["spec", "kubelet", "config"], ConfigKind::Eks),
    part(
        "NodeadmConfigTemplate",
        BOOTSTRAP,
        &["spec", "template", "spec", "kubelet", "config"],
        ConfigKind::Eks,
    ),
    part("RKE2Config", BOOTSTRAP, &[], ConfigKind::Rke2),
    part("RKE2ConfigTemplate", BOOTSTRAP, &[], ConfigKind::Rke2),
    part("RKE2ControlPlane", CONTROL_PLANE, &[], ConfigKind::Rke2),
    part("RKE2ControlPlaneTemplate", CONTROL_PLANE, &[], ConfigKind::Rke2),
    part("AKSNodeClass", "karpenter.azure.com/", &["spec", "kubelet"], ConfigKind::Part(AKS)),
    part("AzureManagedMachinePool", CAPI_NODES, &["spec", "kubeletConfig"], ConfigKind::Part(AKS)),
    part(
        "AzureManagedMachinePoolTemplate",
        CAPI_NODES,
        &["spec", "template", "spec", "kubeletConfig"],
        ConfigKind::Part(AKS),
    ),
    part(
        "ManagedClustersAgentPool",
        "containerservice.azure.com/",
        &["spec", "kubeletConfig"],
        ConfigKind::Part(AKS),
    ),
    part("ContainerNodePool", GKE_GROUP, GKE, ConfigKind::Part(GKE_KIND)),
    part("ContainerCluster", GKE_GROUP, GKE, ConfigKind::Part(GKE_KIND)),
    part("Shoot", "core.gardener.cloud/", &["spec", "kubernetes", "kubelet"], ConfigKind::Part("Gardener")),
    part("InstanceGroup", "kops.k8s.io/", &["spec", "kubelet"], ConfigKind::Part("kops")),
    part("Cluster", "kops.k8s.io/", &["spec", "kubelet"], ConfigKind::Part("kops")),
    part("InstanceGroup", OLD_KOPS, &["spec", "kubelet"], ConfigKind::Part("kops")),
    part("Cluster", OLD_KOPS, &["spec", "kubelet"], ConfigKind::Part("kops")),
    part("Cluster", RANCHER_GROUP, &[], ConfigKind::Rke2),
    part("ClusterConfig", K0S_GROUP, machines::PROFILE, ConfigKind::Part("k0s")),
    part("Cluster", K0SCTL_GROUP, machines::PROFILE, ConfigKind::Part("k0s")),
];
/// A class of nodes with user data.
pub(crate) const KARPENTER: &str = "Karpenter";
/// A cluster with node groups, each of which may have fields of a kubelet.
pub(crate) const EKSCTL: &str = "eksctl";
/// Objects of which the kubelet's part is flags.
const CLUSTER_API: &str = "Cluster API";
/// What kubeadm lays its flags over.
const KUBEADM_CONFIG_MAP: &str = "the cluster's ConfigMap kubelet-config";

const CAPI_NODES: &str = "infrastructure.cluster.x-k8s.io/";

/// The fields around the kubelet's part, where a misspelt one would leave it out: of `KubeletConfigSpec` in
/// openshift/machine-config-operator, of `NodeConfigSpec` and `KubeletOptions` in awslabs/amazon-eks-ami, and of `KubeletConfig` in
/// siderolabs/talos.
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
    // Others of the same base have other fields there.
    if matches!(names(document).0, "MachineConfig" | "NodeadmConfig" | "NodeadmConfigTemplate") {
        return Ok(());
    }
    let kind = if kind == ConfigKind::TalosControlPlane { ConfigKind::Talos } else { kind };
    for (_, path, known) in AROUND.iter().filter(|(of, ..)| *of == kind) {
        if let Some(field) = document.descend(path)?.filter(Field::is_mapping) {
            unknown_fields(&field, known, EXPECTED, warnings)?;
        }
    }
    Ok(())
}

/// A form without fields of the kubelet: what it is, and what to give instead.
struct Other {
    /// Empty for all kinds of a group.
    kind: &'static str,
    /// The end of the group, with the slash after it; of objects without a group the version.
    group: &'static str,
    what: &'static str,
    instead: &'static str,
}

const WITH_VERSION: &str = "its apiVersion beside its kind, such as node.eks.aws/v1alpha1 of a NodeConfig; of a patch what `kubectl kustomize FOLDER` makes of it";
const OF_KUBEADM: &str = "the KubeletConfiguration beside it, or that of the cluster: `kubectl -n kube-system get configmap kubelet-config -o yaml`";

const fn other(kind: &'static str, group: &'static str, what: &'static str, instead: &'static str) -> Other {
    Other { kind, group, what, instead }
}

const OTHERS: [Other; 8] = [
    other("Cluster", "kind.x-k8s.io/", "a cluster of kind", CONFIGZ),
    other(
        "NodePool",
        "karpenter.sh/",
        "a NodePool of Karpenter",
        "the EC2NodeClass that it refers to (karpenter.k8s.aws)",
    ),
    other(
        "MachineConfigPool",
        "machineconfiguration.openshift.io/",
        "a pool of machines",
        "the KubeletConfig or the PerformanceProfile that selects it",
    ),
    other(
        "Tuned",
        "tuned.openshift.io/",
        "a profile of TuneD",
        "the PerformanceProfile or the KubeletConfig of the same nodes",
    ),
    other("KubeProxyConfiguration", "kubeproxy.config.k8s.io/", "a configuration of kube-proxy", OF_KUBEADM),
    other("ConfigMap", "v1", "a ConfigMap in which no text is a kubelet's configuration", OF_KUBEADM),
    other("", "kustomize.config.k8s.io/", "a file of kustomize", patches::KUSTOMIZE),
    other("", ".x-k8s.io/", "an object of Cluster API", CONFIGZ),
];

/// Nothing is written.
static NOTHING: Node = Node { value: Value::Map(Vec::new()), span: 0..0 };

fn part_of(document: &Field<'_>) -> Option<&'static Part> {
    let (kind, version) = names(document);
    PARTS.iter().find(|part| part.kind == kind && version.starts_with(part.group))
}

/// The kind of a form of which a document has the kind alone.
fn without_version(document: &Field<'_>) -> Option<&'static str> {
    let (kind, version) = names(document);
    let mut kinds = PARTS.iter().map(|part| part.kind).chain(["PerformanceProfile"]);
    kinds.find(|own| *own == kind && version.is_empty())
}

/// The class of nodes that a `NodePool` of Karpenter refers to, where it is none of Amazon's: its name to be shown, and whether it is a
/// form that is read.
fn other_class(pool: &Field<'_>) -> Option<(String, bool)> {
    let class = pool.descend(&["spec", "template", "spec", "nodeClassRef"]).ok().flatten()?;
    let text = |key| class.get(key).ok().flatten()?.text("a name").ok();
    // Before v1 it had an apiVersion.
    let group = text("group").or_else(|| text("apiVersion")?.split('/').next())?;
    let kind = text("kind")?;
    let is_form = |part: &&Part| part.kind == kind && part.group.trim_end_matches('/') == group;
    let form = PARTS.iter().find(is_form);
    if form.is_some_and(|part| part.is == ConfigKind::Part(KARPENTER)) {
        return None;
    }
    let name = text("name").map(|name| format!(" {name}")).unwrap_or_default();
    Some((format!("{kind}{name} ({group})"), form.is_some()))
}

/// What kind of file a document is. What is none is found out when its fields are looked for.
pub(crate) fn kind_of(document: &Field<'_>) -> ConfigKind {
    let (kind, version) = names(document);
    if performance_profile::is_one(kind, version) {
        return ConfigKind::PerformanceProfile;
    }
    match (part_of(document), form_without_kind(document)) {
        (Some(part), _) if part.group == RANCHER_GROUP => machines::kind_of_rancher(document),
        (Some(part), _) => part.is,
        (None, Some((_, kind))) => kind,
        (None, None) => ConfigKind::Kubelet,
    }
}

/// Whether a document is a configuration of the kubelet in some form, but for those of kubeadm that have its flags alone.
pub(crate) fn is_configuration(document: &Field<'_>) -> bool {
    let (kind, version) = names(document);
    kind == "KubeletConfiguration"
        || performance_profile::is_one(kind, version)
        || part_of(document).is_some_and(|part| part.is != ConfigKind::Part(KUBEADM_CONFIG_MAP))
        || form_without_kind(document).is_some()
}

/// The fields of the node group of eksctl, of which the document has one.
fn node_group<'a>(document: &Field<'a>) -> Result<Option<Field<'a>>, ManifestError> {
    for list in node_groups::group_lists(document) {
        let Some(groups) = document.get(list)? else { continue };
        for group in groups.items()? {
            if let Some(fields) = group.get("kubeletExtraConfig")? {
                return Ok(Some(fields));
            }
        }
    }
    Ok(None)
}

/// The mapping that holds the fields; an empty one where a form sets none.
pub(crate) fn body<'a>(document: &Field<'a>) -> Result<Field<'a>, ManifestError> {
    const VERSION: &str = "apiVersion kubelet.config.k8s.io/v1beta1";
    const KIND: &str = ACCEPTED_CONFIGS;
    if let Some(error) = patches::refused_patch(document) {
        return Err(error);
    }
    if !document.is_mapping() {
        return Err(crate::template::of_settings(document.source)
            .unwrap_or_else(|| document.unexpected(ACCEPTED_CONFIGS)));
    }
    if let Some(configz) = document.get("kubeletconfig")? {
        return Ok(configz);
    }
    let place = match part_of(document) {
        Some(Part { is: ConfigKind::Part(EKSCTL), .. }) => match node_group(document)? {
            Some(fields) => return Ok(fields),
            None => Some(&[][..]),
        },
        Some(part) => {
            if let Some(what) = machine_config::unread(document.node) {
                return Err(document.fail(Problem::OtherForm { what, instead: CONFIGZ }));
            }
            Some(part.path)
        }
        None => form_without_kind(document).map(|(path, _)| path),
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
    if let (Some(kind), None) = (without_version(document), document.get("apiVersion")?) {
        let what = format!("a {kind} without apiVersion, which nothing reads");
        return Err(kind_field.fail(Problem::OtherForm { what, instead: WITH_VERSION }));
    }
    let version_field = document.require("apiVersion", VERSION)?;
    let (kind, version) = (kind_field.text(KIND)?, version_field.text(VERSION)?);
    if (kind, version) == ("KubeletConfiguration", "kubelet.config.k8s.io/v1beta1") {
        return Ok(document.clone());
    }
    let group = version.split_inclusive('/').next().unwrap_or_default();
    let is_it = |other: &&Other| ["", kind].contains(&other.kind) && group.ends_with(other.group);
    let other = OTHERS.iter().find(is_it);
    if let Some(Other { what, instead, .. }) = other {
        if let Some((class, is_form)) = other_class(document).filter(|_| kind == "NodePool") {
            let instead = if is_form { "that object" } else { CONFIGZ };
            let what = format!("{what} with the {class}");
            return Err(kind_field.fail(Problem::OtherForm { what, instead }));
        }
        return Err(kind_field.fail(Problem::OtherForm { what: (*what).to_owned(), instead }));
    }
    let is_of_known_kind = kind == "KubeletConfiguration" || PARTS.iter().any(|part| part.kind == kind);
    let at = if is_of_known_kind { version_field } else { kind_field };
    Err(at.fail(Problem::NotRegistered { kind: kind.to_owned(), version: version.to_owned() }))
}
