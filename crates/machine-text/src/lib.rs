//! Reads a machine from what tools print of it: `lscpu` in each of its forms, `numactl --hardware`, `/proc/meminfo`, `lstopo`
//! as a drawing of text and as XML, and `virsh capabilities`.
//!
//! [`read`] takes one text, in which several outputs may follow each other with prompts and sentences between them. What none of
//! them has is listed once ([`Lack`]), with the command that prints it; what was assumed in its place is listed too
//! ([`MachineText::assumed`]). Outputs that contradict each other, or are cut off, are an error.
//!
//! This crate does not know files, pods or configurations.
//!
//! # Where things are
//!
//! - Which output a text is: `crates/machine-text/src/split.rs`.
//! - How cores are numbered where `lscpu` prints no table: `crates/machine-text/src/counts.rs`.
//! - How what was read becomes one machine: `crates/machine-text/src/assemble.rs`.
//! - What shows that an output is cut off: `crates/machine-text/src/assemble/agree.rs`.

mod assemble;
mod counts;
mod error;
mod facts;
mod form;
mod lack;
mod machine_text;
mod split;
mod xml;

pub use error::MachineTextError;
pub use form::{Form, OtherForm};
pub use lack::Lack;
pub use machine_text::{MAX_TEXT, MachineText};

/// Reads a machine from text.
///
/// ```
/// let text = "\
/// CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE
///   0    0      0    0 0:0:0:0          yes
///   1    1      1    1 1:1:1:1          yes
/// available: 2 nodes (0-1)
/// node 0 cpus: 0
/// node 0 size: 64405 MB
/// node 1 cpus: 1
/// node 1 size: 64467 MB
/// node distances:
/// node   0   1
///   0:  10  21
///   1:  21  10
/// ";
/// let read = machine_text::read(text)?;
///
/// assert_eq!(read.machine.nodes().len(), 2);
/// assert_eq!(read.machine.nodes()[1].memory, Some(64467 << 20));
/// assert!(read.assumed.is_empty());
/// # Ok::<(), machine_text::MachineTextError>(())
/// ```
///
/// # Errors
/// [`MachineTextError`]: no output of a machine is in the text, or one that does not tell its CPUs, or outputs contradict
/// each other.
pub fn read(text: &str) -> Result<MachineText, MachineTextError> {
    if text.len() > MAX_TEXT {
        return Err(MachineTextError::TooLarge);
    }
    match split::outputs(text)? {
        (facts, None) => assemble::machine(facts),
        (facts, Some(machine)) => assemble::beside(facts, machine),
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
