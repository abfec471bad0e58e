#![doc = include_str!("../README.md")]
//!
//! # How a merge is computed
//!
//! The kubelet visits every combination of one hint from each list. Only the set of reachable results matters,
//! not how often or in which order they are reached, so the same answer comes from two searches:
//!
//! 1. *Preferred*: a node set that every answer prefers (or has a preferred hint without a node set in its
//!    place). The narrowest wins, then the closest, then the lowest number. See `preferred`; where all prefer single
//!    nodes no search is needed (`one_node`).
//! 2. *Otherwise*: the node sets that arise as intersections of one accepted set of each answer. Those of the
//!    size that the most demanding answer needs win, then smaller ones, then larger ones. See `rooms`.
//!
//! Lists on machines of up to twelve nodes go through bitmaps of node sets (`dense`). Everything else becomes a few
//! *zones*: nodes to choose from, and conditions that are closed upwards (`zone`). In a zone the lowest set of one
//! size is found by asking, node by node, whether one can do without it (`lowest`), the closest or least scored one by
//! branch and bound (`closest`). The question itself is answered by covering needs with few nodes, or where several open parts
//! share out what is left over, by packing (`share`).
//!
//! Cost: linear in the hints for preferred lists; a few passes over 2^n bits for others up to twelve nodes; for
//! families polynomial wherever nodes fall into few classes or one condition decides. The rest is NP-hard in theory
//! and bounded by a [`WorkLimit`]. Nothing is allocated while answers are of ordinary length.
#![no_std]

extern crate alloc;

mod outcome;
mod policy;
mod options;
mod merge;
mod part;
mod single;
mod dense;
mod one_node;
mod preferred;
mod rooms;
mod zone;
mod share;
mod lowest;
mod closest;
mod costs;
mod several;
mod trace;
mod distance;
mod scores;
mod work;

// What signatures name: one dependency is enough for a merge.
pub use {numa_bitmask, pod_spec, topology_hint};

pub use distance::{DistanceIndex, Distances, MissingDistance, Ties};
pub use options::MergeOptions;
pub use outcome::{Admit, MergeError, Merged};
pub use policy::KubeletPolicy;
pub use scores::NodeScores;
pub use trace::{AnswerSummary, Candidate, MergeReason, MergeTrace, ServableSets, Suitability};
pub use work::WorkLimit;
