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
    /// Files of NUMA nodes, as `grep .` prints them.
    NodeFiles,
    /// The drawing of `lstopo` or `lstopo-no-graphics` as text.
    Lstopo,
    /// The XML of `lstopo` or hwloc.
    HwlocXml,
    /// `virsh capabilities`.
    LibvirtCapabilities,
    /// A domain of libvirt: a virtual machine.
    LibvirtDomain,
    /// A command line of QEMU: a virtual machine.
    Qemu,
    /// The line in which a kubelet logs the CPUs that it found.
    KubeletLog,
    /// A `NodeResourceTopology`.
    NodeResourceTopology,
    /// A `Numatopology` of Volcano.
    Numatopology,
    /// `lspci`.
    Lspci,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LscpuTable => "lscpu's table",
            Self::Lscpu => "lscpu",
            Self::Numactl => "numactl --hardware",
            Self::Meminfo => "meminfo",
            Self::NodeFiles => "files of NUMA nodes",
            Self::Lstopo => "lstopo",
            Self::HwlocXml => "hwloc's XML",
            Self::LibvirtCapabilities => "virsh capabilities",
            Self::LibvirtDomain => "the domain of libvirt",
            Self::Qemu => "QEMU's command line",
            Self::KubeletLog => "the kubelet's log",
            Self::NodeResourceTopology => "NodeResourceTopology",
            Self::Numatopology => "Numatopology",
            Self::Lspci => "lspci",
        })
    }
}

/// An output that people give in place of a [`Form`]. It is recognised for the error; no machine is made of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OtherForm {
    /// `nvidia-smi topo --matrix`.
    NvidiaTopology,
    /// `rocm-smi --showtoponuma`.
    RocmTopology,
    /// `kubectl describe node`.
    DescribedNode,
    /// `virsh nodeinfo`.
    NodeInfo,
    /// `likwid-topology`.
    Likwid,
    /// `sysctl` of macOS or a BSD.
    Sysctl,
    /// `free`.
    Free,
    /// `dmidecode`.
    Dmidecode,
    /// `/proc/cpuinfo`.
    Cpuinfo,
    /// A processor or system of Redfish.
    Redfish,
    /// A Kubernetes object.
    Object,
}

impl OtherForm {
    /// Whether the matrix of `nvidia-smi` is in a text.
    pub(crate) fn is_matrix(text: &str) -> bool {
        text.contains("CPU Affinity") && text.contains("GPU0")
    }

    /// Whether a text has the counts of `virsh nodeinfo`.
    pub(crate) fn is_node_info(text: &str) -> bool {
        text.contains("CPU socket(s):") && text.contains("NUMA cell(s):")
    }

    /// What to give in its place.
    pub(crate) const fn instead(self) -> &'static str {
        match self {
            Self::NvidiaTopology | Self::RocmTopology => {
                "`--devices FILE` takes it, beside a machine from the output of `(lscpu -e; lscpu; numactl -H)` in `--machine`"
            }
            Self::DescribedNode => {
                "`kubectl get node NODE -o yaml` prints what `--node FILE` reads; of the machine expected a file that \
                 `topolet capture FILE.tar.zst` wrote on the node, or the output of `(lscpu -e; lscpu; numactl -H)` there"
            }
            Self::NodeInfo => "`virsh capabilities` lists the CPUs of each NUMA node",
            Self::Sysctl => {
                "kubelets pin CPUs on Linux alone: expected the output of `(lscpu -e; lscpu; numactl -H)` on a node"
            }
            Self::Object => {
                "of objects a NodeResourceTopology or a Numatopology is a machine, and a Node is read by `--node FILE`; expected a \
                 file that `topolet capture FILE.tar.zst` wrote on the node, or the output of `(lscpu -e; lscpu; numactl -H)` there"
            }
            _ => {
                "expected a file that `topolet capture FILE.tar.zst` wrote on the node, or the output of \
                 `(lscpu -e; lscpu; numactl -H)` there"
            }
        }
    }

    /// Recognises it by what only it has.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let has = |part: &str| text.contains(part);
        let starts = |part: &str| text.lines().any(|line| line.trim_start().starts_with(part));
        Some(match () {
            () if Self::is_matrix(text) => Self::NvidiaTopology,
            () if starts("GPU[") && has("Numa Node:") => Self::RocmTopology,
            () if Self::is_node_info(text) => Self::NodeInfo,
            () if starts("Allocatable:") && starts("Kubelet Version:") => Self::DescribedNode,
            () if has("Hardware Thread Topology") && starts("HWThread") => Self::Likwid,
            () if starts("machdep.cpu.") || starts("hw.ncpu") || starts("kern.sched.") => Self::Sysctl,
            () if has("\"@odata.") => Self::Redfish,
            () if starts("apiVersion:") || has("\"apiVersion\"") => Self::Object,
            () if has("Handle 0x") && (has("SMBIOS") || has("DMI type")) => Self::Dmidecode,
            () if starts("processor\t:") || starts("processor :") => Self::Cpuinfo,
            () if starts("Mem:") && has("buff/cache") => Self::Free,
            () => return None,
        })
    }
}

impl fmt::Display for OtherForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NvidiaTopology => "the matrix of nvidia-smi, which lists GPUs and no cores",
            Self::RocmTopology => "the output of rocm-smi, which lists GPUs and no cores",
            Self::DescribedNode => "the output of kubectl describe node, which has amounts and no CPUs",
            Self::NodeInfo => "the output of virsh nodeinfo, which counts CPUs and lists none",
            Self::Likwid => "the output of likwid-topology, which is not read",
            Self::Sysctl => "the output of sysctl, which is not of Linux",
            Self::Free => "the output of free, which has no CPUs",
            Self::Dmidecode => "the output of dmidecode, which has no NUMA nodes",
            Self::Cpuinfo => "/proc/cpuinfo, which has no NUMA nodes",
            Self::Redfish => "an answer of Redfish, which has no NUMA nodes",
            Self::Object => "an object of Kubernetes",
        })
    }
}
