//! A node as other programs want it: a `NodeResourceTopology` for schedulers that know NUMA nodes.

mod fingerprint;
mod nrt;

pub(crate) use fingerprint::{Fingerprint, Method};
pub(crate) use nrt::{NodeResourceTopology, Seen};
