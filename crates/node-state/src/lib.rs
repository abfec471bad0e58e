#![doc = include_str!("../README.md")]
//!
//! # From the files to a ledger
//!
//! [`StateFolder`] has the files as they are, and [`Contents`] what a parser makes of the kubelet's three. From there
//! two ways lead to a [`Start`], and [`Start::ledger`] to the ledger: [`StateFolder::strict`] starts as a kubelet does,
//! or says why a kubelet would not; [`StateFolder::plan_repair`] starts from any folder, and the [`RepairPlan`] lists
//! what it found and which files have to be written.
//!
//! # Where things are
//!
//! - How a state file is found damaged or contradictory: `crates/node-state/src/repair/damage.rs` and the files beside
//!   it. `crates/node-state/src/audit.rs` says which of these faults stop a kubelet, `fault.rs` beside it has their
//!   sentences, and `repair.rs` plans how a node starts from such a folder. `folder_repair.rs` beside it says when a
//!   repair harms no pod and who stays quarantined, `crates/node-agent/src/folder_repair.rs` writes it.
//! - What the next restart of a kubelet does with the pods that run: `crates/node-state/src/restart.rs`, in sentences
//!   `restart_line.rs` beside it. What a folder without a configuration or a machine is judged by:
//!   `crates/node-input/src/judged.rs`.

mod folder;
mod contents;
pub mod files;
pub mod record;
mod manifest_file;
pub mod moves;
mod grants;
mod resizes;
mod start;
mod books;
mod fault;
mod repair;
mod audit;
mod restart;
mod restart_line;
mod words;
mod names;
mod quarantine;
mod pod_list;
mod folder_repair;
mod finding_line;
mod reaction;

pub use audit::Audit;
pub use books::{BookDifference, Column};
pub use contents::Contents;
pub use fault::{
    Damage, Fault, FaultKind, Finding, Holding, Kind, NamedPod, ReservedGiven, ReservedPart, Unproven,
    WholeShare, against_start_error,
};
pub use finding_line::{FindingLine, Problem};
pub use folder::{StateFolder, is_pod_file};
pub use folder_repair::{FolderRepair, Losses};
pub use grants::{Cpus, Grants, Memory, NoCpus};
pub use manifest_file::ManifestFile;
pub use names::PodNames;
pub use quarantine::{Basis, Left, QUARANTINE, Quarantine, Quarantined};
pub use record::{PODS, Record, RecordError, Running, Source, manifest};
pub use repair::{
    Assumption, FileRepair, OldContents, PodList, Remedy, Repair, RepairPlan, RunningPod, Standing,
};
pub use restart::{PodFate, Readmitted};
pub use restart_line::{RefusedAgain, Restart, RestartOutcome};
pub use start::{Start, StartError};
