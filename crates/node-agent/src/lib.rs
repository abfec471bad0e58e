#![doc = include_str!("../README.md")]
//!
//! # The way of a change
//!
//! An [`Event`] comes in ([`Owner::handle`]), a [`Plan`] comes out ([`Owner::next`]): a change that is worked out and
//! not yet made, with the files that have to be written first. When they are safe the change is made
//! ([`Owner::settle`]), and [`Effect`]s tell what is to be done: answer, ask a plugin, write a cgroup.
//! [`Agent`] does the three in a row with a real store.

mod owner;
mod known;
mod listing;
mod event;
mod effect;
mod enforcement;
mod deferred_pod;
mod pod_move;
mod snapshot;
mod agent;
mod aside;
mod unfinished;
mod backup;
mod folder_repair;
mod folder;

pub use agent::Agent;
pub use aside::{FoundFolder, read_anything};
pub use backup::{KeptBackups, ReplacedFile, mend, prune};
pub use deferred_pod::DeferredPod;
pub use effect::{Answer, Effect, EndReason, FileName, PodDecision, RequestError, Write, WriteOutcome};
pub use enforcement::{Enforcement, Limits, Pinning};
pub use event::{Event, PluginEvent, Request, Ticket};
pub use folder::{Folder, FolderError, FolderProblem, FolderProblemKind};
pub use folder_repair::{RepairError, write_quarantine, write_repair};
pub use listing::{ListedPod, Listing};
pub use owner::{Owner, Plan, in_order};
pub use pod_move::{Manner, PodMove, WhyRestart};
pub use snapshot::{RefusedPod, Snapshot};
pub use unfinished::{NotWritten, Unfinished, complete_moves};
