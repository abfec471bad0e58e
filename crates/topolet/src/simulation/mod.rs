//! Simulations: scenarios made ready, run on all cores, and summed up; and how many of one pod fit.

mod prepare;
mod runs;
mod report;
mod missing;
mod find_max;

pub(crate) use find_max::{Capacity, FoundMax, Question, ReservationFit, by_option, find_max, notes};
pub(crate) use prepare::Prepared;
pub(crate) use report::{MachineUse, Moment, Report, Spread, Summary, share};
pub(crate) use runs::run;
