//! Kinds of objects outside of Kubernetes' own groups of which no controller makes pods.

/// Groups of which no kind makes pods.
const GROUPS: &[&str] = &[
    "authorization.openshift.io",
    "bootstrap.cluster.x-k8s.io",
    "cert-manager.io",
    "cilium.io",
    "cluster.x-k8s.io",
    "console.openshift.io",
    "constraints.gatekeeper.sh",
    "controlplane.cluster.x-k8s.io",
    "crd.k8s.amazonaws.com",
    "crd.projectcalico.org",
    "elbv2.k8s.aws",
    "external-secrets.io",
    "image.openshift.io",
    "image.toolkit.fluxcd.io",
    "inference.networking.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "instancetype.kubevirt.io",
    "ipam.cluster.x-k8s.io",
    "k8s.cni.cncf.io",
    "karpenter.azure.com",
    "karpenter.k8s.aws",
    "karpenter.sh",
    "kyverno.io",
    "machineconfiguration.openshift.io",
    "metallb.io",
    "networking.istio.io",
    "notification.toolkit.fluxcd.io",
    "performance.openshift.io",
    "policies.kyverno.io",
    "policy.kruise.io",
    "project.openshift.io",
    "projectcalico.org",
    "projectcontour.io",
    "quota.openshift.io",
    "rollouts.kruise.io",
    "route.openshift.io",
    "secrets-store.csi.x-k8s.io",
    "security.istio.io",
    "security.openshift.io",
    "source.toolkit.fluxcd.io",
    "telemetry.istio.io",
    "templates.gatekeeper.sh",
    "traefik.containo.us",
    "traefik.io",
    "tuned.openshift.io",
    "user.openshift.io",
    "vpcresources.k8s.aws",
];

/// Kinds without pods of groups of which others have some.
const KINDS: &[(&str, &[&str])] = &[
    ("argoproj.io", &["AppProject"]),
    ("bitnami.com", &["SealedSecret"]),
    ("cloud.google.com", &["BackendConfig"]),
    ("keda.sh", &["ClusterTriggerAuthentication", "ScaledObject", "TriggerAuthentication"]),
    (
        "kueue.x-k8s.io",
        &[
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "ResourceFlavor",
            "Topology",
            "WorkloadPriorityClass",
        ],
    ),
    (
        "monitoring.coreos.com",
        &["AlertmanagerConfig", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "ServiceMonitor"],
    ),
    ("networking.gke.io", &["FrontendConfig", "ManagedCertificate"]),
    ("nfd.k8s-sigs.io", &["NodeFeatureGroup", "NodeFeatureRule"]),
    ("operators.coreos.com", &["OperatorGroup"]),
    ("scheduling.volcano.sh", &["PodGroup", "Queue"]),
    ("scheduling.x-k8s.io", &["ElasticQuota", "PodGroup"]),
    ("serving.knative.dev", &["DomainMapping"]),
    (
        "sriovnetwork.openshift.io",
        &["OVSNetwork", "SriovIBNetwork", "SriovNetwork", "SriovNetworkNodePolicy", "SriovNetworkPoolConfig"],
    ),
];

/// Whether a kind of a group is known to make no pods, or is of Kubernetes' own groups, which have no other kinds with pods.
pub(crate) fn is_without_pods(group: &str, kind: &str) -> bool {
    let is_own = !group.contains('.') || group.ends_with(".k8s.io");
    is_own || is_listed(group, kind)
}

/// Whether a kind outside of Kubernetes' own groups is known to make no pods.
pub(super) fn is_listed(group: &str, kind: &str) -> bool {
    GROUPS.contains(&group) || KINDS.iter().any(|(of, kinds)| *of == group && kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_pods_are_known_by_group() {
        for (group, kind) in [
            ("", "Service"),
            ("gateway.networking.k8s.io", "HTTPRoute"),
            ("monitoring.coreos.com", "ServiceMonitor"),
            ("cluster.x-k8s.io", "MachineDeployment"),
        ] {
            assert!(is_without_pods(group, kind), "{group} {kind}");
        }
        for (group, kind) in [("monitoring.coreos.com", "Prometheus"), ("example.com", "ServiceMonitor")] {
            assert!(!is_without_pods(group, kind), "{group} {kind}");
        }
    }
}
