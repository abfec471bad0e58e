//! Faults by kind, for who counts them or shows them in order.

use serde::Serialize;

use crate::fault::Fault;

/// The kind of a fault, most harmful first: a label of metrics and a member of documents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// A file cannot be read.
    Unreadable,
    /// A file is missing.
    Missing,
    /// Nothing proves what a pod holds.
    Unproven,
    /// A kubelet with the other value of the feature gate wrote it.
    OtherGate,
    /// A kubelet of a release with another form of files wrote it.
    OtherForm,
    /// A manager with another policy wrote it.
    OtherPolicy,
    /// CPUs are offline, or not on this machine.
    CpusGone,
    /// CPUs have come.
    CpusNew,
    /// Other CPUs are reserved than before.
    Reserved,
    /// The shared pool has CPUs of pods, or none at all.
    SharedPool,
    /// Two pods hold the same.
    TwoOwners,
    /// Nodes have, or keep, other amounts of memory than before.
    MemoryDrifted,
    /// Sums of memory are not those of what pods hold.
    Books,
    /// Memory is held where this machine has none.
    MemoryGone,
    /// Pods hold more memory than there is.
    Overbooked,
    /// A state file and a pod's own file list different holdings.
    Disagreement,
    /// A pod that does not run holds something.
    PodGone,
    /// Nothing harmful: a file is not as a kubelet writes it.
    Odd,
}

impl FaultKind {
    /// All, most harmful first.
    pub const ALL: [Self; 18] = [
        Self::Unreadable,
        Self::Missing,
        Self::Unproven,
        Self::OtherGate,
        Self::OtherForm,
        Self::OtherPolicy,
        Self::CpusGone,
        Self::CpusNew,
        Self::Reserved,
        Self::SharedPool,
        Self::TwoOwners,
        Self::MemoryDrifted,
        Self::Books,
        Self::MemoryGone,
        Self::Overbooked,
        Self::Disagreement,
        Self::PodGone,
        Self::Odd,
    ];

    /// The label of metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Missing => "missing",
            Self::Unproven => "unproven",
            Self::OtherGate => "otherGate",
            Self::OtherForm => "otherForm",
            Self::OtherPolicy => "otherPolicy",
            Self::CpusGone => "cpusGone",
            Self::CpusNew => "cpusNew",
            Self::Reserved => "reserved",
            Self::SharedPool => "sharedPool",
            Self::TwoOwners => "twoOwners",
            Self::MemoryDrifted => "memoryDrifted",
            Self::Books => "books",
            Self::MemoryGone => "memoryGone",
            Self::Overbooked => "overbooked",
            Self::Disagreement => "disagreement",
            Self::PodGone => "podGone",
            Self::Odd => "odd",
        }
    }
}

impl Fault {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::NotRegular(_)
            | Self::Damaged(_)
            | Self::NotCpus(_)
            | Self::UnknownFormat(_)
            | Self::UnreadablePod(_)
            | Self::UnreadableMoves(_)
            | Self::MisnamedPod(_)
            | Self::Rejected(_) => FaultKind::Unreadable,
            Self::Missing | Self::RemovedPod(_) => FaultKind::Missing,
            Self::OtherGate(_) | Self::WholeCpus { .. } => FaultKind::OtherGate,
            Self::OtherForm(_) => FaultKind::OtherForm,
            Self::OtherPolicy { .. } => FaultKind::OtherPolicy,
            Self::CpusGone { .. } | Self::SharedCpusGone(_) => FaultKind::CpusGone,
            Self::UnownedCpus(_) => FaultKind::CpusNew,
            Self::CpusReserved { .. } | Self::SharedCpusReserved(..) | Self::ReservedNotShared(..) => {
                FaultKind::Reserved
            }
            Self::OwnedAndShared { .. } | Self::FullNode => FaultKind::SharedPool,
            Self::CpusOwnedTwice { .. } | Self::DevicesOwnedTwice { .. } => FaultKind::TwoOwners,
            Self::MemoryDrifted(_) => FaultKind::MemoryDrifted,
            Self::Books(_) | Self::NullBooks(_) | Self::UnevenPages(_) => FaultKind::Books,
            Self::MemoryGone { .. } => FaultKind::MemoryGone,
            Self::Overbooked { .. } => FaultKind::Overbooked,
            Self::Unproven(_) => FaultKind::Unproven,
            Self::Disagreement { .. } => FaultKind::Disagreement,
            Self::PodGone { .. } => FaultKind::PodGone,
            Self::Odd(_) => FaultKind::Odd,
        }
    }
}
