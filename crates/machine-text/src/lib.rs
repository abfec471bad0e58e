//! Reads a machine from what tools print of it: `lscpu` in each of its forms, `numactl --hardware`, `/proc/meminfo`, `lstopo`
//! as a drawing of text and as XML, `lspci`, `virsh capabilities`, and a kubelet's line about its CPUs; a virtual machine from its
//! domain of libvirt or its command line of QEMU; and one as far as a `NodeResourceTopology` or a `Numatopology` describes it.
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
//! - What a kernel finds in a virtual machine: `crates/machine-text/src/guest.rs`.
//! - What objects of a cluster tell: `crates/machine-text/src/object.rs`.
//! - What shows that an output is cut off: `crates/machine-text/src/assemble/agree.rs`.

mod assemble;
mod counts;
mod error;
mod facts;
mod form;
mod lack;
mod guest;
mod machine_text;
mod object;
mod qemu;
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
    let mut read = match split::outputs(text)? {
        (facts, None) => assemble::machine(facts),
        (facts, Some(machine)) => assemble::beside(facts, machine),
    }?;
    read.unread.extend(OtherForm::is_matrix(text).then_some(OtherForm::NvidiaTopology));
    Ok(read)
}

/// Reads a machine from the `NodeResourceTopology` or `Numatopology` of the node called `name`, of a text with those of several nodes.
///
/// # Errors
/// [`MachineTextError`]: it has none of that node ([`MachineTextError::Unknown`]), or two, or one that is wrong.
pub fn read_node(text: &str, name: &str) -> Result<MachineText, MachineTextError> {
    if text.len() > MAX_TEXT {
        return Err(MachineTextError::TooLarge);
    }
    object::read(text, Some(name))
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
