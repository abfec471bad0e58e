#![doc = include_str!("../README.md")]
//!
//! # How a merge is computed
//!
//! The kubelet visits every combination of one hint from each list. Only the set of reachable results matters,
//! not how often or in which order they are reached, so the same answer comes from two searches:
//!
//! 1. *Preferred*: a node set that every answer prefers (or has a preferred hint without a node set in its
//!    place). The narrowest wins, then the closest, then the lowest number. See `preferred`.
//! 2. *Otherwise*: the node sets that arise as intersections of one accepted set of each answer. Those of the
//!    size that the most demanding answer needs win, then smaller ones, then larger ones. See `rooms`.
//!
//! Cost: the first is linear in the hints, the second at most the number of node sets for each answer; families
//! over many nodes are searched by size, bounded by a [`WorkLimit`].
#![no_std]

extern crate alloc;

mod policy;
mod merge;
mod part;
mod single;
mod dense;
mod preferred;
mod rooms;
mod zone;
mod share;
mod lowest;
mod closest;
mod several;
mod trace;
mod distance;
mod work;

pub use distance::{DistanceIndex, Distances, MissingDistance, Ties};
pub use policy::{Admit, KubeletPolicy, MergeError, Merged, Policy};
pub use trace::{Candidate, Fit, MergeTrace, Places, Said, Why};
pub use work::WorkLimit;
