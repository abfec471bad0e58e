//! Sets of CPUs: the kubelet's list text, the kernel's list and mask texts, and set algebra.
//!
//! A [`CpuSet`] is bit words, so union, intersection and difference of a 512-CPU machine are eight operations; up to
//! 256 CPUs nothing is allocated.
//! Ids are bounded by the kernel's own limit ([`CpuId::LIMIT`]); text that names more is refused without being
//! expanded, so `0-99999999999` costs nothing.
//!
//! Three grammars, three functions, because what one accepts another refuses:
//!
//! | text | function |
//! |---|---|
//! | the kubelet's options and state files: `0-3,8`, no blank, no newline | [`FromStr`](core::str::FromStr) |
//! | kernel files and cgroup files: a newline, an empty line, strides `0-31:1/2` | [`CpuSet::from_kernel_list`] |
//! | kernel mask files: `ff,ffffffff` | [`CpuSet::from_kernel_mask`] |
//!
//! The kubelet's errors are those of Go's number parser, so that parser and its quoting are here too
//! ([`go_atoi`], [`go_quote`]) for others who have to give the same texts.
//!
//! This crate does not know machines: not which CPUs exist, nor which are online, siblings or near each other.
#![no_std]

extern crate alloc;

mod algebra;
mod go;
mod id;
mod kernel;
mod list;
mod regular;
#[cfg(feature = "serde")]
mod serde;
mod set;

pub use go::{AtoiError, GoQuoted, go_atoi, go_quote};
pub use id::{CpuId, CpuOutOfRange};
pub use kernel::{KernelListError, KernelMask, KernelMaskError};
pub use list::ParseError;
pub use regular::RegularList;
pub use set::{CpuSet, Iter};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
