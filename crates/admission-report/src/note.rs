//! What the owner of a pod may not expect: above all what an admitted pod was *not* given, which Kubernetes
//! does not report.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use cpu_manager::NotPinned;
use cpuset::CpuSet;
use k8s_quantity::Quantity;
use kubelet_release::Fault;
use pod_spec::{ContainerName, QosClass, ResourceName, UnknownPlace};
use serde::{Serialize, Serializer};
use topology_admission::KubeletAgain;
use topology_model::NodeIds;

use crate::chosen::{ChosenRules, kubelet_again};
use crate::claim_alignment::{self, ContainerClaim, WhyElsewhere};
use crate::claim_remedy::ClaimRemedy;
use crate::claims::UndecidedClaims;
use crate::facts::NamedPod;
use crate::grouped::GroupedMemory;
use crate::json;
use crate::notice::Severity;
use crate::parts_of_bytes::PartsOfBytes;
use crate::placed_beside::{BesideHint, FewPages, few_pages, part_of_core};
use crate::resource::Resource;
use crate::unchecked::why_unchecked;
use crate::words::{joined, verb};

/// A remark on a pod, or on some of its containers.
#[derive(Clone, Debug)]
pub struct Note {
    /// The containers; empty: the pod as a whole.
    pub containers: Vec<ContainerName>,
    /// What is remarked.
    pub remark: Remark,
}

/// One remark; shown as a sentence without a full stop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Remark {
    /// The pod is critical, and the node ends these pods for it.
    Preemption(Vec<NamedPod>),
    /// Memory of other pods moves first.
    MemoryMoves(Vec<MemoryMove>),
    /// The pod's annotations choose some of its rules.
    ChosenRules {
        /// The rules.
        rules: ChosenRules,
        /// What a kubelet makes of the pod that starts from the node's files; `None`: not known.
        kubelet: Option<KubeletAgain>,
    },
    /// The search for the best NUMA nodes ended before it had seen all.
    SearchCut,
    /// The merged hint is not preferred.
    NotAligned {
        /// Its nodes; `None`: any.
        nodes: Option<NodeIds>,
        /// Nodes with enough memory that do not give it alone.
        grouped_memory: Option<GroupedMemory>,
    },
    /// Devices of these resources belong together, and are on several links.
    NotLinked(Vec<Resource>),
    /// The containers share CPUs.
    NotPinned {
        /// Why.
        reason: SharingReason,
        /// The CPUs; `None`: all CPUs.
        shared_pool: Option<CpuSet>,
        /// Huge pages that the containers ask for and that the memory manager does not bind to NUMA nodes.
        unbound: Vec<ResourceName>,
    },
    /// The pod is admitted without these resources, of which no device plugin is known.
    AdmittedUnchecked {
        /// Which; at least one.
        resources: Vec<ResourceName>,
        /// [`UserAdvice::unchecked`](crate::UserAdvice).
        advice: &'static str,
    },
    /// The pod is refused, and these resources were not checked.
    RefusedUnchecked {
        /// Which; at least one.
        resources: Vec<ResourceName>,
        /// [`UserAdvice::unchecked`](crate::UserAdvice).
        advice: &'static str,
    },
    /// The pod is refused, and its claims of devices were not decided on.
    ClaimsUndecided(UndecidedClaims),
    /// CPUs are on other NUMA nodes than those of the merged hint.
    CpusBesideHint {
        /// The nodes of the hint.
        hint: NodeIds,
        /// Those of the CPUs.
        cpus: NodeIds,
        /// Why.
        why: BesideHint,
    },
    /// It holds some CPUs of cores, and its pod does not hold the rest.
    PartOfCore {
        /// Its CPUs of these cores.
        part: CpuSet,
        /// The rest.
        rest: CpuSet,
    },
    /// Huge pages are bound to no NUMA node, and the nodes of its CPUs have too few.
    FewPages(Vec<FewPages>),
    /// A claim has a driver give it CPUs, and the CPU manager gives CPUs too.
    ClaimOfCpus {
        /// Its name in the pod.
        claim: String,
        /// Its device class.
        class: String,
    },
    /// Devices of a claim lie on other NUMA nodes than the containers' CPUs and memory.
    ClaimElsewhere {
        /// The claim.
        claim: ContainerClaim,
        /// Why that can be.
        why: WhyElsewhere,
    },
    /// Changes that would align claims were tried for earlier pods, and are not for this and later ones.
    ChangesNotTried {
        /// For how many pods they were tried.
        after: usize,
    },
    /// Whether devices of a claim lie where the containers' CPUs and memory are is not known.
    ClaimUnknown(ContainerClaim),
    /// Devices of a claim give no hint to CPUs and memory, which follow those of other claims here.
    NoClaimHint(UnknownPlace),
    /// Amounts of bytes that are written in thousandths: `400m` for `400Mi`.
    PartsOfBytes(PartsOfBytes),
    /// A fault of the kubelet that affects the pod.
    Fault {
        /// The fault.
        fault: Fault,
        /// Its cause on this node or in this pod, as the beginning of a sentence.
        because: String,
    },
    /// Device plugins would have to be asked, and were not.
    PluginsNotAsked,
    /// The requests of running pods are not known, so whether all fit the node was not evaluated.
    RequestsUnknown,
}

