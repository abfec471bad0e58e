//! What a repair takes for true without proof, and what it does.

use std::fmt;
use std::path::PathBuf;

use crate::fault::{Kind, NamedPod};

/// What a repair takes for true without proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// The entries of the file are true where nothing contradicts them.
    EntriesAreTrue,
    /// No pod holds anything of what was in the file.
    NothingHeld,
    /// The pods hold none of this kind.
    HoldNone(Kind),
    /// This pod had it first.
    FirstOwner(NamedPod),
    /// The CPUs have come since, or a pod released them.
    NewOrReleased,
    /// The pod's manifest is as it was written, and the pod holds what state files list.
    ManifestIsTrue,
    /// The pod runs, and holds what state files list.
    PodRuns,
    /// No pod runs with other requests or limits than its manifest has.
    NotResized,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EntriesAreTrue => f.write_str("its entries are true where nothing contradicts them"),
            Self::NothingHeld => f.write_str("no pod holds anything of what was in it"),
            Self::HoldNone(kind) => write!(f, "they hold no {kind}"),
            Self::FirstOwner(pod) => write!(f, "{pod} held it first"),
            Self::NewOrReleased => f.write_str("newly online, or released"),
            Self::ManifestIsTrue => {
                f.write_str("its manifest is as it was written, and the pod holds what the state files list")
            }
            Self::NotResized => f.write_str("no pod is being resized"),
            Self::PodRuns => f.write_str("the pod runs, and holds what the state files list"),
        }
    }
}

/// What a repair does about a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// The file is written anew from what could be read.
    Rewrite,
    /// The file is written anew from pods' own files.
    RewriteFromPods,
    /// The file is written anew, empty.
    RewriteEmpty,
    /// The pod's own file counts.
    PodFileCounts,
    /// CPUs that a pod held as a whole go to the shared pool.
    ShareWhole,
    /// The containers keep the CPUs.
    ContainersKeep,
    /// The pod keeps the rest.
    KeepRest(Kind),
    /// The first owner keeps it, the other pods keep the rest.
    FirstOwnerKeeps {
        /// Who keeps it.
        first: NamedPod,
        /// How many pods held it besides.
        others: usize,
        /// What it is of.
        kind: Kind,
    },
    /// The CPUs leave the shared pool.
    Unshare,
    /// The CPUs leave the shared pool, and the containers keep them.
    UnshareForContainers,
    /// The CPUs go to the shared pool.
    Share,
    /// The sums are worked out anew from what pods hold.
    Rebook,
    /// The sums are worked out anew for the machine as it is.
    RebookForMachine,
    /// Pods keep it, and no more is allocated there until enough is free.
    Wait,
    /// The pod holds nothing any more.
    Release,
    /// The manager is off: no pod has exclusive resources.
    NoneExclusive,
    /// The manager is on: new pods get exclusive resources, running pods keep what their own files list.
    NewPodsExclusive,
    /// The pods keep what can be read.
    KeepReadable,
    /// The pods keep what the other files have of them.
    KeepOtherFiles,
    /// The pods keep what the file lists.
    KeepListed,
    /// A file is renamed, since the pod has its own.
    PutAsideDuplicate,
    /// A file is renamed, since its name is no pod's.
    PutAsideNoPod,
    /// A file gets the name that its pod's file has.
    RenameToPod,
    /// The pod's file is written anew.
    RecordAnew,
    /// Something that is no regular file was renamed, and counts as an empty file.
    RenamedTo(PathBuf),
    /// A file of what pods were admitted or run with is renamed: the kubelet takes what manifests request.
    PutAsideAllocations,
    /// A change of several pods was put aside here, and each file counts as it is.
    PutAsideMoves(PathBuf),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rewrite => "rewritten",
            Self::RewriteFromPods => "rewritten from the pods' own files",
            Self::RewriteEmpty => "rewritten, empty",
            Self::PodFileCounts => "the pod's own file counts",
            Self::ShareWhole => "put into the shared pool: the configuration has no pod-level CPUs",
            Self::ContainersKeep => "its containers keep them",
            Self::KeepRest(kind) => return write!(f, "it keeps the rest of its {kind}"),
            Self::FirstOwnerKeeps { first, others: 1, kind } => {
                return write!(f, "{first} keeps it; the other pod keeps the rest of its {kind}");
            }
            Self::FirstOwnerKeeps { first, others, kind } => {
                return write!(f, "{first} keeps it; the {others} other pods keep the rest of their {kind}");
            }
            Self::Unshare => "taken out of the shared pool",
            Self::UnshareForContainers => "taken out of the shared pool: the containers keep them",
            Self::Share => "put into the shared pool",
            Self::Rebook => "the sums are worked out anew from what pods hold",
            Self::RebookForMachine => "what pods hold is booked anew on the machine as it is",
            Self::Wait => "they keep it; no more is allocated there until enough of it is free",
            Self::Release => "released",
            Self::NoneExclusive => "no pod has exclusive resources; what runs stays where it is",
            Self::NewPodsExclusive => {
                "new pods get exclusive resources; running pods keep what their own files list"
            }
            Self::KeepReadable => "they keep what can be read",
            Self::KeepOtherFiles => "they keep what the other files have of them",
            Self::KeepListed => "they keep what the file lists",
            Self::PutAsideDuplicate => "put aside, since the pod has its own file",
            Self::PutAsideNoPod => "put aside: its name is no pod's",
            Self::RenameToPod => "renamed",
            Self::PutAsideAllocations => "put aside: the kubelet takes what the pods' manifests request",
            Self::RecordAnew => "recorded anew; delete the pod when nothing of it runs any more",
            Self::RenamedTo(path) => {
                return write!(f, "renamed to {}, and taken for an empty file", path.display());
            }
            Self::PutAsideMoves(path) => {
                return write!(f, "put aside as {}; every other file counts as it is", path.display());
            }
        })
    }
}
