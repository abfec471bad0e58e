//! Dynamic resource allocation (DRA) of Kubernetes v1.37.2 as values: slices with their devices, device classes, claims,
//! templates, allocations, and the feature gates that decide what of them counts.
//!
//! Objects are those of `resource.k8s.io/v1` after the API server filled in its defaults. They hold what a client can
//! write, valid or not: names are not checked, and an operator or effect may be any text. This crate does not know YAML,
//! JSON, machines, or which devices are allocated.
#![no_std]

extern crate alloc;

mod name;
pub mod text;
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
mod implementation;
mod node_match;
mod pools;
mod extended;

pub use allocation::{AllocatedConfig, AllocationResult, ConfigSource, DeviceResult};
pub use attribute::{Attribute, AttributeValue};
pub use capacity::{Capacity, RequestPolicy, ValidRange};
pub use claim::{ClaimStatus, Constraint, Consumer, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate};
pub use class::DeviceClass;
pub use config::{ClaimConfig, OpaqueConfig};
pub use device::{CounterConsumption, Device};
pub use extended::{ExtendedClaim, ExtendedResources, ResourceMapping, wanted as wanted_extended_resources};
pub use features::{Feature, Features, UnknownFeature};
pub use implementation::Implementation;
pub use metadata::{Controller, Metadata};
pub use name::{
    ClassName, CounterName, CounterSetName, DeviceId, DeviceName, DriverName, PoolName, QualifiedName,
    RequestName, ShareId,
};
pub use node_match::{BadNodeSelector, Node};
pub use node_selector::{NodeSelection, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
pub use pools::{BadSelection, NodePool, PoolDevices, PoolFault, PoolState, node_devices, node_pools};
pub use request::{AllocationMode, DerivedAttribute, DeviceRequest, RequestForm, RequestedDevices, Selector};
pub use slice::{CounterSet, Pool, ResourceSlice};
pub use taint::{DeviceTaint, DeviceToleration, TaintEffect, TolerationOperator};
pub use taint_rule::{DeviceTaintRule, DeviceTaintSelector};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
