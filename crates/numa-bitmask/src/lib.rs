//! Sets of NUMA nodes as one machine word, with the two orders and the enumeration that topology managers use.
//!
//! A [`NodeMask`] holds *positions* of nodes ([`NodeIndex`], dense, in ascending node id), not node ids:
//! a POWER9 has nodes 0, 8 and 250 to 255, and none of the ids above 63 fits a word.
//! Positions and ids sort alike, so every tie that the kubelet breaks by "the smaller mask" is broken the same way.
//!
//! This crate does not know ids, machines, distances or hints. There is no `Display`: code that knows the
//! machine prints ids.
#![no_std]

extern crate alloc;

mod bits;
mod combinations;
mod index;
mod mask;
mod positions;

pub use bits::Bits;
pub use combinations::{Combinations, combinations};
pub use index::{NodeIndex, OutOfRange};
pub use mask::{Members, NodeMask, Subsets};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
