//! The kubelet's state files, byte for byte: what it wrote is read, what it reads is written, and what it refuses is
//! refused with its words. Behaves as Kubernetes v1.36.3 or v1.37.1, as [`Forms`] say.
//!
//! | file | module | written by |
//! |---|---|---|
//! | `cpu_manager_state` | [`cpu`] | the CPU manager; formats V1 to V4 |
//! | `memory_manager_state` | [`memory`] | the memory manager; formats V1 to V3 |
//! | `device-plugins/kubelet_internal_checkpoint` | [`device`] | the device manager |
//! | `allocated_pods_state`, `actuated_pods_state` | [`pods`] | the kubelet itself; only read here |
//! | `dra_manager_state` | [`claims`] | the DRA manager; only read here |
//!
//! # The checksum
//!
//! The files of the managers carry a 32-bit FNV-1a hash, of a text that is stored nowhere: the contents as Go's
//! reflection prints them, with Go's names of structures, members and types. A file is accepted if that text,
//! made again from what was read, has the same hash. Blanks, the order of members and unknown members do not
//! matter therefore; null against empty does.
//!
//! CPU format V4 and memory format V3, which kubelets write from v1.37 on, have all contents once more as a
//! text with a separate checksum; that hash is taken of the text itself. The members beside it are those that
//! older kubelets read.
//!
//! # What is accepted
//!
//! What Go's JSON decoder accepts, which is more than the kubelet writes: members in other letter case, members
//! given twice, text that is not UTF-8. Such things are returned as [`Oddities`] for the caller to report.
//!
//! # What it does not know
//!
//! Managers: which CPUs there are, whether sums add up, which pods run. What is read is what is in the file; whether
//! it fits the node is decided where the managers are. Nor what plugins answer: their replies are bytes here.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod cpu;
pub mod memory;
pub mod device;
pub mod pods;
pub mod claims;
pub mod salvage;
#[cfg(feature = "std")]
pub mod store;
mod error;
mod forms;
mod oddity;
mod embedded;
mod format;
mod go;

pub use embedded::form_of;
pub use error::{EmbeddedFault, FileError, Refused};
pub use format::UnknownFormat;
pub use forms::{Baselines, Forms, PodLevel};
pub use go::{JsonError, JsonFault, List, Map};
pub use oddity::{Oddities, Oddity};

/// Permissions of the files.
pub const MODE: u32 = 0o600;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
