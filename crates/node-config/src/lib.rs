//! The kubelet's configuration of its resource managers: what may be set, the defaults, and the checks with the
//! kubelet's texts.
//!
//! It does not know YAML, files, machines or pods: what a check needs of a machine is handed in as plain facts.
//!
//! [`KubeletConfiguration::validate`] in `validate.rs` makes the checks that the kubelet makes of the configuration as a whole;
//! those that it makes when it creates its managers are in `cpu.rs`, `memory.rs`, `topology.rs` and `reserved_memory.rs`.
#![no_std]

extern crate alloc;

mod configuration;
mod duration;
mod validate;
mod gates;
mod topology;
mod cpu;
mod memory;
mod own;
mod decided_by;
mod pod_policy;
mod device_links;
mod reserved_memory;
mod allocatable;
mod eviction;
mod reporting;
mod sysctl;
mod flags;
mod boolean;
mod go_float;
#[cfg(feature = "serde")]
mod serde;

pub use allocatable::{
    Amounts, CapacityFacts, Reservation, ReservationError, ReservedAmountError, ReservedFor, ReservedTooMuch,
    allocatable, capacity, reserved_too_much,
};
pub use boolean::parse_bool;
pub use configuration::{DEFAULT_EVICTIONS, KubeletConfiguration};
pub use cpu::{CpuConfigError, CpuFacts, CpuOption, CpuPolicyName, cpu_options};
pub use decided_by::DecidedBy;
pub use device_links::{DeviceLinks, LinkRule};
pub use duration::{Duration, DurationError};
pub use eviction::{Eviction, EvictionError};
pub use flags::{CsvError, DurationFault, FlagError, FlagFault, KubeletFlags};
pub use gates::{FeatureGates, Gate, GateDifference, GateError, GateStage, GateState, gate_differences};
pub use go_float::go_float;
pub use kubelet_release::{
    FlagTable, GateTable, PluginsPerResource, PodSysctls, Release, Rule, Rules, UnknownRelease, Version,
    WholeCoreCheck,
};
pub use memory::{MemoryConfigError, MemoryPolicyName};
pub use own::{
    CacheAlignment, ClaimHints, CpuInterrupts, CpuPartition, Drift, Fit, MemoryNodes, MixUnit, OwnOptions,
    Placement, Regroup, Resize, Strategy,
};
pub use pod_policy::{PodChoice, PodPolicy};
pub use reporting::{NodeReporting, RegisteredTaint};
pub use reserved_memory::{ReservedMemory, ReservedMemoryFlag, ReservedMemoryFlagError};
pub use topology::{
    DistanceRows, NodeCountCheck, PREFER_CLOSEST, Scope, TieBreak, TopologyConfig, TopologyConfigError,
    TopologyFacts, TopologyPolicyName,
};
pub use validate::{Invalid, InvalidField};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
