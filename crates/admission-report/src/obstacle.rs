//! What keeps a pod off a node. The kubelet says only that a pod does not fit; these are the reasons behind it.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use cpu_manager::WholeCoresError;
use device_manager::OverBudget;
use k8s_quantity::Amount;
use topology_admission::{NotLinked, Rules, Shortage};
use topology_policy::{KubeletPolicy, MergeError};

use crate::grouped::{GroupedMemory, HeldBackMemory};
use crate::handed_on::HandedOnCpus;
use crate::lacks::Lacks;
use crate::links::not_linked;
use crate::parts_of_bytes::PartsOfBytes;
use crate::resource::Resource;
use crate::unread_bytes::UnreadBytes;
use crate::unsuited::Unsuited;
use crate::words::{joined, verb};

/// One reason why a pod does not fit. Shown as a clause without a full stop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// The merge has no exact answer.
    MergeFailed(MergeError),
    /// The requests of all pods together exceed what the node has.
    NodeFull(Shortage),
    /// All NUMA nodes together have too little.
    MachineLacks(MachineLack),
    /// Policy `single-numa-node`, and no node has all of it.
    NoSingleNode(Lacks),
    /// The same where no node would have it if nothing ran.
    NoSingleEmptyNode(Lacks),
    /// Some resources are free only on more nodes than they would need on an empty machine.
    WiderSets {
        /// The policy that refuses that.
        policy: KubeletPolicy,
        /// The resources; at least one.
        resources: Vec<WiderSet>,
    },
    /// Each resource has node sets that it prefers, of different sizes.
    DifferentSizes {
        /// The policy that refuses that.
        policy: KubeletPolicy,
        /// The sizes; at least two.
        sizes: Vec<SetSize>,
    },
    /// No node has all of it, under another policy than `single-numa-node`.
    NotTogether(Lacks),
    /// CPUs that init containers of the pod left are elsewhere than other CPUs that are free.
    HandedOn(HandedOnCpus),
    /// An annotation of the pod is wrong, or not allowed; without it these rules of the node apply.
    PodPolicy(Rules),
    /// Devices have to be on one link, and cannot be.
    NotLinked(Box<NotLinked>),
    /// The node is not what the pod demands besides resources.
    Unsuited(Unsuited),
    /// Whole cores are required.
    WholeCores(WholeCoresError),
    /// Memory is free where it cannot be allocated.
    HeldBackMemory(HeldBackMemory),
    /// The same where a group of nodes is only part of the reason.
    GroupedMemory(GroupedMemory),
    /// An amount of bytes is written in thousandths.
    PartsOfBytes(PartsOfBytes),
    /// An amount of bytes is written in a form that is not read.
    UnreadBytes(UnreadBytes),
    /// Pods hold devices of a resource of which no plugin has registered.
    UnknownDevices {
        /// Which resource.
        resource: Resource,
        /// [`UserAdvice::no_plugin`](crate::UserAdvice).
        advice: &'static str,
    },
    /// Device plugins that were there are gone.
    PluginsGone(Vec<Resource>),
    /// No device of these resources is healthy, though their plugins may be there.
    NoneHealthy(Vec<Resource>),
    /// A device plugin lists more devices than there is room for.
    ListRefused {
        /// Its resource.
        resource: Resource,
        /// By what the list exceeds the room.
        excess: OverBudget,
    },
}

/// A resource of which all NUMA nodes together have too little.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineLack {
    /// Which.
    pub resource: Resource,
    /// What the unit asks for: CPUs, bytes or devices.
    pub asked: u64,
    /// What is free.
    pub free: u64,
    /// What there would be if nothing ran.
    pub allocatable: u64,
    /// [`UserAdvice::no_huge_pages`](crate::UserAdvice); shown where there are no huge pages.
    pub advice: &'static str,
}

/// A resource that needs more nodes now than on an empty machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WiderSet {
    /// Which.
    pub resource: Resource,
    /// How many nodes it needs now.
    pub needed: u32,
    /// How many would do if nothing were held or reserved.
    pub preferred: u32,
}

