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
//!
//! # Where things are
//!
//! - How a pod is admitted: `crates/admission/src/attempt/steps.rs`. It walks a pod's containers, asks the managers,
//!   merges their answers, allocates on a copy of the ledger, then checks node-wide capacity. `attempt.rs` above it
//!   holds the result, `explain/trial.rs` searches for changes that would fit, `series.rs` admits pods one after the
//!   other.
//! - How a pod chooses its rules by annotations: `crates/admission/src/node/pod_policy.rs`; what it may choose:
//!   `crates/node-config/src/pod_policy.rs`.
//! - Which pods have to restart so that a refused one fits: `crates/admission/src/repack.rs` says what a plan is;
//!   `repack/search.rs` looks for the smallest, `repack/orders.rs` tries the orders of deletions and creations. A node
//!   that is served moves them: `crates/node-agent/src/owner/moves.rs`; all or none, by the file of
//!   `crates/node-state/src/moves.rs`. In which order cgroups change: `crates/node-agent/src/owner/order.rs`. What
//!   people get: `docs/repack.md`.
//! - Which of equally good NUMA nodes a unit gets where a placement strategy decides:
//!   `crates/admission/src/placement.rs`; what the strategies do: `docs/placement.md`. Which CPUs and devices of these
//!   nodes, so that caches and switches stay whole: `keep_whole.rs` of `crates/cpu-manager` and of
//!   `crates/device-manager`.
//! - How pods wait for device plugins that come late: `crates/admission/src/attempt/deferral.rs` decides who waits,
//!   `crates/node-agent/src/owner/deferred.rs` has them wait.
//! - How a pod that holds CPUs alone is resized: `crates/admission/src/resize.rs` works it out,
//!   `crates/cpu-manager/src/resize.rs` chooses the CPUs, `crates/node-agent/src/owner/resize.rs` has it happen; the
//!   rules: `docs/resize.md`.
//! - Whose answer it is (`--for kubelet|topolet`): `crates/node-config/src/decided_by.rs`, `Compat` in
//!   `crates/admission/src/node/compat.rs`.
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
    Answered, Detail, HandedOn, NodeAmounts, ResourceTrace, RowKind, Search, Trace, UnitName, UnitTrace,
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
pub use node::start::{RootFileSystem, StartError, StartFault, StartOptions, pod_rules};
pub use node::{Node, NodeSetup, Origin, PodAllocations};
pub use placement::PodKinds;
pub use pod_spec::PodLevel;
pub use repack::apply::{Applied, ApplyError, Differs};
pub use repack::movable::{LIVE, LeftAlone};
pub use repack::plan::{Hopeless, Plan, Repack, Step};
pub use resize::sizes::{Size, SizeError, Sizes};
pub use resize::{Largest, NotNow, ResizeAttempt, ResizeRequestError, When};
pub use series::{Decided, Outcome, Series};
pub use stored::{RestoreError, RunningPods, StoredHoldings};
