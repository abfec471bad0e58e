//! Ways in which a kubelet that has started with a configuration cannot work, with their fields and sentences; `hazards.rs`
//! finds them.

use alloc::string::String;
use core::fmt;

use cpuset::CpuSet;
use k8s_quantity::Quantity;
use kubelet_release::Fault;
use topology_admission::memory_manager::UnevenPages;
use topology_model::NodeId;

use crate::DecidedBy;
use crate::cost::in_words;
use crate::given_out::Unit;
use crate::memory_gap::{MemoryGap, OTHER_MACHINE_STATE};

/// Option of the Topology Manager.
pub(crate) const CLOSEST: &str = "prefer-closest-numa-nodes";
/// Option of the CPU manager.
pub(crate) const STRICT: &str = "strict-cpu-reservation";
/// Option of the CPU manager.
pub(crate) const WHOLE_CORES: &str = "full-pcpus-only";
pub(crate) const CPU_OPTIONS: &str = "cpuManagerPolicyOptions";
pub(crate) const TOPOLOGY_OPTIONS: &str = "topologyManagerPolicyOptions";
pub(crate) const POLICY: &str = "topologyManagerPolicy";
pub(crate) const MEMORY: &str = "memoryManagerPolicy";

/// A way in which a kubelet that has started cannot work.
#[derive(Clone, PartialEq, Debug)]
pub enum Hazard {
    /// The memory manager walks all sets of NUMA nodes for each Guaranteed container.
    SlowMemoryHints {
        /// NUMA nodes of the machine.
        nodes: i32,
        /// For the first container, estimated.
        seconds: f64,
    },
    /// The CPU manager walks all sets of NUMA nodes with CPUs for each Guaranteed container.
    SlowCpuHints {
        /// NUMA nodes with CPUs.
        nodes: i32,
        /// For the first container, estimated.
        seconds: f64,
    },
    /// The policy tries every pair of hints for CPUs and memory.
    SlowMerge {
        /// The Topology Manager's policy.
        policy: String,
        /// NUMA nodes with CPUs.
        with_cpus: i32,
        /// NUMA nodes of the machine.
        nodes: i32,
        /// For the first Guaranteed container, estimated.
        seconds: f64,
    },
    /// The policy tries every combination of hints for CPUs, memory and huge pages.
    SlowMergeOfHugePages {
        /// The Topology Manager's policy.
        policy: String,
        /// NUMA nodes of the machine.
        nodes: i32,
        /// For a Guaranteed container with huge pages, estimated.
        seconds: f64,
    },
    /// A NUMA node id does not fit the kubelet's sets of nodes 0 to 63, which crash on it.
    NodeIdOutOfRange {
        /// The first such id.
        id: NodeId,
        /// Who makes such a set.
        user: HintUser,
    },
    /// `prefer-closest-numa-nodes` looks distances up by node id, and the ids have gaps.
    DistancesById,
    /// More is reserved on a NUMA node than it has.
    ReservedTooMuch {
        /// The amount that is reserved.
        amount: Quantity,
        /// `memory` or `hugepages-*`.
        resource: String,
        /// Where.
        node: i32,
        /// Bytes that the node has of it, beside its huge pages.
        available: u64,
        /// The program that would reserve it.
        target: DecidedBy,
    },
    /// The NUMA nodes do not have the machine's memory, and the kubelet does not restart once they have another part of it.
    MemoryNotAllThere(MemoryGap),
    /// The kubelet can give reserved CPUs to a pod, and does not start again then.
    ReservedGivenOut {
        /// The CPUs of a core or socket that is taken as a whole.
        unit: CpuSet,
        /// Those of them that are reserved.
        reserved: CpuSet,
        /// What it is.
        kind: Unit,
    },
    /// A restart loses the CPUs of pods with pod-level resources, and the kubelet does not start the time after that.
    LosesCpusOfPods,
    /// No ordinary pod is admitted, even on an empty node.
    AdmitsNothing {
        /// The kubelet's reason, such as `TopologyAffinityError`.
        reason: String,
        /// What each pod asks for beside CPUs.
        memory: Quantity,
        /// The field that has to change.
        field: &'static str,
    },
    /// Where pods hold all CPUs that are not reserved, the kubelet does not start again.
    NoRestart {
        /// Its words.
        error: String,
        /// The field that has to change.
        field: &'static str,
    },
    /// Where pods fill the node, their memory is bound over NUMA nodes that do not list the same sizes of huge pages, and the kubelet
    /// crashes when it starts again.
    UnevenGroup(UnevenPages),
    /// Where pods hold all CPUs that are not reserved, the kubelet starts again and refuses pods that run.
    RefusedAtRestart {
        /// Its reason.
        reason: String,
        /// The field that has to change.
        field: &'static str,
    },
}

