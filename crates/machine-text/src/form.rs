//! The outputs that are read, and those that are only recognised.

use std::fmt;

/// An output that tells a machine, or a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Form {
    /// `lscpu -e` or `-p`: a row for each CPU.
    LscpuTable,
    /// `lscpu`: counts.
    Lscpu,
    /// `numactl --hardware`.
    Numactl,
    /// `/proc/meminfo`, or that of NUMA nodes.
    Meminfo,
    /// The drawing of `lstopo` or `lstopo-no-graphics` as text.
    Lstopo,
    /// The XML of `lstopo` or hwloc.
    HwlocXml,
    /// `virsh capabilities`.
    LibvirtCapabilities,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LscpuTable => "lscpu's table",
            Self::Lscpu => "lscpu",
            Self::Numactl => "numactl --hardware",
            Self::Meminfo => "meminfo",
            Self::Lstopo => "lstopo",
            Self::HwlocXml => "hwloc's XML",
            Self::LibvirtCapabilities => "virsh capabilities",
        })
    }
}

/// An output that people give in place of a [`Form`]. It is recognised for the error; no machine is made of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OtherForm {
    /// `nvidia-smi topo --matrix`.
    NvidiaTopology,
    /// `lspci`.
    Lspci,
    /// `free`.
    Free,
    /// `dmidecode`.
    Dmidecode,
    /// `/proc/cpuinfo`.
    Cpuinfo,
    /// A processor or system of Redfish.
    Redfish,
    /// A domain of libvirt.
    LibvirtDomain,
    /// A Kubernetes object.
    Object,
}

impl OtherForm {
    /// Recognises it by what only it has.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let has = |part: &str| text.contains(part);
        let starts = |part: &str| text.lines().any(|line| line.trim_start().starts_with(part));
        Some(match () {
            () if has("CPU Affinity") && has("GPU0") => Self::NvidiaTopology,
            () if has("\"@odata.") => Self::Redfish,
            () if starts("<domain") || has("<domain type=") => Self::LibvirtDomain,
            () if starts("apiVersion:") || has("\"apiVersion\"") => Self::Object,
            () if has("SMBIOS") && has("Handle 0x") => Self::Dmidecode,
            () if starts("processor\t:") || starts("processor :") => Self::Cpuinfo,
            () if starts("Mem:") && has("buff/cache") => Self::Free,
            () if text.lines().any(is_lspci) => Self::Lspci,
            () => return None,
        })
    }
}

/// `3b:00.0 Ethernet controller: ...`, with or without a domain.
fn is_lspci(line: &str) -> bool {
    let address = line.split(' ').next().unwrap_or_default();
    let parts: Vec<&str> = address.split([':', '.']).collect();
    let is_hex = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts.len(), 3 | 4) && address.contains('.') && parts.iter().all(is_hex)
}

impl fmt::Display for OtherForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NvidiaTopology => "the matrix of nvidia-smi, which lists GPUs and no cores",
            Self::Lspci => "a list of lspci, which has no CPUs",
            Self::Free => "the output of free, which has no CPUs",
            Self::Dmidecode => "the output of dmidecode, which has no NUMA nodes",
            Self::Cpuinfo => "/proc/cpuinfo, which has no NUMA nodes",
            Self::Redfish => "an answer of Redfish, which has no NUMA nodes",
            Self::LibvirtDomain => "a domain of libvirt, which is no host",
            Self::Object => "an object of Kubernetes",
        })
    }
}
