#![doc = include_str!("../README.md")]
//!
//! # What a node is judged by
//!
//! 1. *Its own state* ([`NodeFacts::Exact`]): an attempt of `topology-admission` on the ledger that the node has
//!    published. Pods that were bound to it and that it has not published yet are *assumed*: they are admitted
//!    on that ledger first, in the order of binding. Device plugins are taken to prefer no device and to refuse
//!    none.
//! 2. *Published amounts* ([`NodeFacts::Approximate`]) where another producer publishes a `NodeResourceTopology`: see
//!    [`Zones`].
//! 3. *Nothing*: every pod passes, and [`Knowledge::Unknown`] says so.
//!
//! A pod that is being deleted may be on the node still or not, and a pod that was bound lies elsewhere if it came before the
//! other had gone. Another pod passes only if it fits in every such order. Of more than 32 orders three are looked at: those
//! that have ended went first and the others have not gone, all went first, all went last.
//!
//! A pod that has passed a filter and is not bound yet is *in flight*: it may come to any of the nodes that it was
//! offered, or to none. Another pod passes such a node only if it fits without it and both fit together, whichever comes
//! first. With up to three pods in flight at a node every
//! combination of them is tried; with more, all of them together and none.
//!
//! A pod that fits only because the kubelet would end other pods for it (a critical one) does not fit here: ending pods
//! is for the scheduler's own preemption to decide.
//!
//! # The score
//!
//! From 0 to 10, or in finer steps ([`Score::of`]), in bands: alignment decides first, and only inside a band the node wins
//! where the room that the pod takes away is worth least.
//!
//! | band | the pod lies |
//! |---|---|
//! | 8 to 10 | on one NUMA node, or it has nothing that has a place |
//! | 6 to 7 | each container on one NUMA node, not all on the same |
//! | 4 to 5 | each container on one NUMA node, and a device of it is near another |
//! | 2 to 3 | a container on two NUMA nodes |
//! | 0 to 1 | a container on more |
//!
//! By published amounts a pod that fits one zone gets 5, another one 0.
//!
//! Room is counted for the kinds of pods that [have come](View::learn), or [are given](View::pin_mix): how many more of each fit a
//! node by NUMA node ([`PodKinds`](topology_admission::PodKinds)). What a pod takes away is the difference that its placement by
//! the node's own rule makes. It is worth the more, the fewer such places all nodes have, and the more often such pods come. The
//! node of a band that loses least gets the top of it, and the one that loses most the bottom. Without a mix the node that
//! becomes fuller is better: how full is the mean, over the resources that the pod asks for and that NUMA nodes have, of what is
//! allocated after it.
//!
//! # What is decided when
//!
//! A verdict depends on the *shape* of a pod (everything but its name, UID, priority and what kube-scheduler itself
//! checks) and on the state of a node. Nodes that share one [`Arc`](alloc::sync::Arc) of their `Node` and whose ledgers
//! decide alike ([`Ledger::decides_like`](topology_admission::Ledger::decides_like)) are one *situation*, and a verdict
//! is kept with the situation. So a filter decides each situation once for each shape, and after a change only what has
//! changed. Verdicts of the last [64](View::remembering) shapes are kept. What is left to decide is divided among
//! [`Threads`].
//!
//! The view is a value without locks: one thread owns it, and passes events to it. It knows no time, so its
//! owner ends the offers of pods that will not be bound ([`View::gone`]).
//!
//! # Where things are
//!
//! - What a scheduler gets for a pod and many nodes: `crates/scheduler-extender/src/filter.rs`; which pods are
//!   counted that a node does not know yet: `member.rs` and `in_flight.rs` beside it; the one-line reasons:
//!   `crates/admission-report/src/brief.rs`.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod view;
mod member;
mod order;
mod shared_nodes;
mod in_flight;
mod filter;
mod judgement;
mod score;
mod preempt;
mod basis;
mod zones;
mod shape;
mod question;
mod situation;
mod mix;
mod rooms;
mod threads;

pub use judgement::{ClaimElsewhere, ClaimRule, Judgement, Knowledge, Reason, Verdict};
pub use member::{NodeFacts, NodeState, StateVersion, Updated};
pub use preempt::Sparing;
pub use score::Score;
pub use shared_nodes::SharedNodes;
#[cfg(feature = "std")]
pub use threads::ScopedThreads;
pub use threads::{OneThread, Threads};
pub use view::{Size, View};
pub use zones::Zones;

// What signatures name.
pub use {admission_report, node_resource_topology, pod_spec, topology_admission};
