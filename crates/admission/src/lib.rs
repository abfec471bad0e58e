#![doc = include_str!("../README.md")]
//!
//! # The way of a pod
//!
//! [`Admission::attempt`] does the kubelet's steps on a copy of the [`Ledger`]: for each unit (container or pod, by
//! scope) the managers answer, the policy merges, and if it admits, the managers allocate near the merged node
//! set: devices, then CPUs, then memory, then providers of your own. A device plugin that has to be asked on the way
//! ends the attempt in its question. At last the node as a whole must have enough. The outcome is an [`Attempt`]: a
//! verdict and the ledger as those steps left it. Nothing has happened yet; [`Ledger::commit`] makes it so, all at
//! once. [`Admission::trace`] says besides what each node could give, and [`Admission::explain`] what would have fitted.
#![no_std]

extern crate alloc;

mod node;
mod ledger;
mod placement;
mod attempt;
mod repack;
mod resize;
mod explain;
mod series;
mod stored;

// What signatures name: one dependency is enough for an admission.
pub use {
    cpu_manager, device_manager, memory_manager, node_config, numa_bitmask, pod_spec, topology_hint,
    topology_model, topology_policy,
};

pub use attempt::admission::Admission;
pub use attempt::counted::Counted;
pub use attempt::deferral::Deferral;
pub use attempt::not_linked::NotLinked;
pub use attempt::preempt::NobodyToPreempt;
pub use attempt::refusal::{Cause, Reason, Refused};
pub use attempt::standing::Standing;
pub use attempt::trace::{
    Answered, Detail, HandedOn, NodeAmounts, ResourceTrace, Search, Trace, UnitName, UnitTrace,
};
pub use attempt::{Attempt, Placed, Placement, Rules, Verdict};
pub use cpu_manager::ContainerId;
pub use explain::change::{Asks, Change, Move, Turn};
pub use explain::explanation::{Explanation, Limits, OnEmptyNode, Plugins, Tries, WouldFit};
pub use explain::made::Changed;
pub use ledger::{Ledger, SourcesReady, Stale, Version};
pub use node::choice_error::ChoiceError;
pub use node::compat::{Compat, RefusedPod, Searches};
pub use node::fit::Shortage;
pub use node::identity::{Identity, Mismatch};
pub use node::pod_policy::{Chosen, KubeletAgain};
pub use node::room::{Cell, Room};
pub use node::start::{StartError, StartFault, pod_rules};
pub use node::{Node, NodeSetup, Origin, PodAllocations};
pub use pod_spec::PodLevel;
pub use repack::apply::{Applied, ApplyError, Differs};
pub use repack::movable::{LIVE, LeftAlone};
pub use repack::plan::{Hopeless, Plan, Repack, Step};
pub use resize::sizes::{Size, SizeError, Sizes};
pub use resize::{Largest, NotNow, ResizeAttempt, ResizeRequestError, When};
pub use series::{Decided, Outcome, Series};
pub use stored::{RestoreError, RunningPods, StoredHoldings};
