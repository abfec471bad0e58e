#![doc = include_str!("../README.md")]
//!
//! # The parts of a report
//!
//! [`Facts`] names what a decision was made of; a [`Report`] is made from them once, and everything is read off it:
//! its fields are values, [`Display`](core::fmt::Display) gives sentences, and serde gives JSON. No text is made from
//! JSON, and none is parsed again.
//!
//! - [`Conclusion`]: what came out. For an admitted pod one [`ContainerReport`] each: CPUs, memory, devices, NUMA nodes.
//! - [`Fated`]: what happens in place of a kubelet's answer, or with it, and what avoids it.
//! - [`AdmissionQueue`]: pods behind one without an answer.
//! - [`Refusal`]: the kubelet's reason and message, the [`Obstacle`]s behind them, and every [`Alternative`] under which
//!   the pod was admitted when it was tried.
//! - [`BriefReason`]: the same in so few words that many nodes say the same, from [`Facts::brief`].
//! - [`UnitReport`]: one merge of topology hints, with what each NUMA node has of each resource.
//! - [`Note`]: what the owner of the pod may not expect, with a [`Severity`].
//!
//! # Where a sentence is written
//!
//! Beside the type that it is about: why a pod does not fit in `obstacle.rs`, `lacks.rs`, `handed_on.rs` and `grouped.rs`, notes in
//! `note.rs`, what would fit in `alternative.rs`, answers and node sets of a merge in `merge.rs`.
//!
//! # Where things are
//!
//! - Why a pod is refused: `crates/admission-report/src/why.rs` finds the obstacles. `obstacle.rs` beside it has their
//!   sentences, and `refusal.rs` says whether the pod would fit later. The kubelet's reason and message are written in
//!   `crates/admission/src/attempt/refusal.rs`. `crates/node-output/src/decision.rs` draws the table,
//!   `decision_picture.rs` beside it the picture.
#![no_std]

extern crate alloc;

mod facts;
mod report;
mod conclusion;
mod resize;
mod queue;
mod refusal;
mod kubelet_refusal;
mod deferred;
mod why;
mod obstacle;
mod brief;
mod lacks;
mod grouped;
mod handed_on;
mod links;
mod unavailable;
mod unsuited;
mod alternative;
mod moves;
mod container;
mod device_set;
mod claims;
mod decided_claims;
mod claim_alignment;
mod held_claims;
mod claim_remedy;
mod unchecked;
mod undecided;
mod unit;
mod closed;
mod merge;
mod chosen;
mod note;
mod faults;
mod notes;
mod placed_beside;
mod notice;
mod parts_of_bytes;
mod unread_bytes;
mod resource;
mod room;
mod json;
#[cfg(feature = "schema")]
pub mod schema;
mod words;

pub use alternative::{Alternative, Ask, HintNodes, Place, Remedy};
pub use brief::{BriefReason, Wanted};
pub use chosen::{ChosenRules, RuleSource};
pub use claim_alignment::{
    Alignment, ContainerClaim, DeviceCounts, DevicesOnNode, UnknownDevices, WhyElsewhere,
};
pub use claim_remedy::{BoundMemory, ClaimRemedy};
pub use claims::{UndecidedClaims, claims_notice};
pub use closed::Closed;
pub use conclusion::{Conclusion, Fated};
pub use container::{ContainerReport, MemoryBlock};
pub use decided_claims::{ClaimedDevice, DecidedClaim, DecidedClaims, SearchCost, Unschedulable};
pub use deferred::Deferred;
pub use device_set::DeviceSet;
pub use facts::{Facts, NamedPod, UserAdvice};
pub use grouped::{BoundNodes, GroupedMemory, HeldBackMemory, Sufficiency};
pub use handed_on::HandedOnCpus;
pub use kubelet_refusal::KubeletRefusal;
pub use lacks::{Deficit, Lack, Lacks, NodeGroup};
pub use links::LinkedDevices;
pub use merge::{Answer, Candidate, MergeReport, NodeSets};
pub use moves::{MoveStep, MovesReport, MovesVerdict, PlanReport};
pub use note::{MemoryMove, Note, Remark, SharingReason};
pub use notice::{Notice, Severity};
pub use obstacle::{MachineLack, Obstacle, SetSize, WiderSet};
pub use parts_of_bytes::PartsOfBytes;
pub use placed_beside::{BesideHint, FewPages};
pub use queue::AdmissionQueue;
pub use refusal::Refusal;
pub use report::Report;
pub use resize::{LargestSize, NodeOfResize, ResizeRefusal, ResizeReport, ResizedContainer};
pub use resource::Resource;
pub use room::{NodeRoom, ResourceRoom};
pub use unchecked::{UncheckedResource, unchecked_notice, unchecked_resources, why_unchecked};
pub use undecided::{Undecided, UnlistedDevices};
pub use unit::{Cell, NodeCell, ResourceReport, UnitReport};
pub use unread_bytes::UnreadBytes;
pub use unsuited::Unsuited;

// The crates whose types are in the signatures here.
pub use {cpuset, device_manager, kubelet_fates, node_config, pod_spec, topology_admission, topology_model};
