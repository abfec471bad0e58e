//! Which pods may be moved.
//!
//! A move is a restart. Static pods and their mirrors are the kubelet's own: the API server cannot delete them.
//! Critical pods keep the node running. Pods in quarantine may have lost a part of what they hold, and the
//! operator who looks after them decides. And the owner of a pod can say no, by the annotation
//! `topolet.dev/move: never`. Every other value than `restart` and `live` counts as no, too: a typing error
//! restarts no pod. A pod that is `live` may be moved while it runs by a tool that can do that; other tools
//! restart it.

use core::fmt;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use pod_spec::{Origin, Pod, PodUid, Wishes};

use crate::ledger::Ledger;

/// The value of annotation `topolet.dev/move` with which a pod may be moved while it runs.
pub const LIVE: &str = "live";

/// Why a pod is not moved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LeftAlone {
    /// It is a static pod.
    Static,
    /// It is the mirror of a static pod.
    Mirror,
    /// It is critical by its priority.
    Critical,
    /// Its annotation says no.
    Annotated,
    /// Its annotation is none of the values that there are.
    UnknownValue(String),
    /// It may have lost a part of what it holds.
    Quarantined,
}

impl LeftAlone {
    fn of(pod: &Pod, kept: &BTreeSet<PodUid>) -> Option<Self> {
        match pod.constraints.origin {
            Origin::Static => return Some(Self::Static),
            Origin::Mirror => return Some(Self::Mirror),
            Origin::ApiServer => {}
        }
        if pod.constraints.is_critical() {
            return Some(Self::Critical);
        }
        if kept.contains(&pod.uid) {
            return Some(Self::Quarantined);
        }
        match pod.constraints.wishes.get(Wishes::MOVE) {
            None | Some("restart" | LIVE) => None,
            Some("never") => Some(Self::Annotated),
            Some(other) => Some(Self::UnknownValue(other.into())),
        }
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, name) = (Wishes::PREFIX, Wishes::MOVE);
        match self {
            Self::Static => f.write_str("static pod"),
            Self::Mirror => f.write_str("mirror of a static pod"),
            Self::Critical => f.write_str("critical"),
            Self::Annotated => write!(f, "annotation {prefix}{name} is never"),
            Self::UnknownValue(value) => {
                write!(f, "annotation {prefix}{name} is {value:?}, neither restart, live nor never")
            }
            Self::Quarantined => f.write_str("quarantined"),
        }
    }
}

/// A pod that may be moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub(crate) uid: PodUid,
    /// Of memory and huge pages.
    pub(crate) bytes: u64,
}

/// The pods other than `pod` that hold something, those with the least memory first; and those of them that are left
/// alone.
pub(crate) fn candidates(
    ledger: &Ledger,
    pod: &PodUid,
    kept: &BTreeSet<PodUid>,
) -> (Vec<Candidate>, Vec<(PodUid, LeftAlone)>) {
    let holders = ledger.holders();
    let (mut movable, mut left_alone) = (Vec::new(), Vec::new());
    for other in ledger.pods_by_arrival().filter(|other| other.uid != *pod && holders.contains(&other.uid)) {
        match LeftAlone::of(other, kept) {
            Some(why) => left_alone.push((other.uid.clone(), why)),
            None => movable.push(Candidate { uid: other.uid.clone(), bytes: ledger.bytes_of(&other.uid) }),
        }
    }
    // Of pods with as much memory the one that came last is moved first.
    movable.reverse();
    movable.sort_by_key(|candidate| candidate.bytes);
    (movable, left_alone)
}
