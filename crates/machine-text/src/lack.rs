//! What a text does not tell.

use std::fmt;

/// Something of a machine that no output in the text tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Lack {
    /// Which CPUs are threads of one core, and of one package.
    Cores,
    /// Memory of the NUMA nodes.
    Memory,
    /// Distances between NUMA nodes.
    Distances,
    /// Which CPUs share a cache.
    Caches,
    /// Huge pages of the NUMA nodes.
    HugePages,
    /// PCI devices and their NUMA nodes.
    Devices,
    /// What PCI devices are: the numbers of their classes and vendors.
    DeviceNumbers,
    /// NUMA nodes of PCI devices.
    DeviceNodes,
}

impl Lack {
    /// The command that prints it on the machine.
    #[must_use]
    pub const fn printed_by(self) -> &'static str {
        match self {
            Self::Cores | Self::Caches => "lscpu -e",
            Self::Memory | Self::Distances => "numactl -H",
            Self::HugePages => "grep . /sys/devices/system/node/node*/hugepages/*/nr_hugepages",
            Self::Devices => "topolet capture",
            Self::DeviceNumbers | Self::DeviceNodes => "lspci -Dnnv",
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cores => "cores",
            Self::Memory => "memory of NUMA nodes",
            Self::Distances => "distances",
            Self::Caches => "caches",
            Self::HugePages => "huge pages",
            Self::Devices => "PCI devices",
            Self::DeviceNumbers => "numbers of PCI devices' classes and vendors",
            Self::DeviceNodes => "NUMA nodes of PCI devices",
        })
    }
}
