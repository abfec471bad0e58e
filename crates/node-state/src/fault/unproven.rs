//! Why nothing proves what pods hold.

use std::fmt;

use cpuset::CpuSet;
use pod_spec::{ContainerName, ResourceName};
use topology_model::NodeId;

use super::{Kind, NamedPod};
use crate::words;

/// Why nothing proves what pods hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unproven {
    /// A part of their entries can be read.
    Cut(Kind, Vec<NamedPod>),
    /// No file has their entries.
    Lost(Kind, Vec<NamedPod>),
    /// Their manifests request some, and there is no entry.
    Unserved(Kind, Vec<NamedPod>),
    /// The shared pool, by which entries are checked, cannot be read.
    SharedPoolLost,
    /// The shared pool has the CPUs of the entry too.
    Shared(NamedPod, CpuSet),
    /// The entry has another number of CPUs than the manifest requests.
    OtherCount(NamedPod),
    /// CPUs are missing from all entries and from the shared pool.
    Gap(CpuSet),
    /// No other file, and no manifest, has this container.
    StrangeContainer(NamedPod, ContainerName),
    /// The blocks that a NUMA node counts are not those of the entries.
    OtherBlocks(NodeId),
    /// The entries do not fit the machine.
    NoFit,
    /// The amount that a NUMA node has booked is not that of the entries.
    OtherAmount(NodeId, ResourceName),
    /// Nothing else lists devices and the answers of plugins.
    Devices(Vec<NamedPod>),
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pods: &[NamedPod]| words::names(pods);
        match self {
            Self::Cut(kind, pods) => {
                write!(f, "only part of the {kind} that {} held can be read", names(pods))
            }
            Self::Lost(kind, pods) => write!(f, "no file records which {kind} {} held", names(pods)),
            Self::Unserved(kind, pods) => {
                let pods = names(pods);
                write!(f, "no entry lists the {kind} of {pods}, and their manifests request some")
            }
            Self::SharedPoolLost => {
                f.write_str("the shared pool cannot be read, so nothing confirms who holds which CPUs")
            }
            Self::Shared(pod, cpus) => {
                write!(f, "{pod} holds {}, which the shared pool has too", words::cpus(cpus))
            }
            Self::OtherCount(pod) => {
                write!(f, "{pod} holds another number of CPUs than its manifest requests")
            }
            Self::Gap(cpus) => {
                write!(f, "no entry and no pool has {}, so one of the entries is wrong", words::cpus(cpus))
            }
            Self::StrangeContainer(pod, container) => {
                write!(f, "no other file lists a container {container} of {pod}")
            }
            Self::OtherBlocks(node) => write!(
                f,
                "the number of blocks on NUMA {node} is not that of the entries, so one of the entries is wrong"
            ),
            Self::NoFit => f.write_str("the entries do not fit this machine, so one of them is wrong"),
            Self::OtherAmount(node, resource) => write!(
                f,
                "the {resource} booked on NUMA {node} is not that of the entries, so one of the entries is wrong"
            ),
            Self::Devices(pods) => {
                let pods = names(pods);
                write!(f, "nothing confirms which devices {pods} hold, and what the plugins answered")
            }
        }
    }
}