/// A policy of the kubelet that makes sets of NUMA nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HintUser {
    /// The Topology Manager, under this policy.
    Topology(String),
    /// The memory manager, under policy Static.
    Memory,
}

impl Hazard {
    /// The fault of the kubelet that it comes from; `None`: it is no fault, or none with a page.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::SlowMemoryHints { .. }
            | Self::SlowCpuHints { .. }
            | Self::SlowMerge { .. }
            | Self::SlowMergeOfHugePages { .. } => Some(Fault::MergeProduct),
            Self::NodeIdOutOfRange { .. } => Some(Fault::NodeIds),
            Self::DistancesById => Some(Fault::DistanceIndex),
            Self::ReservedTooMuch { .. } => Some(Fault::WrappedMemory),
            Self::ReservedGivenOut { .. } => Some(Fault::BusySibling),
            Self::LosesCpusOfPods => Some(Fault::PodCpusLost),
            Self::NoRestart { field, .. } if *field == CPU_OPTIONS => Some(Fault::FullNode),
            Self::UnevenGroup(_) => Some(Fault::UnevenGroup),
            Self::RefusedAtRestart { field, .. } if *field == CPU_OPTIONS => Some(Fault::SmtAfterRestart),
            Self::MemoryNotAllThere(_)
            | Self::AdmitsNothing { .. }
            | Self::NoRestart { .. }
            | Self::RefusedAtRestart { .. } => None,
        }
    }

    /// The field that has to change.
    pub(crate) const fn field(&self) -> &'static str {
        match self {
            Self::SlowMemoryHints { .. }
            | Self::SlowMerge { .. }
            | Self::SlowMergeOfHugePages { .. }
            | Self::MemoryNotAllThere(_)
            | Self::UnevenGroup(_)
            | Self::NodeIdOutOfRange { user: HintUser::Memory, .. } => MEMORY,
            Self::SlowCpuHints { .. } | Self::NodeIdOutOfRange { user: HintUser::Topology(_), .. } => POLICY,
            Self::AdmitsNothing { field, .. }
            | Self::NoRestart { field, .. }
            | Self::RefusedAtRestart { field, .. } => field,
            Self::DistancesById => "topologyManagerPolicyOptions",
            Self::ReservedTooMuch { .. } => "reservedMemory",
            Self::ReservedGivenOut { .. } => "reservedSystemCPUs",
            Self::LosesCpusOfPods => "featureGates",
        }
    }
}

impl fmt::Display for Hazard {
    /// A sentence, with the page of the kubelet's fault where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)?;
        self.fault().map_or(Ok(()), |fault| write!(f, " ({})", fault.page()))
    }
}

