//! Simulations: scenarios made ready, run on all cores, and summed up; and how many of one pod fit.

mod files;
mod prepare;
mod runs;
mod bar;
mod cores;
mod report;
mod missing;
mod find_max;
#[cfg(feature = "serve")]
mod built_in;

pub(crate) use bar::run_with_bar;
#[cfg(feature = "serve")]
pub(crate) use built_in::BuiltIn;
pub(crate) use find_max::{Capacity, FoundMax, Question, ReservationFit, by_option, find_max, notes};
pub(crate) use prepare::Prepared;
pub(crate) use report::{MachineUse, Moment, Report, Spread, Summary, share};
#[cfg(feature = "serve")]
pub(crate) use runs::run;
