#![doc = include_str!("../README.md")]
//!
//! # How two releases are compared
//!
//! A [`Subject`] is started by the rules of both releases, and everything that runs on it is attempted anew: beside the
//! state files that a restart keeps, or on a drained node ([`Way`]). Where the outcomes differ, single rules of the new
//! release are put among the old ones, until the smallest set is found that gives the new outcome.
//!
//! # Where things are
//!
//! - What an upgrade changes: `crates/release-upgrade/src/upgrade.rs`; which rule is responsible: `responsible.rs`
//!   beside it.

mod upgrade;
mod subject;
mod responsible;
mod fault;
mod configuration;
mod state_file;
mod pod;
mod json;

pub use configuration::{ConfigurationChange, Effect};
pub use fault::{FaultChange, FaultTurn};
pub use pod::{Change, ContainerHoldings, Outcome, PodChange, PodHoldings, PodVerdict};
pub use responsible::ResponsibleRule;
pub use state_file::{FileChange, Loss, WayBack};
pub use subject::{Subject, Way};
pub use upgrade::Upgrade;
