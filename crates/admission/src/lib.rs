#![doc = include_str!("../README.md")]
//!
//! # The way of a pod
//!
//! [`Node::attempt`] does the kubelet's steps on a copy of the [`Ledger`]: for each unit (container or pod, by
//! scope) the managers answer, the policy merges, and if it admits, the managers allocate near the merged node
//! set: devices, then CPUs, then memory, then providers of your own. A device plugin that has to be asked on the way
//! ends the attempt in its question. At last the node as a whole must have enough. The outcome is an [`Attempt`]: a
//! verdict and the ledger as those steps left it. Nothing has happened yet; [`Ledger::commit`] makes it so, all at
//! once. [`Node::trace`] says besides what each node could give, and [`Node::explain`] what would have fitted.
#![no_std]

extern crate alloc;

mod compat;
mod counted;
mod node;
mod start;
mod layered;
mod ledger;
mod residents;
mod collect;
mod attempt;
mod steps;
mod allocate;
mod identity;
mod fit;
mod preempt;
mod refusal;
mod trace;
mod standing;
mod change;
mod explain;
mod trial;
mod waits;
mod asks;
mod series;
mod other_node;
mod stored;
mod runs;

pub use attempt::{Attempt, Placed, Placement, Rules, Verdict};
pub use change::{Asks, Change};
pub use compat::{Compat, RefusedPod};
pub use counted::Counted;
pub use cpu_manager::ContainerId;
pub use explain::{Explanation, OnEmptyNode, Plugins, Search, Tries, WouldFit};
pub use fit::Shortage;
pub use identity::{Identity, Mismatch};
pub use ledger::{Ledger, SourcesReady, Stale, Version};
pub use node::{Node, NodeSetup, PodLevel};
pub use preempt::NobodyToPreempt;
pub use refusal::{Cause, Reason, Refused};

pub use series::{Decided, Outcome, Series};
pub use standing::Standing;
pub use start::{StartError, StartFault};
pub use stored::{RestoreError, RunningPods, StoredHoldings};
pub use trace::{Answered, Cell, Detail, NodeAmounts, ResourceTrace, Trace, UnitName, UnitTrace};
