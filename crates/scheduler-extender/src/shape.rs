//! What of a pod decides where it fits: everything but what it is called.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;

use pod_spec::{ClaimPlaces, Constraints, Pod, PodUid, Tolerated, Toleration};

/// Pods of one shape get the same verdict on every node.
///
/// Requests, limits, QoS class, host ports and the operating system stay. What kube-scheduler itself checks is left
/// out: names, selectors, affinity and taints of nodes. So is the priority: a kubelet ends other pods for a critical
/// one, and a scheduler that counts on that would bypass its own preemption.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shape(Arc<Pod>);

impl Shape {
    pub(crate) fn of(pod: &Pod) -> Self {
        let Pod { constraints, .. } = pod;
        let tolerates_all = Toleration { values: Tolerated::Exists, ..Toleration::default() };
        Self(Arc::new(Pod {
            uid: PodUid::new(""),
            namespace: String::new(),
            name: String::new(),
            constraints: Constraints {
                os_label: constraints.os_label.clone(),
                os: constraints.os.clone(),
                host_ports: constraints.host_ports.clone(),
                supplemental_groups: constraints.supplemental_groups,
                wishes: constraints.wishes.clone(),
                tolerations: vec![tolerates_all],
                ..Constraints::default()
            },
            ..pod.clone()
        }))
    }

    /// The same of a pod whose claims have devices at these places.
    pub(crate) fn placed(&self, places: &ClaimPlaces) -> Self {
        let mut pod = Pod::clone(&self.0);
        pod.constraints.claim_places.known.clone_from(&places.known);
        Self(Arc::new(pod))
    }

    pub(crate) fn pod(&self) -> &Pod {
        &self.0
    }

    /// The pod as one of several that run beside each other.
    pub(crate) fn numbered(&self, number: usize) -> Pod {
        Pod { uid: PodUid::new(&format!("#{number}")), ..Pod::clone(&self.0) }
    }
}
