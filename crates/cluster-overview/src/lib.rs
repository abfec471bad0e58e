#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - What is listed: `crates/cluster-overview/src/objects.rs`; how states of nodes are read: `states.rs` beside it; which pods
//!   count, for a refusal `recent.rs` and for what was asked for `counts.rs`; what is free, what fits and what is wrong of one node:
//!   `rows.rs` beside it; the table: `table.rs`.

mod objects;
mod counts;
mod recent;
mod states;
mod rows;
mod asked;
mod overview;
mod table;
#[cfg(test)]
mod overview_tests;

pub use self::asked::AskedPod;
pub use self::objects::ClusterObjects;
pub use self::overview::ClusterOverview;
pub use self::recent::RecentPods;
pub use self::rows::{FreeAmount, FreeResource, NodeRow, RowBasis};
pub use self::states::{ReadState, StateReader};
pub use self::table::{Detail, RowOrder};
