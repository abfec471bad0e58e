#![doc = include_str!("../README.md")]
//!
//! # From a scenario to a table
//!
//! [`Prepared`] reads a scenario and its machines, starts a node for each machine under every configuration, and warns of pods
//! that could never run. [`run`](fn@run) runs each configuration as often as the scenario says, on all cores, and works out for
//! each run how many pods any placement could have admitted. [`Report`] has the sums and means over the runs of each
//! configuration; [`simulation`], [`simulation_csv`] and [`charts`](fn@charts) show it.
//!
//! [`find_max`](fn@find_max) is separate: how many copies of one pod fit on one machine under each policy, scope and option.
//!
//! # Where things are
//!
//! - How a scenario is run: `crates/scenario-runs/src/lib.rs` says by which steps; what happens to its pods event by
//!   event: `crates/node-simulation/src/run.rs`.

mod files;
mod prepare;
mod missing;
mod cores;
mod runs;
mod claims;
mod device_figures;
mod report;
mod find_max;
mod device_tables;
mod tables;
mod max_tables;
mod charts;

pub use charts::charts;
pub use files::BUILT_IN;
pub use find_max::{FoundMax, Question, find_max};
pub use max_tables::{found_max, found_max_csv, found_max_headline, found_max_legend};
pub use prepare::Prepared;
pub use report::Report;
pub use runs::{Done, RunWatcher, run};
pub use tables::{legend, simulation, simulation_csv};