impl Hazard {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SlowMemoryHints { nodes, seconds } => write!(
                f,
                "the kubelet's memory manager walks all 2^{nodes} sets of the {nodes} NUMA nodes for each Guaranteed container: for the first one that walk {}",
                in_words(*seconds)
            ),
            Self::SlowCpuHints { nodes, seconds } => write!(
                f,
                "with any policy but none the kubelet's CPU manager walks all 2^{nodes} sets of the {nodes} NUMA nodes with CPUs for each Guaranteed container: for the first one that walk {}",
                in_words(*seconds)
            ),
            Self::SlowMerge { policy, with_cpus, nodes, seconds } => write!(
                f,
                "the kubelet's policy {policy} tries every pair of the hints for CPUs ({with_cpus} NUMA nodes) and for memory ({nodes}): for the first Guaranteed container that merge {}",
                in_words(*seconds)
            ),
            Self::SlowMergeOfHugePages { policy, nodes, seconds } => write!(
                f,
                "the kubelet's policy {policy} tries every combination of the hints for CPUs, memory and huge pages on {nodes} NUMA nodes: for a Guaranteed container with huge pages that merge {}",
                in_words(*seconds)
            ),
            Self::NodeIdOutOfRange { id, user } => {
                match user {
                    HintUser::Topology(policy) => write!(f, "policy {policy}"),
                    HintUser::Memory => write!(f, "policy Static"),
                }?;
                write!(
                    f,
                    " crashes the kubelet at the first pod: NUMA node {id} does not fit its sets of nodes 0 to 63"
                )
            }
            Self::DistancesById => write!(
                f,
                "{CLOSEST} crashes the kubelet, or compares wrong distances: it looks distances up by node id, and the ids here have gaps"
            ),
            Self::ReservedTooMuch { amount, resource, node, available, target } => {
                write!(f, "{amount} of {resource} is reserved on NUMA node {node}, which has ")?;
                match available {
                    0 => write!(f, "none"),
                    bytes => write!(f, "{bytes} bytes beside its huge pages"),
                }?;
                f.write_str(match target {
                    DecidedBy::Kubelet => {
                        ": the kubelet's free memory there wraps to about 2^64 bytes, and it prefers that node for every pod"
                    }
                    DecidedBy::Topolet => ": nothing is free there",
                })
            }
            Self::MemoryNotAllThere(gap) => write!(
                f,
                "{gap}: pods get no more than the nodes have, and after each change of a node's total the kubelet does not restart from its memory_manager_state (start memory manager error: {OTHER_MACHINE_STATE}) until the node is drained and the file deleted"
            ),
            Self::ReservedGivenOut { unit, reserved, kind } => {
                let (unit_is, differ) = match kind {
                    Unit::Core => ("core", "cores of this machine differ in their number of threads"),
                    Unit::Socket => ("socket", "sockets of this machine differ in their number of CPUs"),
                };
                let (cpus, are) = if reserved.len() == 1 { ("CPU", "is") } else { ("CPUs", "are") };
                write!(
                    f,
                    "reserved {cpus} {reserved} {are} a part of {unit_is} {unit}, and the {differ}: the kubelet can give all of {unit} to a pod, reserved CPUs among them, and does not start again then"
                )
            }
            Self::LosesCpusOfPods => f.write_str(
                "with gate PodLevelResourceManagers and scope pod a restart of the kubelet gives each pod with pod-level CPUs others and loses the first ones, and the kubelet does not start the time after that",
            ),
            Self::AdmitsNothing { reason, memory, .. } => write!(
                f,
                "no Guaranteed pod of 1 to 8 CPUs and {memory} is ever admitted, even on an empty node: {reason}"
            ),
            Self::NoRestart { error, field } => {
                write!(
                    f,
                    "where Guaranteed pods hold all CPUs that are not reserved, the kubelet does not start again: {error}"
                )?;
                if *field == CPU_OPTIONS {
                    write!(
                        f,
                        ". {STRICT} keeps reserved CPUs out of the shared pool, which must not run empty: leave it out, or keep a pod on the node that requests CPUs and shares them"
                    )?;
                }
                Ok(())
            }
            Self::UnevenGroup(uneven) => {
                write!(f, "where Guaranteed pods fill the node, the kubelet crashes when it starts again: {uneven}")
            }
            Self::RefusedAtRestart { reason, field } => {
                write!(
                    f,
                    "where Guaranteed pods hold all CPUs that are not reserved, the kubelet refuses running pods when it starts again: {reason}"
                )?;
                if *field == CPU_OPTIONS {
                    write!(
                        f,
                        ". Up to kubelet 1.36 {WHOLE_CORES} looks for as many free cores as a running pod holds already: drain the node before its kubelet restarts, or leave the option out"
                    )?;
                }
                Ok(())
            }
        }
    }
}
