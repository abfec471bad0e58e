//! What a kubelet has written of its node, and what is wrong with it.

mod check;
mod finding;
mod folder;
mod listed;
mod names;
mod quarantine;
mod residents;
mod resume;
mod source;
mod table;

pub(crate) use check::check;
pub(crate) use finding::{FindingLine, Problem};
pub(crate) use folder::{any_state_of, must_be_folder, state_of};
pub(crate) use names::{OWN, POD_LOGS, PodNames};
pub(crate) use quarantine::{Basis, Left, QUARANTINE, Quarantine, Quarantined};
pub(crate) use residents::{Known, Resident, Residents};
pub(crate) use resume::{Requests, ledger};
pub(crate) use source::of_node;
pub(crate) use table::{ContainerLine, Shown, shown};
#[cfg(test)]
pub(crate) use table::{Held, MemoryHeld};
