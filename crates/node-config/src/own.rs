//! Options of this project's own, which change an answer of the kubelet's by taste. All are off by default.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use k8s_quantity::Quantity;

use crate::{DeviceLinks, PodPolicy};

/// What the file of `--topolet-config` says; the default is the kubelet's way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnOptions {
    /// `cpu.cacheAlignment`.
    pub cache_alignment: CacheAlignment,
    /// `memory.nodes`.
    pub memory_nodes: MemoryNodes,
    /// `memory.regroup`.
    pub regroup: Regroup,
    /// `memory.drift`.
    pub drift: Drift,
    /// `placement`.
    pub placement: Placement,
    /// `podPolicy`.
    pub pod_policy: PodPolicy,
    /// `devices.links`, and what belongs to it.
    pub device_links: DeviceLinks,
    /// `devices.claims`: whether CPUs and memory follow the devices of resource claims.
    pub claim_hints: ClaimHints,
    /// `devices.deferSeconds`: how long pods wait for a device plugin that is not back yet. Zero: they are refused at once, as
    /// by the kubelet. At most [`OwnOptions::MOST_DEFERRED`].
    pub defer: Duration,
    /// `cgroup.partition`.
    pub partition: CpuPartition,
    /// `cgroup.interrupts`: what is done with interrupts on the CPUs of partitions.
    pub interrupts: CpuInterrupts,
    /// `cpu.resize`: whether pods whose containers have exclusive CPUs can be given other amounts of CPU.
    pub cpu_resize: Resize,
    /// `memory.resize`: whether pods whose memory is booked can be given other amounts of memory.
    pub memory_resize: Resize,
}

impl OwnOptions {
    /// The longest `devices.deferSeconds`: after five minutes the kubelet forgets a resource whose plugin is gone, and does not
    /// check requests for it any more.
    pub const MOST_DEFERRED: Duration = Duration::from_mins(4);
}

/// Which of the node sets that the topology policy ranks equal a unit gets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// `placement.strategy`.
    pub strategy: Strategy,
    /// `placement.weights`: what each resource counts for `most-allocated` and `least-allocated`. Empty: 1 for `cpu` and
    /// `memory`, 0 for all else.
    pub weights: BTreeMap<String, u32>,
    /// `placement.mix`: the units for which `keep-room` keeps room. Empty: those that hold something on the node.
    pub mix: Vec<MixUnit>,
}

/// A kind of unit that is asked for on a node: a container, or a pod under scope `pod`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MixUnit {
    /// `count`: how often it is asked for, against the other kinds. Above 0.
    pub count: u32,
    /// `requests`: whole CPUs, bytes and devices, by resource.
    pub requests: BTreeMap<String, Quantity>,
}

/// What decides between node sets that the topology policy ranks equal, before the lower number does. `most-allocated` and
/// `least-allocated` are the terms of KEP-6007.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// `lowest-number`: nothing, as in the kubelet.
    #[default]
    LowestNumber,
    /// `most-allocated`: the NUMA nodes with the smallest share free.
    MostAllocated,
    /// `least-allocated`: the NUMA nodes with the largest share free.
    LeastAllocated,
    /// `spare-devices`: the NUMA nodes with the smallest share free of devices that the unit does not request.
    SpareDevices,
    /// `keep-room`: the NUMA nodes where it takes away the fewest places of the units that are usually here; on them the CPUs
    /// and devices that leave caches and switches whole.
    KeepRoom,
}

impl Strategy {
    /// All strategies, the kubelet's first.
    pub const ALL: [Self; 5] =
        [Self::LowestNumber, Self::MostAllocated, Self::LeastAllocated, Self::SpareDevices, Self::KeepRoom];

    /// The word for it in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LowestNumber => "lowest-number",
            Self::MostAllocated => "most-allocated",
            Self::LeastAllocated => "least-allocated",
            Self::SpareDevices => "spare-devices",
            Self::KeepRoom => "keep-room",
        }
    }

    /// Which CPUs and devices a unit gets on the NUMA nodes that the strategy chose.
    #[must_use]
    pub const fn fit(self) -> Fit {
        match self {
            Self::KeepRoom => Fit::Best,
            Self::LowestNumber | Self::MostAllocated | Self::LeastAllocated | Self::SpareDevices => {
                Fit::First
            }
        }
    }
}

/// Which CPUs and devices of its NUMA nodes a unit gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fit {
    /// The first ones in the kubelet's order.
    #[default]
    First,
    /// Those that leave caches, cores and switches whole: the tightest fit.
    Best,
}

/// Whether the devices of a pod's allocated resource claims take part in the merge of topology hints, so that CPUs and memory
/// follow them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClaimHints {
    /// `ignore`: they give no hints, as in the kubelet.
    #[default]
    Ignore,
    /// `hint`: the NUMA nodes of a container's devices are preferred, and no node set without all of them is accepted. Devices
    /// whose NUMA node is not known give no hint.
    Hint,
}

impl ClaimHints {
    /// Every value, the kubelet's first.
    pub const ALL: [Self; 2] = [Self::Ignore, Self::Hint];

    /// The word for it in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Hint => "hint",
        }
    }
}

/// Whether a container's CPUs may be spread over more last-level caches than they fill, where the kubelet's option
/// `prefer-align-cpus-by-uncorecache` is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CacheAlignment {
    /// `bestEffort`: they may, as in the kubelet, which prefers one cache and takes what there is.
    #[default]
    BestEffort,
    /// `required`: the container is refused instead.
    Required,
}

/// The cpuset partition that a container's exclusive CPUs become.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CpuPartition {
    /// `none`: nothing, as by the kubelet.
    #[default]
    None,
    /// `root`: they are a partition, with a separate scheduling domain.
    Root,
    /// `isolated`: they are a partition without scheduling domains, and the kernel's unbound work stays away.
    Isolated,
}

impl CpuPartition {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::None, Self::Root, Self::Isolated];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Root => "root",
            Self::Isolated => "isolated",
        }
    }
}

/// What is done with interrupts that are served on the CPUs of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CpuInterrupts {
    /// `leave`: they stay, and are counted.
    #[default]
    Leave,
    /// `move`: other CPUs serve them for as long as the partition is there. With a `cgroup.partition` only.
    Move,
}

impl CpuInterrupts {
    /// Every value.
    pub const ALL: [Self; 2] = [Self::Leave, Self::Move];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leave => "leave",
            Self::Move => "move",
        }
    }
}

/// On which NUMA nodes memory is booked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryNodes {
    /// `all`.
    #[default]
    All,
    /// `withCPUs`: memory of accelerators and behind links is left to those who ask for it by other means.
    WithCpus,
}

/// What becomes of a group of NUMA nodes that no running pod needs any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Regroup {
    /// `false`: it stays while any of its containers runs, and other pods are refused for it.
    #[default]
    Never,
    /// `true`: it is dissolved, and memory that is still booked in it moves to one of its nodes.
    WhenUnneeded,
}

/// What is done at a start when memory has changed since the state was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Drift {
    /// `refuse`: the node does not start.
    #[default]
    Refuse,
    /// `absorb`: it starts if nothing that was granted is lost.
    Absorb,
}

/// Whether a pod that runs can have other amounts of what is allocated to it alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resize {
    /// `refuse`: its resize is infeasible, as in the kubelet.
    #[default]
    Refuse,
    /// `allow`: what it holds grows and shrinks with it, and never below what it was admitted with.
    Allow,
}

impl Resize {
    /// The word for it in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Allow => "allow",
        }
    }
}
