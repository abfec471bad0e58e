#![doc = include_str!("../README.md")]
//!
//! # From a scenario to a table
//!
//! [`Prepared`] has the machines read and the nodes started under every configuration, and says what would make a run
//! worthless. [`run`](fn@run) runs each configuration as often as the scenario asks, on all cores, with the bound of each
//! run. [`Report`] has the sums and means over the runs of each configuration, which [`simulation`], [`simulation_csv`]
//! and [`charts`](fn@charts) show.
//!
//! [`find_max`](fn@find_max) looks at one pod on one machine instead: how many fit under each policy, scope and option.

mod files;
mod prepare;
mod missing;
mod cores;
mod runs;
mod claims;
mod report;
mod find_max;
mod tables;
mod charts;

pub use charts::charts;
pub use files::BUILT_IN;
pub use find_max::{FoundMax, Question, find_max};
pub use prepare::Prepared;
pub use report::Report;
pub use runs::{Done, RunWatcher, run};
pub use tables::{found_max, found_max_csv, legend, simulation, simulation_csv};
