//! Labels of Kubernetes that a kubelet may give its node.

/// Whether a label is Kubernetes', and none of those that kubelets set.
pub(super) fn is_foreign(key: &str) -> bool {
    let is_of = |namespace: &str, suffix: &str| {
        namespace.strip_suffix(suffix).is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    let Some((namespace, _)) = key.split_once('/') else { return false };
    let is_own = LABELS.contains(&key) || LABEL_NAMESPACES.iter().any(|own| is_of(namespace, own));
    !is_own && ["kubernetes.io", "k8s.io"].iter().any(|suffix| is_of(namespace, suffix))
}

/// The namespaces of labels that kubelets set, and single ones, in the order in which errors list them.
pub(super) const LABEL_NAMESPACES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
pub(super) const LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
