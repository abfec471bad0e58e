//! What faults are about: pods, and what they hold.

use std::collections::BTreeSet;
use std::fmt;

use cpuset::CpuSet;
use device_manager::DeviceId;
use kubelet_checkpoint::store::StateFile;
use memory_manager::StoredBlock;
use pod_spec::{PodUid, ResourceName};

use crate::words;

/// A pod with the name by which people know it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NamedPod {
    /// The UID, by which state files know it.
    pub uid: PodUid,
    /// `NAMESPACE/NAME`, or `pod UID` where the name is unknown.
    pub name: String,
}

impl fmt::Display for NamedPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Which CPUs of a pod as a whole are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WholeShare {
    /// All; the containers hold them too.
    OfContainers,
    /// Those that no container holds.
    BesideContainers,
}

impl fmt::Display for WholeShare {
    /// The end of a sentence about the CPUs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::BesideContainers { ", beside those of its containers" } else { "" })
    }
}

/// What a state file is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Exclusive CPUs.
    Cpus,
    /// Memory and huge pages.
    Memory,
    /// Devices of plugins.
    Devices,
}

impl From<StateFile> for Kind {
    fn from(file: StateFile) -> Self {
        match file {
            StateFile::Cpu => Self::Cpus,
            StateFile::Memory => Self::Memory,
            StateFile::Device => Self::Devices,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpus => "CPUs",
            Self::Memory => "memory",
            Self::Devices => "devices",
        })
    }
}

/// What a pod holds by one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holding {
    /// Exclusive CPUs.
    Cpus(CpuSet),
    /// Memory and huge pages.
    Memory(Vec<StoredBlock>),
    /// Devices of plugins.
    Devices(BTreeSet<(ResourceName, DeviceId)>),
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpus(cpus) if cpus.is_empty() => f.write_str("no exclusive CPUs"),
            Self::Memory(blocks) if blocks.is_empty() => f.write_str("no memory"),
            Self::Devices(devices) if devices.is_empty() => f.write_str("no devices"),
            Self::Cpus(cpus) => f.write_str(&words::cpus(cpus)),
            Self::Memory(blocks) => f.write_str(&words::list(blocks.iter().map(words::block))),
            Self::Devices(devices) => f.write_str(&words::devices(devices)),
        }
    }
}
