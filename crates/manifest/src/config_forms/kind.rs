//! The forms of files with a kubelet's configuration, by what makes the kubelet's own file of them.

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
