//! The fingerprint of a set of pods, by which a scheduler knows whether a `NodeResourceTopology` counts all pods that it
//! has sent to the node.
//!
//! It is that of the scheduler plugins' `podfingerprint`, version `v001`: XXH64 of each pod's name, seeded with XXH64 of
//! its namespace; these numbers sorted; XXH64 of them, lowest byte first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::Hasher as _;

use pod_spec::{Pod, PodLevelResources, QosClass, ResourceName, Role};
use thiserror::Error;
use twox_hash::XxHash64;

/// A fingerprint, and which pods it covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    text: String,
    method: FingerprintMethod,
}

/// Which pods a fingerprint covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FingerprintMethod {
    /// All pods of the node.
    All,
    /// Pods that hold resources exclusively.
    WithExclusiveResources,
}

/// Pods are known by UID alone, and a fingerprint is one of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the names of {0} pods are not known")]
pub struct UnnamedPods(
    /// How many.
    pub usize,
);

impl FingerprintMethod {
    /// As in the attribute `nodeTopologyPodsFingerprintMethod`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::WithExclusiveResources => "with-exclusive-resources",
        }
    }

    /// Whether the fingerprint covers a pod.
    pub fn covers(self, pod: &Pod) -> bool {
        match self {
            Self::All => true,
            Self::WithExclusiveResources => is_exclusive(pod),
        }
    }
}

impl Fingerprint {
    /// Of those of `pods` that `method` covers, in any order.
    ///
    /// # Errors
    /// [`UnnamedPods`] if a covered pod has no namespace, as a pod that only a kubelet's state files name.
    pub fn of_pods<'a>(
        method: FingerprintMethod,
        pods: impl IntoIterator<Item = &'a Pod>,
    ) -> Result<Self, UnnamedPods> {
        let covered: Vec<&Pod> = pods.into_iter().filter(|pod| method.covers(pod)).collect();
        match covered.iter().filter(|pod| pod.namespace.is_empty()).count() {
            0 => {
                let names = covered.iter().map(|pod| (pod.namespace.as_str(), pod.name.as_str()));
                Ok(Self { text: hash(names), method })
            }
            unnamed => Err(UnnamedPods(unnamed)),
        }
    }

    /// `pfp0v001` and 16 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Which pods it covers.
    pub const fn method(&self) -> FingerprintMethod {
        self.method
    }
}

/// The fingerprint of pods by namespace and name.
fn hash<'a>(pods: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let hash = |(namespace, name): (&str, &str)| {
        XxHash64::oneshot(XxHash64::oneshot(0, namespace.as_bytes()), name.as_bytes())
    };
    let mut hashes: Vec<u64> = pods.into_iter().map(hash).collect();
    hashes.sort_unstable();
    let mut sum = XxHash64::with_seed(0);
    for hash in hashes {
        sum.write(&hash.to_le_bytes());
    }
    format!("pfp0v001{:016x}", sum.finish())
}

/// The scheduler plugins' rule: a container that is no init container requests a device; or the pod is Guaranteed and
/// such a container requests whole CPUs, memory or huge pages.
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

/// Whether a resource has a domain other than those of Kubernetes.
fn is_device(resource: &ResourceName) -> bool {
    resource.as_str().contains('/') && !resource.as_str().contains("kubernetes.io/")
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pod_spec::{Container, ResourceList};

    use super::*;

    /// The texts are those of `podfingerprint` v0.2.2.
    #[test]
    fn fingerprints_are_the_scheduler_plugins() {
        let check = |pods: &[(&str, &str)], expected: &str| {
            assert_eq!(hash(pods.iter().copied()), expected, "{pods:?}");
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

    #[test]
    fn a_pod_without_a_name_has_no_fingerprint() {
        let named = Pod::new("default", "a", vec![]);
        let unnamed = Pod { namespace: String::new(), ..named.clone() };
        let all = FingerprintMethod::All;
        assert_eq!(Fingerprint::of_pods(all, [&named]).unwrap().as_str(), "pfp0v00173ac1f6debaedf3d");
        assert_eq!(Fingerprint::of_pods(all, [&named, &unnamed]), Err(UnnamedPods(1)));
        let exclusive = FingerprintMethod::WithExclusiveResources;
        assert_eq!(Fingerprint::of_pods(exclusive, [&unnamed]).unwrap().as_str(), "pfp0v001ef46db3751d8e999");
    }
}
