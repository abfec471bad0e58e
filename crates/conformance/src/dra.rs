//! Dynamic resource allocation: what kube-scheduler's allocator and the API server answered.
//!
//! Objects of cases have no `apiVersion` and `kind` where their place says what they are.

mod cel;
mod objects;
mod pools;
mod extended;
mod validate;
mod allocate;

use crate::runner::Runner;

/// Folders of case files that belong here, besides `dra`.
pub(crate) const FOLDERS: [&str; 6] = ["dra", "allocate", "cel", "pools", "extended", "validate"];

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    match kind {
        "allocate" => Some(allocate::allocate),
        "hard" => Some(allocate::hard),
        "table" => Some(allocate::table),
        "cel" => Some(cel::cel),
        "pools" => Some(pools::pools),
        "extended" => Some(extended::extended),
        "validate" => Some(validate::validate),
        _ => None,
    }
}
