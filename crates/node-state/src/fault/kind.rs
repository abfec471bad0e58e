//! Faults by kind, for who counts them or shows them in order.

use serde::Serialize;

/// Makes [`FaultKind`] of its kinds with their labels.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $label:literal;)*) => {
        /// The kind of a fault, most harmful first: a label of metrics and a member of documents.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum FaultKind {
            $($(#[$doc])* #[serde(rename = $label)] $name,)*
        }

        impl FaultKind {
            /// All, most harmful first.
            pub const ALL: [Self; [$($label,)*].len()] = [$(Self::$name,)*];

            /// The label of metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $label,)*
                }
            }
        }
    };
}

kinds! {
    /// A file cannot be read.
    Unreadable "unreadable";
    /// A file is missing.
    Missing "missing";
    /// Nothing proves what a pod holds.
    Unproven "unproven";
    /// A kubelet with the other value of the feature gate wrote it.
    OtherGate "otherGate";
    /// A kubelet of a release with another form of files wrote it.
    OtherForm "otherForm";
    /// A manager with another policy wrote it.
    OtherPolicy "otherPolicy";
    /// CPUs are offline, or not on this machine.
    CpusGone "cpusGone";
    /// CPUs have come.
    CpusNew "cpusNew";
    /// Other CPUs are reserved than before.
    Reserved "reserved";
    /// The shared pool has CPUs of pods, or none at all.
    SharedPool "sharedPool";
    /// Two pods hold the same.
    TwoOwners "twoOwners";
    /// Nodes have, or keep, other amounts of memory than before.
    MemoryDrifted "memoryDrifted";
    /// Sums of memory are not those of what pods hold.
    Books "books";
    /// Memory is held where this machine has none.
    MemoryGone "memoryGone";
    /// Pods hold more memory than there is.
    Overbooked "overbooked";
    /// A state file and a pod's own file list different holdings.
    Disagreement "disagreement";
    /// A pod that does not run holds something.
    PodGone "podGone";
    /// Nothing harmful: a file is not as a kubelet writes it.
    Odd "odd";
}
