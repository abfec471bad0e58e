//! The pod: what of its manifest decides placement.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;

use crate::{
    Constraints, Container, ContainerKey, ContainerName, Containers, CreationTime, PodUid, QosClass,
    ResourceList, ResourceName,
};

/// A pod: what of its manifest decides placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: PodUid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// Init containers (plain and restartable) in order, then app containers in order: the order in which the
    /// kubelet serves them. Ephemeral containers never take part and are not here.
    pub containers: Containers,
    /// `spec.resources`. `None` is an absent field; present and empty means something else to the QoS class.
    pub resources: Option<PodResources>,
    /// `spec.overhead`.
    pub overhead: ResourceList,
    /// `status.qosClass`, when it is set; else the class is computed.
    pub status_qos: Option<QosClass>,
    /// What it demands of its node besides resources.
    pub constraints: Constraints,
    /// Whether it still runs, or will.
    pub phase: Phase,
    /// `metadata.creationTimestamp`; `None`: it has none, as a static pod or one that no API server has seen.
    pub created: Option<CreationTime>,
}

/// Whether a pod still runs, or will.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// It does; `Pending`, `Running` and `Unknown` in its status.
    #[default]
    Active,
    /// It has succeeded or failed, and holds nothing.
    Ended,
}

/// Requests and limits at pod level.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodResources {
    /// What the pod as a whole is to be given.
    pub requests: ResourceList,
    /// What the pod as a whole may use.
    pub limits: ResourceList,
}

impl Pod {
    /// Whether both are the same but for what they are called.
    #[must_use]
    pub fn asks_the_same(&self, other: &Self) -> bool {
        let Self {
            uid: _,
            namespace: _,
            name: _,
            containers,
            resources,
            overhead,
            status_qos,
            constraints,
            phase,
            created: _,
        } = self;
        *containers == other.containers
            && *resources == other.resources
            && *overhead == other.overhead
            && *status_qos == other.status_qos
            && *constraints == other.constraints
            && *phase == other.phase
    }

    /// A pod of these containers: init containers in order first, then app containers. Its UID is made of namespace
    /// and name, as for a pod that no API server has seen.
    #[must_use]
    pub fn new(namespace: &str, name: &str, containers: Vec<Container>) -> Self {
        Self {
            uid: PodUid::new(&format!("{namespace}_{name}")),
            namespace: namespace.into(),
            name: name.into(),
            containers: containers.into(),
            resources: None,
            overhead: ResourceList::new(),
            status_qos: None,
            constraints: Constraints::default(),
            phase: Phase::Active,
            created: None,
        }
    }

    /// The key of one of the pod's containers.
    #[must_use]
    pub fn key(&self, container: &Container) -> ContainerKey {
        ContainerKey { pod: self.uid.clone(), container: container.name.clone() }
    }

    /// The container of that name.
    #[must_use]
    pub fn container(&self, name: &ContainerName) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == *name)
    }

    /// Whether the container gets CPUs for itself whatever the pod's QoS class.
    #[must_use]
    pub fn has_exclusive_cpus(&self, container: &Container) -> bool {
        self.constraints.exclusive.contains_key(&container.name)
    }

    /// Whether the other pod's manifest differs in its UID, namespace and name at the most.
    #[must_use]
    pub fn is_written_as(&self, other: &Self) -> bool {
        let Self {
            uid: _,
            namespace: _,
            name: _,
            containers,
            resources,
            overhead,
            status_qos,
            constraints,
            phase,
            created: _,
        } = self;
        let are_same = |ours: &Container, theirs: &Container| {
            let Container { name, role, requests, limits } = ours;
            (name, role) == (&theirs.name, &theirs.role)
                && is_same_list(requests, &theirs.requests)
                && is_same_list(limits, &theirs.limits)
        };
        let pod_level = match (resources, &other.resources) {
            (None, None) => true,
            (Some(PodResources { requests, limits }), Some(theirs)) => {
                is_same_list(requests, &theirs.requests) && is_same_list(limits, &theirs.limits)
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        pod_level
            && (status_qos, phase) == (&other.status_qos, &other.phase)
            && *constraints == other.constraints
            && is_same_list(overhead, &other.overhead)
            && containers.len() == other.containers.len()
            && containers.iter().zip(&other.containers).all(|(ours, theirs)| are_same(ours, theirs))
    }

    /// Whether pod-level requests or limits name a resource that may be asked for at pod level.
    #[must_use]
    pub fn has_pod_level_resources(&self) -> bool {
        self.resources.as_ref().is_some_and(|resources| {
            resources.requests.keys().chain(resources.limits.keys()).any(ResourceName::is_pod_level)
        })
    }
}

/// Whether the amounts are the same, and written in the same way.
fn is_same_list(ours: &ResourceList, theirs: &ResourceList) -> bool {
    let are_same =
        |((name, amount), (other, theirs)): ((&ResourceName, &Quantity), (&ResourceName, &Quantity))| {
            name == other && amount.is_written_as(theirs)
        };
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(are_same)
}
