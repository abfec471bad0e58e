//! The kubelet's static memory policy as pure decisions: on which NUMA nodes a container's memory and huge pages
//! could be (hints), where they are booked (allocation), and what is left (holdings). Behaves as Kubernetes v1.36.3.
//!
//! A [`Static`] is made once from the memory of a machine and the configuration, and never changes. What is booked
//! is a [`Holdings`], a value: a decision takes one and gives the next, and nothing happens until the caller keeps
//! it. Policy `None` is a caller without a `Static`.
//!
//! # How memory is booked
//!
//! Amounts are booked, not pages: per node and resource a sum of what is reserved and what is free. A request that
//! one node cannot hold binds several nodes into a *group*; until everything on them is released, they serve only
//! requests for exactly this group, and a node that serves alone joins no group. Inside a group amounts are taken
//! from the lowest node first, and given back to the lowest node first; so the figures of a single node of a group
//! drift, while the sums of the group are right.
//!
//! # What it does not know
//!
//! State files, cgroups, other managers, how hints are merged, which pods run and which containers have started.
//! Amounts are plain bytes: that a request is a multiple of the page size is the API server's business.
#![no_std]

extern crate alloc;

mod config;
mod reservation;
mod policy;
mod request;
mod shared_pool;
mod hints;
mod fit;
mod allocate_error;
mod decision;
mod allocate;
mod allocate_pod;
mod resize;
mod counted;
mod holdings;
mod books;
mod block;
mod stored;
mod restore;
mod uneven;
mod variation;
mod drift;
mod regroup;
mod bound;

pub use allocate::{Allocation, Granted};
pub use allocate_error::AllocateError;
pub use allocate_pod::{PodAllocation, PodGranted};
pub use block::{Block, ListedNode, NodeList};
pub use books::Amounts;
pub use bound::{Bound, Enough, HeldBack};
pub use config::{Config, Readmission, UnevenGroup, WrappedTables};
pub use counted::{Counted, Source};
pub use decision::Decision;
pub use drift::{Drifted, Restored};
pub use hints::{OnNode, Opinion, Silent};
pub use holdings::Holdings;
pub use pod_spec::PodLevel;
pub use policy::Static;
pub use regroup::{Moved, Regrouped};
pub use request::{NotInt64, NotPinned, Request, RequestError};
pub use reservation::{ConfigError, OtherSum, OtherSums, Reservation, Reservations};
pub use resize::ResizeError;
pub use restore::StateError;
pub use shared_pool::{EmptySharedPool, UsedUp};
pub use stored::{Stored, StoredBlock, StoredContainers, StoredNode, StoredTable};
pub use uneven::UnevenPages;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
