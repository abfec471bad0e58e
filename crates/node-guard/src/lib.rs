#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - What is read of the kubelet, and when it counts for nothing: `crates/node-guard/src/state_view.rs`; what a creation
//!   gets: `decision.rs` beside it.
//! - What the guard does at each event: `guard.rs`; who has which CPUs, and what is taken from whom: `containers.rs`; how
//!   the runtime's records follow: `records.rs`; when the kubelet's files have changed: `watch.rs`.
//! - What it reports: `report.rs`. Whether a node is fit for it: `check.rs`.

mod state_view;
mod decision;
mod request;
mod containers;
mod narrowing;
mod report;
mod guard;
mod handler;
mod records;
mod watch;
mod sync;
mod run;
mod pinning_plugins;
mod finding;
mod place;
mod check;
#[cfg(test)]
mod models;

pub use check::Findings;
pub use containers::{NotGuarded, SystemdWrites};
pub use decision::Decision;
pub use finding::{Finding, Mark};
pub use guard::{Answer, Drift, Guard, Settings};
pub use pinning_plugins::{PINNING_PLUGINS, file_of, is_pod_of};
pub use place::Place;
pub use report::{Counts, GuardCondition, REPORT, Reason, Report, ReportError, Reported, State};
pub use request::Requested;
pub use run::{GuardError, Options, run};
pub use state_view::{Holding, NodeCpus, StateFiles, StateView};
