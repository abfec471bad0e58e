//! Dynamic resource allocation: what kube-scheduler's allocator, the API server, the helpers for drivers and the CPU driver
//! answered.
//!
//! Objects of cases have no `apiVersion` and `kind` where their place says what they are.

mod cel;
mod objects;
mod pools;
mod extended;
mod validate;
mod allocate;
mod drivers;
mod numa;
mod cpu_driver;

use crate::claim_of_file::DRIVERS;
use crate::runner::Runner;

/// Folders of case files that belong here, besides `dra`.
pub(crate) const FOLDERS: [&str; 9] =
    ["dra", "allocate", "cel", "pools", "extended", "validate", "numa", "cpu-driver", DRIVERS];

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    match kind {
        "allocate" => Some(allocate::allocate),
        "hard" => Some(allocate::hard),
        "table" => Some(allocate::table),
        "cel" => Some(cel::cel),
        "pools" => Some(pools::pools),
        "extended" => Some(extended::extended),
        "validate" => Some(validate::validate),
        "numa" => Some(numa::numa),
        "cpu-driver" => Some(cpu_driver::cpu_driver),
        DRIVERS => Some(drivers::drivers),
        _ => None,
    }
}
