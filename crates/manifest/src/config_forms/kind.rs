//! The forms of files with a kubelet's configuration, by what makes the kubelet's own file of them.

use crate::node::Field;

/// Who makes the kubelet's own configuration of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ConfigKind {
    /// It is the kubelet's own.
    #[default]
    Kubelet,
    /// `KubeletConfig`: OpenShift's machine config operator.
    OpenShift,
    /// `PerformanceProfile`: OpenShift's node tuning operator, which works most fields out.
    PerformanceProfile,
    /// `NodeConfig`: `nodeadm` of Amazon EKS, which adds what it works out of the instance.
    Eks,
    /// Settings of Bottlerocket, which others read.
    Bottlerocket,
    /// A machine configuration of Talos for a worker.
    Talos,
    /// The same for a node of the control plane.
    TalosControlPlane,
    /// A `config.yaml` of k3s or RKE2, which sets flags.
    K3s,
    /// One that has an option of RKE2 alone.
    Rke2,
    /// Flags of a kubelet without the files that they go over.
    Flags,
    /// A form of which only the kubelet's part is known; the name of what makes it.
    Part(&'static str),
}

/// The kind and version of a document; empty where it has none.
pub(super) fn names<'a>(document: &Field<'a>) -> (&'a str, &'a str) {
    let word = |key| document.get(key).ok().flatten().and_then(|field| field.text("a name").ok());
    (word("kind").unwrap_or_default(), word("apiVersion").unwrap_or_default())
}

/// Where a node pool of GKE has fields of the kubelet, and the group of its objects.
pub(super) const GKE: &[&str] = &["spec", "nodeConfig", "kubeletConfig"];
/// The same in a node pool as `gcloud container node-pools describe` prints it.
pub(super) const GKE_POOL: &[&str] = &["config", "kubeletConfig"];
/// What makes the kubelet's file of one.
pub(super) const GKE_KIND: &str = "GKE";
pub(super) const GKE_GROUP: &str = "container.cnrm.cloud.google.com/";

/// What makes the kubelet's file of a node pool of AKS.
pub(super) const AKS: &str = "AKS";

/// What makes the kubelet's file of one of `MicroShift`, which has no kind.
pub(super) const MICROSHIFT: &str = "MicroShift";
/// The same of RKE.
pub(super) const RKE: &str = "RKE";
/// What makes it of fields without a kind.
pub(super) const WITHOUT_KIND: &str = "its installer";
/// The path of a document that is the fields alone.
pub(super) const WHOLE: &[&str] = &[""];

/// Where objects of Cluster API have what kubeadm joins a node with, or else makes the first one with.
pub(super) const PLACES: [&[&str]; 4] = [
    &["spec"],
    &["spec", "template", "spec"],
    &["spec", "kubeadmConfigSpec"],
    &["spec", "template", "spec", "kubeadmConfigSpec"],
];
pub(super) const JOIN: &str = "joinConfiguration";
pub(super) const INIT: &str = "initConfiguration";

pub(super) const RANCHER_GROUP: &str = "provisioning.cattle.io/";
pub(super) const K0S_GROUP: &str = "k0s.k0sproject.io/";
pub(super) const K0SCTL_GROUP: &str = "k0sctl.k0sproject.io/";
/// The group of kops in its first releases, which it still reads (`pkg/kopscodecs/codecs.go` of kubernetes/kops).
pub(super) const OLD_KOPS: &str = "kops/";

/// Where the patches of an object for kubeadm are put together, in the document.
pub(super) const PATCHED: &str = "kubeletconfiguration";
