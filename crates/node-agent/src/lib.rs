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
mod record;
mod grants;
mod snapshot;
pub mod files;
mod agent;
mod start;
mod aside;
mod repair;
mod folder;
pub mod words;

pub use agent::Agent;
pub use effect::{
    Answer, Decided, Effect, Enforcement, FileName, PODS, Place, RequestError, WhyEnded, Write, Written,
};
pub use event::{Event, PluginEvent, Request, Ticket};
pub use folder::{Folder, FolderError, Trouble, TroubleKind};
pub use grants::{Cpus, Grants, Memory, NoCpus};
pub use listing::{ListedPod, Listing, ManifestFile};
pub use owner::{Owner, Plan};
pub use record::{Record, RecordError, Running, Source, manifest};
pub use repair::{
    Cause, Kept, KeptBackups, Mended, Old, Repair, Repaired, RunningPod, Runs, Standing, mend, prune,
};
pub use snapshot::{RefusedPod, Snapshot};
pub use start::{Found, Start, StartError};
