//! Dynamic resource allocation (DRA) of Kubernetes v1.37.2 as values: slices with their devices, device classes, claims,
//! templates, allocations, and the feature gates that decide what of them counts.
//!
//! Objects are those of `resource.k8s.io/v1` after the API server filled in its defaults. They hold what a client can
//! write, valid or not: names are not checked, and an operator or effect may be any text. This crate does not know YAML,
//! JSON, machines, or which devices are allocated.
#![no_std]

extern crate alloc;

mod name;
mod metadata;
mod features;
mod node_selector;
mod attribute;
mod capacity;
mod taint;
mod device;
mod slice;
mod config;
mod class;
mod request;
mod claim;
mod allocation;
mod taint_rule;

pub use allocation::{AllocatedConfig, AllocationResult, ConfigSource, DeviceResult};
pub use attribute::{Attribute, AttributeValue};
pub use capacity::{Capacity, RequestPolicy, ValidRange};
pub use claim::{ClaimStatus, Constraint, Consumer, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate};
pub use class::DeviceClass;
pub use config::{ClaimConfig, OpaqueConfig};
pub use device::{CounterConsumption, Device};
pub use features::{Feature, Features, UnknownFeature};
pub use metadata::Metadata;
pub use name::{
    ClassName, CounterName, CounterSetName, DeviceId, DeviceName, DriverName, PoolName, QualifiedName,
    RequestName, ShareId,
};
pub use node_selector::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
pub use request::{AllocationMode, DerivedAttribute, DeviceRequest, RequestForm, RequestedDevices, Selector};
pub use slice::{CounterSet, NodeSelection, Pool, ResourceSlice};
pub use taint::{DeviceTaint, DeviceToleration, TaintEffect, TolerationOperator};
pub use taint_rule::{DeviceTaintRule, DeviceTaintSelector};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
