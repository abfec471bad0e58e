#![doc = include_str!("../README.md")]
//!
//! # What counts as wrong
//!
//! A configuration is wrong if the kubelet does not start with it, or if it starts and then cannot admit ordinary pods,
//! never ends the admission of one, crashes, or does not start again as it was on a full node ([`Hazard`]); and if a part
//! of it has no effect or is probably a mistake. A proposal is checked and tried in the same way, so a proposal that can
//! be made has no findings. `full-pcpus-only` that was asked for stays, although kubelets before 1.37 refuse running pods when
//! they restart on a full node: that is a note ([`Note::AtRestart`]), since nothing in the configuration is wrong.
//!
//! # Where things are
//!
//! - What `config check` finds and proposes: `crates/config-advice`; with the state files beside the configuration and
//!   as files: `crates/node-input/src/checked_config.rs`. How long the kubelet takes to search sets of NUMA nodes:
//!   `crates/config-advice/src/cost.rs`.
#![no_std]

extern crate alloc;

mod check;
mod cause;
mod memory_gap;
mod hazard;
mod hazards;
mod cost;
mod trial;
mod ordinary_pod;
mod start;
mod full_node;
mod given_out;
mod note;
mod remedy;
mod changes;
mod proposal;
mod within;
mod pinned;
mod reserve;
mod share;
mod options;
mod idle;
mod amount;
mod spelling;
mod profile;
mod settings;
mod kubelet_flags;

pub use amount::SmallAmount;
pub use cause::{Cause, Doubt, Severity};
pub use changes::{Change, changes, merge_patch};
pub use check::{Finding, check, check_beside, startable};
pub use given_out::Unit;
pub use hazard::{Hazard, HintUser};
pub use hazards::hazards_of_kubelet;
pub use idle::{Idle, Why};
pub use kubelet_flags::{flag_of, kubelet_flags};
pub use memory_gap::{MemoryGap, OTHER_MACHINE_STATE};
pub use node_config::DecidedBy;
pub use note::{ANOTHER_BOOT, Note, StartProblem};
pub use ordinary_pod::memory_of_pod;
pub use pinned::pinned;
pub use profile::{OtherCpus, ProfileCpus, ProfileFault};
pub use proposal::{held_back, left_out, propose, propose_beside};
pub use settings::{setting, settings};
pub use trial::{Trial, notes};
pub use within::propose_within;