/// A container whose memory moves to one NUMA node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryMove {
    /// The container.
    pub container: ContainerName,
    /// Its pod.
    pub pod: NamedPod,
    /// Where its memory was.
    pub from: NodeIds,
    /// Where it goes; one node.
    pub to: NodeIds,
}

/// Why a container has no exclusive CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SharingReason {
    /// The CPU manager's policy is `none`.
    NoPolicy,
    /// The pod is not Guaranteed.
    NotGuaranteed {
        /// Its class.
        class: QosClass,
        /// What keeps it from Guaranteed, in words; `None` if nothing in its manifest does.
        obstacle: Option<String>,
    },
    /// It asks for part of a CPU.
    FractionalCpu {
        /// What it asks for; `None`: not known.
        asked: Option<Quantity>,
    },
    /// Another reason of the CPU manager.
    Manager(NotPinned),
}

impl Note {
    /// On the pod as a whole.
    #[must_use]
    pub const fn on_pod(remark: Remark) -> Self {
        Self { containers: Vec::new(), remark }
    }

    /// Changes that were tried and end what is remarked, of a claim that lies elsewhere than CPUs and memory.
    #[must_use]
    pub fn would_align(&self) -> &[ClaimRemedy] {
        match &self.remark {
            Remark::ClaimElsewhere { claim, .. } => claim.would_align.as_deref().unwrap_or_default(),
            _ => &[],
        }
    }

