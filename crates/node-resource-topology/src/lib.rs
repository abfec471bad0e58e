#![doc = include_str!("../README.md")]
//!
//! # Zones
//!
//! Zones have the names that the exporters of the scheduler plugins give them: `node-0`, of type `Node`. *Capacity* is
//! what the NUMA node has, *allocatable* what its managers may give to pods, *available* what no pod holds. A manager
//! whose policy is `none` allocates nothing by NUMA node, so everything that a node has is available there.
//!
//! [`names`] has the attributes. Those beginning with `topolet.dev/` say what amounts cannot: memory that pods bind
//! together over several NUMA nodes, and cores that are free as a whole.
#![no_std]

extern crate alloc;

mod object;
pub mod names;
mod facts;
mod node;
mod placement;
mod fingerprint;
mod amounts;
mod comparison;
mod whole;

pub use amounts::{Allocates, PublishedPolicies, UnreadableZones, ZoneAmount, ZoneAmounts};
pub use comparison::{AskedAmount, Enough, UnitComparison};
pub use facts::NodeFacts;
pub use fingerprint::{Fingerprint, FingerprintMethod, UnnamedPods};
pub use object::{Attribute, Cost, Metadata, NodeResourceTopology, Resource, Zone};
pub use whole::{WholeAmount, WholeNode};
