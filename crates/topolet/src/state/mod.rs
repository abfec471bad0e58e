//! What a kubelet has written of its node, and what is wrong with it.

mod folder;
mod listed;
mod pod_names;
mod quarantine;
mod residents;
mod resume;
mod source;

pub(crate) use folder::{any_state_of, must_be_folder, state_of};
pub(crate) use pod_names::{
    OWN, POD_LOGS, from_path as pod_names_of, of_logs as pod_names_of_logs, of_state as pod_names_of_state,
    read as pod_names,
};
pub(crate) use quarantine::{parse_quarantine, quarantine_in, still_quarantined, write_quarantine};
pub(crate) use residents::{Known, Resident, Residents};
pub(crate) use resume::{Requests, ledger};
pub(crate) use source::of_node;
