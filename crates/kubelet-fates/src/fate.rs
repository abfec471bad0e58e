//! What happens in place of an answer of the kubelet, or with it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use cpuset::CpuSet;
use kubelet_release::Fault;
use pod_spec::{Pod, ResourceName};
use topology_admission::RestoreError;
use topology_model::NodeId;

use crate::work::Work;

/// What happens in place of an answer, or with it.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// The process dies.
    Crashes(Crash),
    /// CPUs are handed out for ever.
    NeverAnswers,
    /// The answer comes after more than a second.
    AnswersLate(Work),
    /// The pod is admitted, and these of its CPUs are reserved or another pod's as well.
    GivesTwice(CpuSet),
    /// The pod is admitted, and the kubelet does not start again while it runs.
    CannotRestart(Box<RestoreError>),
    /// The pod is admitted with CPUs at pod level, which the kubelet does not find when it restarts.
    LosesCpus,
    /// The kubelet never gets to the pod: it never answers on one that comes before it, or crashes on it at each start.
    NotReached(Box<Blocker>),
}

/// A pod without an answer, behind which all others wait.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocker {
    /// Namespace and name of the pod.
    pub pod: String,
    /// What happens in place of its answer: the kubelet crashes or never answers.
    pub fate: Fate,
}

/// What the kubelet dies of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Crash {
    /// The id of a NUMA node is no bit of a mask of 64.
    NodeId(NodeId),
    /// A node does not list pages of a size that is asked for.
    PageSize {
        /// The node.
        node: NodeId,
        /// What is asked for.
        resource: ResourceName,
    },
    /// A row of distances has no entry for the id of a node.
    Distance,
}

impl Fate {
    /// The fault that it comes from.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Crashes(Crash::NodeId(_)) => Fault::NodeIds,
            Self::Crashes(Crash::PageSize { .. }) => Fault::MissingPageSize,
            Self::Crashes(Crash::Distance) => Fault::DistanceIndex,
            Self::NeverAnswers => Fault::DistributeHang,
            Self::AnswersLate(_) => Fault::MergeProduct,
            Self::GivesTwice(_) => Fault::BusySibling,
            Self::CannotRestart(error) => match **error {
                RestoreError::Crash(_) => Fault::UnevenGroup,
                _ => Fault::FullNode,
            },
            Self::LosesCpus => Fault::PodCpusLost,
            Self::NotReached(blocker) => blocker.fate.fault(),
        }
    }

    /// What a fate can be, as documents have it.
    pub const KINDS: [&str; 7] =
        ["crashes", "neverAnswers", "answersLate", "givesTwice", "cannotRestart", "losesCpus", "notReached"];

    /// What it is, as documents have it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        let [crashes, never, late, twice, restart, loses, not_reached] = Self::KINDS;
        match self {
            Self::Crashes(_) => crashes,
            Self::NeverAnswers => never,
            Self::AnswersLate(_) => late,
            Self::GivesTwice(_) => twice,
            Self::CannotRestart(_) => restart,
            Self::LosesCpus => loses,
            Self::NotReached(_) => not_reached,
        }
    }

    /// What it is, as the reason of an event.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Crashes(_) => "KubeletCrashes",
            Self::NeverAnswers => "KubeletNeverAnswers",
            Self::AnswersLate(_) => "KubeletAnswersLate",
            Self::GivesTwice(_) => "KubeletGivesTwice",
            Self::CannotRestart(_) => "KubeletCannotRestart",
            Self::LosesCpus => "KubeletLosesCpus",
            Self::NotReached(_) => "KubeletNotReached",
        }
    }

    /// What becomes of a pod, in a few words: `never answered`.
    #[must_use]
    pub const fn brief(&self) -> &'static str {
        match self {
            Self::Crashes(_) => "crashing the kubelet",
            Self::NeverAnswers => "never answered",
            Self::AnswersLate(_) => "answered late",
            Self::GivesTwice(_) => "given CPUs that are not free",
            Self::CannotRestart(_) => "keeping the kubelet from starting again",
            Self::LosesCpus => "losing their CPUs with a restart",
            Self::NotReached(_) => "behind a pod without an answer",
        }
    }

    /// Whether it is no more than an answer within a minute, for which a scheduler can wait.
    #[must_use]
    pub fn is_waited_for(&self) -> bool {
        const MINUTE: f64 = 60.0;
        matches!(self, Self::AnswersLate(work) if work.seconds() < MINUTE)
    }

    /// Whether the kubelet answers as well, at once or late.
    #[must_use]
    pub const fn leaves_an_answer(&self) -> bool {
        match self {
            Self::Crashes(_) | Self::NeverAnswers | Self::NotReached(_) => false,
            Self::AnswersLate(_) | Self::GivesTwice(_) | Self::CannotRestart(_) | Self::LosesCpus => true,
        }
    }
}

impl Blocker {
    /// The pod, if what happens in place of its answer keeps the kubelet from all pods after it.
    #[must_use]
    pub fn of(pod: &Pod, fate: &Fate) -> Option<Self> {
        let blocks = matches!(fate, Fate::Crashes(_) | Fate::NeverAnswers);
        blocks.then(|| Self { pod: format!("{}/{}", pod.namespace, pod.name), fate: fate.clone() })
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crashes(crash) => write!(f, "the kubelet crashes: {crash}"),
            Self::NeverAnswers => f.write_str(
                "the kubelet never answers: it hands out the CPUs that do not divide evenly in whole cores, from NUMA nodes that have no whole core left",
            ),
            Self::AnswersLate(work) => write!(f, "the kubelet answers after {work}"),
            Self::GivesTwice(cpus) => {
                let are = if cpus.len() == 1 { "CPU" } else { "CPUs" };
                write!(f, "the kubelet gives the pod {are} {cpus}, reserved or held by another pod")
            }
            Self::CannotRestart(error) => {
                write!(f, "the kubelet admits the pod and does not start again while it runs: {error}")
            }
            Self::LosesCpus => f.write_str(
                "the kubelet admits the pod and does not find its CPUs when it restarts: it refuses the pod if too few others are free, or allocates others and does not start the time after that",
            ),
            Self::NotReached(blocker) => {
                let Blocker { pod, fate } = &**blocker;
                let why = match fate {
                    Self::Crashes(_) => "it crashes on",
                    _ => "it never answers on",
                };
                write!(f, "the kubelet never gets to the pod: {why} {pod}, which comes first")
            }
        }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeId(id) => write!(f, "NUMA node {} does not fit its sets of nodes 0 to 63", id.0),
            Self::PageSize { node, resource } => {
                write!(f, "NUMA node {} lists no pages of {resource}", node.0)
            }
            Self::Distance => {
                f.write_str("it looks distances up by the id of NUMA nodes, and the ids here have gaps")
            }
        }
    }
}