/// How many nodes a resource prefers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetSize {
    /// Which resource.
    pub resource: Resource,
    /// How many nodes.
    pub nodes: u32,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MergeFailed(error) => error.fmt(f),
            Self::NodeFull(shortage) => node_full(shortage, f),
            Self::MachineLacks(lack) => lack.fmt(f),
            Self::NoSingleNode(lacks) => {
                write!(f, "single-numa-node wants all of it on one NUMA node, and none has that: {lacks}")
            }
            Self::NoSingleEmptyNode(lacks) => write!(
                f,
                "single-numa-node wants all of it on one NUMA node, and none has that even if nothing runs: {lacks}"
            ),
            Self::WiderSets { policy, resources } => write!(
                f,
                "{} wants nothing wider than it has to be: {}",
                policy.name(),
                joined(resources, " and ")
            ),
            Self::DifferentSizes { policy, sizes } => write!(
                f,
                "{} wants each resource on as few NUMA nodes as can be, and all on the same, but these numbers differ: {}",
                policy.name(),
                joined(sizes, ", ")
            ),
            Self::NotTogether(lacks) => write!(f, "no NUMA node has all of it: {lacks}"),
            Self::HandedOn(cpus) => cpus.fmt(f),
            Self::WholeCores(error) => whole_cores(error, f),
            Self::PodPolicy(Rules { policy, scope }) => write!(
                f,
                "an annotation of the pod asks for what this node does not allow; correct it, or leave it out: then {}, \
                 scope {} apply, as the node has them",
                policy.name(),
                scope.name()
            ),
            Self::NotLinked(why) => not_linked(why, f),
            Self::Unsuited(unsuited) => unsuited.fmt(f),
            Self::HeldBackMemory(memory) => memory.fmt(f),
            Self::GroupedMemory(memory) => memory.fmt(f),
            Self::PartsOfBytes(parts) => parts.fmt(f),
            Self::UnreadBytes(bytes) => bytes.fmt(f),
            Self::UnknownDevices { resource, advice } => write!(
                f,
                "pods hold {resource}, and which devices of it the node has is not known: no device plugin of it has registered{advice}"
            ),
            Self::PluginsGone(resources) => {
                let (plugins, are) =
                    (verb(resources.len(), "plugin", "plugins"), verb(resources.len(), "is", "are"));
                write!(
                    f,
                    "the device {plugins} of {} {are} gone, and no device of it can be allocated until a plugin registers again: \
                     waiting for the plugin helps",
                    joined(resources, " and ")
                )
            }
            Self::NoneHealthy(resources) => write!(
                f,
                "no device of {} is healthy, and none can be allocated until a plugin lists a healthy one: waiting for that \
                 helps",
                joined(resources, " and ")
            ),
            Self::ListRefused { resource, excess } => write!(
                f,
                "the device plugin of {resource} lists {excess}: its list counts as empty until it lists fewer"
            ),
        }
    }
}

impl MachineLack {
    /// Whether there is too little.
    pub(crate) const fn is_one(&self) -> bool {
        self.allocatable == 0 || self.allocatable < self.asked || self.free < self.asked
    }
}

impl fmt::Display for MachineLack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, advice, .. } = self;
        let [asked, free, all] = resource.compared([self.asked, self.free, self.allocatable]);
        match resource {
            Resource::HugePages(_) if self.allocatable == 0 => {
                write!(f, "no NUMA node has {resource}{advice}")
            }
            _ if self.allocatable == 0 => write!(f, "no NUMA node has {resource} for pods"),
            _ if self.allocatable < self.asked => {
                write!(f, "all NUMA nodes together have {}, and it asks for {asked}", resource.counted(&all))
            }
            _ => write!(
                f,
                "all NUMA nodes together have {free} of {} left, and it asks for {asked}",
                resource.counted(&all)
            ),
        }
    }
}

impl fmt::Display for WiderSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, needed, preferred } = self;
        write!(
            f,
            "{resource} needs {needed} NUMA nodes, where {preferred} would do if nothing were held or reserved"
        )
    }
}

impl fmt::Display for SetSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource, self.nodes)
    }
}

fn whole_cores(error: &WholeCoresError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        WholeCoresError::NotMultiple { requested, per_core } => write!(
            f,
            "option full-pcpus-only gives out whole cores of {per_core} CPUs, and {requested} CPUs are no whole number of them"
        ),
        WholeCoresError::NotEnough { available, requested, per_core } => write!(
            f,
            "option full-pcpus-only gives out whole cores of {per_core} CPUs; {available} CPUs are free on such cores, and it asks for {requested}"
        ),
        error => write!(f, "{error}"),
    }
}

fn node_full(shortage: &Shortage, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Shortage { resource, requested, used, capacity } = shortage;
    if resource.as_str() == "pods" {
        return write!(f, "the configuration's maxPods is {capacity}, and {used} pods run");
    }
    let show = |value: i64| match (resource.as_str(), u64::try_from(value)) {
        ("cpu", Ok(milli)) if milli % 1000 == 0 => (milli / 1000).to_string(),
        ("cpu", _) => alloc::format!("{value}m"),
        ("ephemeral-storage", Ok(bytes)) => Amount::Bytes(bytes).to_string(),
        (_, Ok(value)) => resource.amount(value).to_string(),
        (_, Err(_)) => value.to_string(),
    };
    let (requested, used, capacity): (String, String, String) =
        (show(*requested), show(*used), show(*capacity));
    write!(
        f,
        "pods can use {} of this node in all; others ask for {used}, this one for {requested}",
        Resource::from(resource).counted(&capacity)
    )
}