    /// How much it matters.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self.remark {
            Remark::ChosenRules { kubelet: Some(KubeletAgain::Refuses(_)), .. }
            | Remark::Preemption(_)
            | Remark::NotAligned { .. }
            | Remark::NotLinked(_)
            | Remark::NotPinned { .. }
            | Remark::AdmittedUnchecked { .. }
            | Remark::CpusBesideHint { .. }
            | Remark::FewPages(_)
            | Remark::ClaimOfCpus { .. }
            | Remark::ClaimElsewhere { .. }
            | Remark::Fault { .. }
            | Remark::PartsOfBytes(_) => Severity::Warning,
            Remark::ChosenRules { .. }
            | Remark::MemoryMoves(_)
            | Remark::SearchCut
            | Remark::PartOfCore { .. }
            | Remark::RefusedUnchecked { .. }
            | Remark::ClaimsUndecided(_)
            | Remark::ClaimUnknown(_)
            | Remark::NoClaimHint(_)
            | Remark::ChangesNotTried { .. }
            | Remark::PluginsNotAsked
            | Remark::RequestsUnknown => Severity::Info,
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preemption(pods) => write!(
                f,
                "admitted by ENDING {}: it is critical, and there is not enough for all",
                joined(pods, " and ")
            ),
            Self::MemoryMoves(moves) => write!(
                f,
                "admitted after memory moves, since a group is not needed any more: {}",
                joined(moves, ", ")
            ),
            Self::ChosenRules { rules, kubelet } => {
                write!(f, "decided by rules that the pod chooses: {rules}")?;
                kubelet.as_ref().map_or(Ok(()), |again| write!(f, "; {}", kubelet_again(again)))
            }
            Self::SearchCut => {
                f.write_str("the search for the best NUMA nodes was cut; there may be better ones")
            }
            Self::NotAligned { nodes, grouped_memory } => {
                f.write_str("admitted, NOT aligned: the best answer is ")?;
                match nodes {
                    Some(nodes) => write!(f, "NUMA {nodes}, not preferred")?,
                    None => f.write_str("any NUMA node, not preferred")?,
                }
                grouped_memory.as_ref().map_or(Ok(()), |memory| write!(f, "; {memory}"))
            }
            Self::NotLinked(resources) => write!(
                f,
                "admitted, devices NOT on one link: {} are on several PCI switches, ports or domains",
                joined(resources, " and ")
            ),
            Self::NotPinned { reason, shared_pool, unbound } => {
                write!(f, "admitted, CPUs NOT pinned: {reason}; ")?;
                match shared_pool {
                    Some(cpus) => write!(f, "CPUs are the shared pool {cpus}")?,
                    None => f.write_str("it may run on all CPUs")?,
                }
                match unbound.as_slice() {
                    [] => Ok(()),
                    pages => write!(f, "; {} may come from any NUMA node", joined(pages, " and ")),
                }
            }
            Self::AdmittedUnchecked { resources, advice } => {
                let why = why_unchecked(resources.len());
                write!(f, "admitted WITHOUT {}: {why}{advice}", joined(resources, " and "))
            }
            Self::RefusedUnchecked { resources, advice } => {
                let (are, why) = (verb(resources.len(), "is", "are"), why_unchecked(resources.len()));
                write!(f, "{} {are} not checked: {why}{advice}", joined(resources, " and "))
            }
            Self::ClaimsUndecided(claims) => {
                write!(f, "its claims are not decided here: {}", joined(claims.names(), ", "))
            }
            Self::CpusBesideHint { hint, cpus, why } => {
                write!(f, "the merged hint is NUMA {hint}, and its CPUs are on NUMA {cpus}: {why}")
            }
            Self::PartOfCore { part, rest } => part_of_core(f, part, rest),
            Self::FewPages(few) => few_pages(f, few),
            Self::ClaimOfCpus { claim, class } => write!(
                f,
                "claim {claim} takes CPUs from a driver (device class {class}) beside a static CPU manager: on one node the \
                 two exclude each other, since neither knows which CPUs the other gives out; cpuManagerPolicy none goes with \
                 such a driver"
            ),
            Self::ClaimElsewhere { claim, why } => claim_alignment::elsewhere(f, claim, *why),
            Self::ClaimUnknown(claim) => f.write_str(&claim.doubt()),
            Self::NoClaimHint(UnknownPlace { claim, why }) => write!(f, "claim {claim} gives no hint: {why}"),
            Self::ChangesNotTried { after } => write!(
                f,
                "changes that would align claims are not tried for this pod and later ones: the limit is {after} pods"
            ),
            Self::PartsOfBytes(parts) => parts.fmt(f),
            Self::Fault { fault, because } => {
                write!(f, "{because}: {} ({}); {}", fault.consequence(), fault.page(), fault.cure())
            }
            Self::PluginsNotAsked => f.write_str("device plugins were not asked: they are taken to agree"),
            Self::RequestsUnknown => f.write_str(
                "the kubelet's files do not list pods without exclusive resources, so the sum of all requests was not \
                 checked against the node",
            ),
        }
    }
}

impl fmt::Display for MemoryMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { container, pod, from, to } = self;
        write!(f, "{container} of {pod} from NUMA {from} to {to}")
    }
}

impl fmt::Display for SharingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPolicy => f.write_str("the CPU manager's policy is none"),
            Self::NotGuaranteed { class, obstacle } => {
                f.write_str(class.name())?;
                obstacle.as_ref().map_or(Ok(()), |obstacle| write!(f, ", since {obstacle}"))
            }
            Self::FractionalCpu { asked } => {
                asked.as_ref().map_or(Ok(()), |cpus| write!(f, "{cpus} CPUs are "))?;
                f.write_str("no whole number of CPUs")
            }
            Self::Manager(reason) => reason.fmt(f),
        }
    }
}

/// What the owner of the pod may not expect.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Note"))]
struct NoteFields<'a> {
    /// Absent for the pod as a whole.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    containers: &'a [ContainerName],
    /// A sentence.
    text: String,
}

json::written_as!(Note, NoteFields<'static>);

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        NoteFields { containers: &self.containers, text: self.remark.to_string() }.serialize(serializer)
    }
}
