//! What can be wrong with the files of a node, as data; `Display` gives the sentences.

mod table;
mod kind;
mod help;
mod damage;
mod unproven;
mod held;
mod reserved;

use std::path::PathBuf;

pub use damage::Damage;
pub use held::{Holding, Kind, NamedPod, WholeShare};
pub use help::against_start_error;
pub use kind::FaultKind;
pub use reserved::{ReservedGiven, ReservedPart};
pub use table::Fault;
pub(crate) use table::{Reaction, Scope, Weight};
pub use unproven::Unproven;

/// One fault of one file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The file, below the root.
    pub file: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}
