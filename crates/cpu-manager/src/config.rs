//! What an administrator decides about CPUs.

use cpuset::CpuSet;
use k8s_quantity::{Quantity, Sign};
use kubelet_release::{AlignedShare, Rules, WholeCoreCheck};
use node_config::{CacheAlignment, Fit};
use pod_spec::PodLevel;
use thiserror::Error;

/// Everything that a [`Static`](crate::Static) is made from besides the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The policy options.
    pub options: Options,
    /// CPUs that no container gets for itself.
    pub reserved: Reserved,
    /// What resources at pod level mean.
    pub pod_level: PodLevel,
    /// What is done on machines whose cores are not alike.
    pub busy_sibling: BusySibling,
    /// What becomes of the CPUs of a pod that is served as a whole and fails, or is served again.
    pub pod_bubble: PodBubble,
    /// Whether a node of which every CPU is held can start again.
    pub full_node: FullNode,
    /// Whether a container may be spread over more last-level caches than it needs.
    pub cache_alignment: CacheAlignment,
    /// Which CPUs of a NUMA node a container gets.
    pub fit: Fit,
    /// How much each node gives with [`Order::AcrossNodes`] and [`Alignment::BySocket`].
    pub aligned_share: AlignedShare,
    /// Whether a container that has CPUs is asked for whole cores once more.
    pub whole_core_check: WholeCoreCheck,
    /// Whether the CPUs are remembered with which containers were admitted.
    pub baselines: Baselines,
}

impl Default for Config {
    /// The rules of the default release.
    fn default() -> Self {
        let Rules { aligned_share, whole_core_check, .. } = Rules::default();
        Self {
            options: Options::default(),
            reserved: Reserved::default(),
            pod_level: PodLevel::default(),
            busy_sibling: BusySibling::default(),
            pod_bubble: PodBubble::default(),
            full_node: FullNode::default(),
            cache_alignment: CacheAlignment::default(),
            fit: Fit::default(),
            aligned_share,
            whole_core_check,
            baselines: Baselines::default(),
        }
    }
}

/// Whether the CPUs are remembered with which containers were admitted, as a kubelet from v1.37 on does with feature
/// gate `InPlacePodVerticalScalingExclusiveCPUs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Baselines {
    /// They are not.
    #[default]
    Forgotten,
    /// They are, until the container is released.
    Kept,
}

/// The static policy's options. Three of the four pairs that exclude each other cannot be written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// In which order CPUs are taken.
    pub order: Order,
    /// `full-pcpus-only`.
    pub whole_cores: WholeCores,
    /// `strict-cpu-reservation`: [`ReservedCpus::SystemOnly`].
    pub reserved: ReservedCpus,
    /// `align-by-socket`.
    pub alignment: Alignment,
}

/// In which order CPUs are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Whole nodes, sockets and cores first, and the fullest units before emptier ones.
    #[default]
    Packed,
    /// `prefer-align-cpus-by-uncorecache`: packed, and before cores are taken one by one, inside one last-level
    /// cache where they fit.
    ByCache,
    /// `distribute-cpus-across-cores`: packed, but instead of whole cores CPUs in ascending order in each socket.
    AcrossCores,
    /// `distribute-cpus-across-numa`: equal shares of as few NUMA nodes as can give them; packed in each.
    AcrossNodes,
}

/// Whether a container is given whole cores or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WholeCores {
    /// Cores may be shared with others.
    #[default]
    NotRequired,
    /// A request that is no multiple of the threads of a core is refused.
    Required,
}

/// Who may use reserved CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReservedCpus {
    /// The system, and containers without exclusive CPUs: the shared pool has the reserved CPUs.
    #[default]
    InSharedPool,
    /// The system alone: the shared pool begins as all CPUs but the reserved ones (`strict-cpu-reservation`).
    SystemOnly,
}

/// Near which CPUs a container's CPUs should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Alignment {
    /// Those of the NUMA nodes that were merged.
    #[default]
    ByNode,
    /// Those of the sockets of these nodes; node sets that fill a socket are preferred too.
    BySocket,
}

/// What is done where the average of threads per core hides that a sibling is busy: on hybrid machines, or with
/// some siblings offline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BusySibling {
    /// The whole core is handed out, the CPU that belongs to another container or to the system included. Where a
    /// unit is counted twice, fewer CPUs than asked for are handed out. As in the kubelet.
    HandOut,
    /// A CPU that is not free is never handed out, and a request is met in full or not at all.
    #[default]
    Skip,
}

/// What becomes of the CPUs that a pod holds as a whole when one of its containers cannot be served from them, or when
/// it is served once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodBubble {
    /// They are lost until the node is drained, as in the kubelet: a failed pod keeps them and is never collected,
    /// a second allocation overwrites the first.
    Lose,
    /// A failed pod holds nothing, a pod that is served already keeps what it has, and the next start returns
    /// CPUs without a holder to the shared pool.
    #[default]
    Find,
}

/// Whether a node can start again when containers hold every CPU, so that the shared pool is empty: possible where
/// reserved CPUs are for the system alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FullNode {
    /// It cannot, as in the kubelet.
    Refuse,
    /// It can, if the CPUs are all accounted for.
    #[default]
    Start,
}

/// CPUs that are kept for the system.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reserved {
    /// Which. Empty: the policy chooses `count` of them.
    pub explicit: CpuSet,
    /// How many.
    pub count: usize,
}

/// Why nothing can be reserved. The texts are the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ReservationError {
    /// No amount is configured.
    #[error("[cpumanager] unable to determine reserved CPU resources for static policy")]
    Missing,
    /// The amount is zero (or less).
    #[error(
        "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
    )]
    Zero,
}

impl Reserved {
    /// Exactly these CPUs.
    #[must_use]
    pub fn cpus(explicit: CpuSet) -> Self {
        Self { count: explicit.len(), explicit }
    }

    /// As many, chosen by the policy: those that it would give to the first container.
    #[must_use]
    pub const fn count(count: usize) -> Self {
        Self { explicit: CpuSet::new(), count }
    }

    /// From the configuration: `explicit` is `reservedSystemCPUs` (may be empty), `amount` is kube-reserved plus
    /// system-reserved, rounded up to thousandths and then to whole CPUs.
    pub fn configured(explicit: CpuSet, amount: Option<&Quantity>) -> Result<Self, ReservationError> {
        let amount = amount.ok_or(ReservationError::Missing)?;
        if amount.sign() != Sign::Positive {
            return Err(ReservationError::Zero);
        }
        let count = usize::try_from(amount.milli_value()).unwrap_or(0).div_ceil(1000);
        Ok(Self { explicit, count })
    }
}
