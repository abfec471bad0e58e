//! What is read from a text.

use topology_model::Machine;

use crate::form::{Form, OtherForm};
use crate::lack::Lack;

/// The most bytes of a text that are read; the XML of the largest machine known has an eighth of it.
pub const MAX_TEXT: usize = 32 << 20;

/// The most NUMA nodes; the kernel knows 1,024 at most.
pub(crate) const MAX_NODES: usize = 1024;

/// A machine that was read from text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineText {
    /// The machine.
    pub machine: Machine,
    /// The outputs that were found in the text, each once.
    pub forms: Vec<Form>,
    /// What was taken in place of something that the text does not tell; sentences without a full stop.
    pub assumed: Vec<String>,
    /// What is not known of the machine.
    pub lacks: Vec<Lack>,
    /// Other outputs in the text, from which nothing of the machine is read.
    pub unread: Vec<OtherForm>,
}
