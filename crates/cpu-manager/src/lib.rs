//! The kubelet's static CPU policy as pure decisions: where a container's CPUs could be (hints), which CPUs it
//! gets (allocation), and what is left (holdings). Behaves as Kubernetes v1.36.3, or as the rules of another release say
//! that [`Config`] has.
//!
//! A [`Static`] is made once from the CPUs of a machine and the configuration, and never changes. What containers
//! hold is a [`Holdings`], a value: a decision takes one and gives the next, and nothing happens until the caller
//! keeps it. Policy `none` is a caller without a `Static`.
//!
//! # How CPUs are chosen
//!
//! [`Allocator`] takes the largest free units first: whole NUMA nodes and sockets, then whole cores, then single
//! CPUs; among units of one kind those with the fewest free CPUs, so that what is broken is used up before what is
//! whole is broken. Each policy option is either one more *stage* between those, or another *order* of the last
//! stage, or (spreading over nodes) a choice of how much each node gives before the stages run in each. Which CPUs of a
//! node are taken is decided otherwise with [`Fit::Best`], so that caches stay whole.
//!
//! [`Options`] says of each policy option what it changes: the order ([`Order`]), whole cores, reserved CPUs, alignment.
//!
//! # Around the policy
//!
//! What a running kubelet remembers of containers is another value, [`Containers`]: reconciling takes statuses and
//! gives the updates to be sent. Dead pods are collected by [`Holdings::collect`] when the caller says which live. What
//! a decision adds to the kubelet's metrics is a part of it ([`Decision::counted`]), so that an attempt that is thrown
//! away counts nothing.
//!
//! # What it does not know
//!
//! Files, cgroups, other managers, which hints were merged how, which pods run, and the texts of the policy
//! options: [`Options`] is typed, and the reader of the configuration converts the texts.
//!
//! # Where things are
//!
//! - How CPUs are chosen: `take.rs`. When `full-pcpus-only` refuses a container, with `SMTAlignmentError`: `allocate.rs`, and for
//!   a resize `resize.rs`.
#![no_std]

extern crate alloc;

mod config;
mod policy;
mod room;
mod guaranteed;
mod hints;
mod granted;
mod allocate_error;
mod decision;
mod allocate;
mod allocate_pod;
mod resize;
mod isolation;
mod holdings;
mod restore;
mod variation;
mod containers;
mod reconcile;
mod metrics;
mod take;
mod cache;
mod cache_alignment;
mod keep_whole;
mod distribute;
mod sharing;
mod remainder;
mod work;
mod balance;
mod walk;
mod units;

// What signatures name: one dependency is enough for decisions.
pub use {cpuset, kubelet_release, numa_bitmask, pod_spec, topology_hint, topology_model};

pub use allocate::Allocation;
pub use allocate_error::{AllocateError, CacheSplit, WholeCoresError};
pub use allocate_pod::PodAllocation;
pub use config::{
    Alignment, Baselines, BusySibling, Config, FullNode, Options, Order, PodBubble, ReservationError,
    Reserved, ReservedCpus, WholeCores,
};
pub use containers::{ContainerId, Containers, Update};
pub use decision::Decision;
pub use granted::{Granted, PodGranted, PodShare};
pub use guaranteed::{EmptySharedPool, NotPinned};
pub use hints::OnNode;
pub use holdings::{Collected, Holdings, TwoOwners};
pub use isolation::{CpuQuota, Isolation, QuotaWithExclusiveCpus};
pub use metrics::{Aligned, Assigned, Change, Metric, NamedMetric, Source};
pub use node_config::{CacheAlignment, Fit};
pub use pod_spec::PodLevel;
pub use policy::{ConfigError, Static};
pub use reconcile::{ContainerState, Status};
pub use resize::{NotResized, ResizeError};
pub use restore::StateError;
pub use room::Within;
pub use take::{Allocator, TakeError};
pub use walk::{Walk, WalkEnd};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
