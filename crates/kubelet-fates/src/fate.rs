//! What happens in place of an answer of the kubelet, or with it.

use alloc::string::String;
use core::fmt;

use cpuset::CpuSet;
use kubelet_release::Fault;
use pod_spec::ResourceName;
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
    /// The pod is admitted, and the kubelet does not start again while it runs; its words.
    CannotRestart(String),
    /// The pod is admitted with CPUs at pod level, which the kubelet does not find when it restarts.
    LosesCpus,
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
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Crashes(Crash::NodeId(_)) => Fault::NodeIds,
            Self::Crashes(Crash::PageSize { .. }) => Fault::MissingPageSize,
            Self::Crashes(Crash::Distance) => Fault::DistanceIndex,
            Self::NeverAnswers => Fault::DistributeHang,
            Self::AnswersLate(_) => Fault::MergeProduct,
            Self::GivesTwice(_) => Fault::BusySibling,
            Self::CannotRestart(_) => Fault::FullNode,
            Self::LosesCpus => Fault::PodCpusLost,
        }
    }

    /// What a fate can be, as documents have it.
    pub const KINDS: [&str; 6] =
        ["crashes", "neverAnswers", "answersLate", "givesTwice", "cannotRestart", "losesCpus"];

    /// What it is, as documents have it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        let [crashes, never, late, twice, restart, loses] = Self::KINDS;
        match self {
            Self::Crashes(_) => crashes,
            Self::NeverAnswers => never,
            Self::AnswersLate(_) => late,
            Self::GivesTwice(_) => twice,
            Self::CannotRestart(_) => restart,
            Self::LosesCpus => loses,
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
            Self::Crashes(_) | Self::NeverAnswers => false,
            Self::AnswersLate(_) | Self::GivesTwice(_) | Self::CannotRestart(_) | Self::LosesCpus => true,
        }
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
