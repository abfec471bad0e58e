//! Releases of the kubelet, and the rules of its resource managers that differ between them.
//!
//! A [`Release`] is a value, and a [`Version`] one of its patch releases; [`Rules`] is the table of what it
//! decides by, one field for each rule that some releases have otherwise. A crate that implements such a rule
//! takes the field's value as an argument and never compares versions. [`Rule`] names the fields, so that
//! [`Rules::with`] can take one rule of another release, which finds the rule behind a difference.
//!
//! A [`Fault`] is what releases do wrong: which have it, its consequence and what avoids it.
//!
//! It does not know pods, machines or configurations, and implements none of the rules.
#![no_std]

mod release;
mod value;
mod rules;
mod fault;

pub use fault::{Fault, Page, Standing};
pub use release::{Release, UnknownRelease, Version};
pub use rules::{Rule, Rules};
pub use value::{
    AlignedShare, CheckpointForm, DefaultedBy, DeviceHintNodes, EmptyMemoryRequest, FlagTable, FlagTexts,
    GateTable, MemoryThrottling, MetricPrefix, OptionStage, PluginsPerResource, PodAllocationsForm,
    PodResourcesTold, PodSysctls, PodsOfGateOff, QosBy, RunningInstances, StorageForm, WholeCoreCheck,
};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
