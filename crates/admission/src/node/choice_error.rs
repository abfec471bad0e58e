//! Why an annotation by which a pod chooses its rules refuses the pod.

use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use pod_spec::{ContainerName, Wishes};
use thiserror::Error;

/// An annotation that refuses its pod.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// There is no such annotation.
    #[error("annotation {prefix}{name} ({value:?}) is unknown: there are policy, scope, cpu and move", prefix = Wishes::PREFIX)]
    Unknown {
        /// Its name, without the prefix.
        name: String,
        /// Its value.
        value: String,
    },
    /// Its value is not allowed, or is none.
    #[error("annotation {prefix}{name} is {value:?}, and {}", permitted(.name, .allowed), prefix = Wishes::PREFIX)]
    NotAllowed {
        /// Its name, without the prefix.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be here; empty: it may not be there.
        allowed: Vec<&'static str>,
    },
    /// It names a container that the pod lacks.
    #[error("annotation {prefix}cpu is {value:?}, and the pod has no container {container:?}", prefix = Wishes::PREFIX)]
    NoContainer {
        /// Its value.
        value: String,
        /// What it names.
        container: String,
    },
    /// A container whose CPU limit is no whole number of CPUs.
    #[error(
        "annotation {prefix}cpu is {value:?}, and {}: it has to be a whole number of CPUs", cpu_limit(.container, .limit.as_ref()),
        prefix = Wishes::PREFIX
    )]
    NotWhole {
        /// Its value.
        value: String,
        /// The container.
        container: ContainerName,
        /// Its CPU limit; `None`: it has none.
        limit: Option<Quantity>,
    },
    /// The pod's CPUs are its own as a whole, so containers cannot be given some.
    #[error("annotation {prefix}cpu is {value:?}, and the pod has resources at pod level: it is for containers without them", prefix = Wishes::PREFIX)]
    PodLevel {
        /// Its value.
        value: String,
    },
    /// No CPU manager gives exclusive CPUs.
    #[error("annotation {prefix}cpu is {value:?}, and the node's cpuManagerPolicy is none: exclusive CPUs need static", prefix = Wishes::PREFIX)]
    NoCpuManager {
        /// Its value.
        value: String,
    },
}

fn permitted(name: &str, allowed: &[&str]) -> String {
    match allowed {
        [] => alloc::format!("podPolicy.allow of this node has no {name}"),
        values => alloc::format!(
            "podPolicy.allow of this node has {name}={}",
            values.join(&alloc::format!(", {name}="))
        ),
    }
}

fn cpu_limit(container: &ContainerName, limit: Option<&Quantity>) -> String {
    match limit {
        Some(limit) => alloc::format!("the CPU limit of container {container} is {limit}"),
        None => alloc::format!("container {container} has no CPU limit"),
    }
}
