//! The fingerprint of a set of pods, by which a scheduler knows whether a `NodeResourceTopology` has heard of all the
//! pods that it has sent to the node. It is that of the scheduler plugins' `podfingerprint`, version `v001`: XXH64 of
//! each name with that of its namespace as the seed; sorted; XXH64 of these numbers, lowest byte first.

use std::hash::Hasher as _;

use pod_spec::{Pod, PodLevelResources, QosClass, ResourceName, Role};
use twox_hash::XxHash64;

/// The fingerprint as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint(pub(crate) String);

/// Which pods a fingerprint is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// All of the node.
    All,
    /// Those that hold something which no other pod has.
    WithExclusiveResources,
}

impl Method {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::WithExclusiveResources => "with-exclusive-resources",
        }
    }

    /// Whether a pod counts.
    pub(crate) fn counts(self, pod: &Pod) -> bool {
        match self {
            Self::All => true,
            Self::WithExclusiveResources => is_exclusive(pod),
        }
    }
}

impl Fingerprint {
    /// Of pods by namespace and name, in any order.
    pub(crate) fn of<'a>(pods: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let hash = |(namespace, name): (&str, &str)| {
            XxHash64::oneshot(XxHash64::oneshot(0, namespace.as_bytes()), name.as_bytes())
        };
        let mut hashes: Vec<u64> = pods.into_iter().map(hash).collect();
        hashes.sort_unstable();
        let mut sum = XxHash64::with_seed(0);
        for hash in hashes {
            sum.write(&hash.to_le_bytes());
        }
        Self(format!("pfp0v001{:016x}", sum.finish()))
    }
}

/// The scheduler plugins' rule: a container that stays asks for a device; or the pod is Guaranteed and it asks for
/// whole CPUs, memory or huge pages.
fn is_exclusive(pod: &Pod) -> bool {
    let guaranteed = pod.qos_class(PodLevelResources::Count) == QosClass::Guaranteed;
    let staying = pod.containers.iter().filter(|container| container.role != Role::Init);
    staying.flat_map(|container| &container.requests).any(|(resource, amount)| {
        let is_some = amount.milli_value() > 0;
        is_some
            && match resource.as_str() {
                "cpu" => guaranteed && amount.milli_value() % 1000 == 0,
                "memory" => guaranteed,
                _ if resource.is_hugepages() => guaranteed,
                _ => is_device(resource),
            }
    })
}

/// A resource with a domain that is not Kubernetes' own.
fn is_device(resource: &ResourceName) -> bool {
    resource.as_str().contains('/') && !resource.as_str().contains("kubernetes.io/")
}

#[cfg(test)]
mod tests {
    use pod_spec::{Container, ResourceList};

    use super::*;

    /// The texts are those of `podfingerprint` v0.2.2.
    #[test]
    fn fingerprints_are_the_scheduler_plugins() {
        let check = |pods: &[(&str, &str)], expected: &str| {
            assert_eq!(Fingerprint::of(pods.iter().copied()).0, expected, "{pods:?}");
        };
        check(&[], "pfp0v001ef46db3751d8e999");
        check(&[("default", "a")], "pfp0v00173ac1f6debaedf3d");
        check(&[("ran", "dpdk-1"), ("ran", "dpdk-2"), ("ran", "dpdk-3")], "pfp0v001a85223b6e70a2b2f");
        check(&[("ran", "dpdk-3"), ("ran", "dpdk-1"), ("ran", "dpdk-2")], "pfp0v001a85223b6e70a2b2f");
        let long = (
            "a-rather-long-namespace-name-of-more-than-32-bytes",
            "a-pod-with-a-name-that-is-longer-than-thirty-two-bytes-0",
        );
        let several = [("kube-system", "kube-proxy-x7k2p"), ("default", "web-0"), long, ("", "")];
        check(&several, "pfp0v001a04db6cca1895138");
        let many: Vec<(String, String)> =
            (0..100).map(|at| (format!("ns-{}", at % 7), format!("pod-{at}"))).collect();
        let many: Vec<(&str, &str)> =
            many.iter().map(|(space, name)| (space.as_str(), name.as_str())).collect();
        check(&many, "pfp0v001bb825bbdf2e078bf");
    }

    #[test]
    fn only_what_nobody_else_can_have_is_exclusive() {
        let pod = |role, amounts: &[(&str, &str)]| {
            let limits: ResourceList =
                amounts.iter().map(|(name, amount)| ((*name).into(), amount.parse().unwrap())).collect();
            let container = Container { name: "c".into(), role, requests: limits.clone(), limits };
            let idle = Container {
                name: "idle".into(),
                role: Role::App,
                requests: ResourceList::new(),
                limits: ResourceList::new(),
            };
            let containers = if role == Role::Init { vec![container, idle] } else { vec![container] };
            is_exclusive(&Pod::new("default", "a", containers))
        };
        assert!(pod(Role::App, &[("cpu", "2"), ("memory", "1Gi")]));
        assert!(pod(Role::App, &[("cpu", "1500m"), ("memory", "1Gi")]), "memory is booked");
        assert!(pod(Role::Sidecar, &[("example.com/gpu", "1")]));
        assert!(!pod(Role::App, &[("cpu", "2")]), "Burstable");
        assert!(!pod(Role::Init, &[("example.com/gpu", "1")]), "it ends");
        assert!(!pod(Role::App, &[("example.com/gpu", "0")]));
    }
}
