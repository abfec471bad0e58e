//! hwloc's reading of a machine, as the same [`Machine`]: the running one, a tree of files, an XML file that `lstopo`
//! wrote, or a synthetic description.
//!
//! hwloc knows less of the files and more of the world: it reads other systems, and mends what firmware says. Its
//! opinion differs from ours where
//!
//! - a node has no CPUs: hwloc gives it those of the nearest nodes. Here a CPU belongs to the lowest node that has it,
//!   which are those with CPUs on every machine known;
//! - the kernel contradicts itself: hwloc drops all nodes that overlap, and makes one of everything;
//! - CPU 0 is offline: hwloc 2.9 gives up, and describes so many CPUs as the computer that it runs on has;
//! - a PCI device has only a list of its CPUs, no mask: hwloc has it at the whole machine.
//!
//! It does not tell what the kernel could do but does not, such as nodes that could be plugged in, nor which functions
//! of a card are virtual; these are `None`, or absent.

mod parts;

use hwlocality::Topology;
use hwlocality::errors::RawHwlocError;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, StringInputError, TopologyBuilder, TypeFilter};
use thiserror::Error;
use topology_model::{InvalidMachine, Machine};

/// Larger texts are refused: the XML of the largest machine known has an eighth of it.
const MAX_TEXT: usize = 32 << 20;

/// What hwloc reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HwlocSource<'a> {
    /// The running machine.
    Live,
    /// The tree of files that the environment variable `HWLOC_FSROOT` names. hwloc takes it from nowhere else.
    Tree,
    /// The content of an XML file.
    Xml(&'a str),
    /// A synthetic machine in hwloc's notation: `pack:2 numa:1 l3:1 core:8 pu:2`.
    Synthetic(&'a str),
}

/// Why hwloc tells no machine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HwlocError {
    /// The text is no XML of hwloc's, or no synthetic description.
    #[error("hwloc refuses the text")]
    Text(#[from] StringInputError),
    /// Too long a text.
    #[error("text for hwloc is larger than {most} MiB", most = MAX_TEXT >> 20)]
    TooLarge,
    /// It refuses to be set up with the input.
    #[error("hwloc refuses to be set up: {0}")]
    SettingError(String),
    /// It fails.
    #[error("hwloc fails")]
    Build(#[from] RawHwlocError),
    /// It read this machine instead of the tree, or the other way round.
    #[error(
        "hwloc read {0}: HWLOC_FSROOT, HWLOC_XMLFILE or HWLOC_SYNTHETIC says something else than was asked"
    )]
    OtherMachine(&'static str),
    /// What it tells does not fit together.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
}

/// Reads a machine with hwloc.
///
/// ```
/// use topology_discovery::{HwlocSource, read_with_hwloc};
///
/// let machine = read_with_hwloc(HwlocSource::Synthetic("pack:2 numa:1 l3:1 core:4 pu:2"))?;
/// assert_eq!(machine.cores().len(), 8);
/// # Ok::<(), topology_discovery::HwlocError>(())
/// ```
pub fn read_with_hwloc(source: HwlocSource<'_>) -> Result<Machine, HwlocError> {
    let topology = topology(source)?;
    match source {
        HwlocSource::Live if !topology.is_this_system() => {
            return Err(HwlocError::OtherMachine("another machine"));
        }
        HwlocSource::Tree if topology.is_this_system() => {
            return Err(HwlocError::OtherMachine("this machine"));
        }
        _ => {}
    }
    Ok(Machine::new(parts::parts(&topology))?)
}

fn topology(source: HwlocSource<'_>) -> Result<Topology, HwlocError> {
    let builder = TopologyBuilder::new();
    let builder = match source {
        HwlocSource::Live => builder,
        // The instruction that tells of processors tells of this one.
        HwlocSource::Tree => builder.without_component("x86").map_err(set_up)?,
        HwlocSource::Xml(text) | HwlocSource::Synthetic(text) if text.len() > MAX_TEXT => {
            return Err(HwlocError::TooLarge);
        }
        HwlocSource::Xml(text) => builder.from_xml(text)?,
        HwlocSource::Synthetic(text) => builder.from_synthetic(text)?,
    };
    let builder = builder.with_flags(BuildFlags::INCLUDE_DISALLOWED).map_err(set_up)?;
    let builder = builder.with_io_type_filter(TypeFilter::KeepAll).map_err(set_up)?;
    let builder = builder.with_cpu_icache_type_filter(TypeFilter::KeepAll).map_err(set_up)?;
    let builder = builder.with_type_filter(ObjectType::Die, TypeFilter::KeepAll).map_err(set_up)?;
    Ok(builder.build()?)
}

fn set_up<E: Into<SettingError>>(error: E) -> HwlocError {
    HwlocError::SettingError(error.into().0)
}

/// What hwloc says of a setting that it refuses.
struct SettingError(String);

impl<E: std::fmt::Display> From<E> for SettingError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
