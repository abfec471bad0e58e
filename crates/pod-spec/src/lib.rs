//! The fields of a Kubernetes Pod that decide where it may run on a node, what it asks for in effect, and its
//! QoS class.
//!
//! Values only: the pod is as the kubelet sees it *after* API defaulting ([`Pod::with_defaults`] does that for
//! plain manifests). This crate does not know YAML, machines, managers or what is free.
#![no_std]

extern crate alloc;

mod name;
mod holder;
mod container;
mod pod;
mod created;
mod containers;
mod qos;
mod pod_level;
mod rules;
mod classification;
mod not_guaranteed;
mod effective;
mod unit;
mod constraints;
mod claims;
mod selector;
mod wishes;

pub use claims::{ClaimObject, ClaimPlaces, PlacedDevice, PodClaim, UnknownPlace};
pub use constraints::{Constraints, HostPort, Origin, SupplementalGroups, Taint, Tolerated, Toleration};
pub use container::{Container, ResourceList, Role};
pub use containers::Containers;
pub use created::CreationTime;
pub use effective::{Amounts, Overhead};
pub use holder::Holder;
pub use name::{ContainerKey, ContainerName, PodUid, ResourceName};
pub use not_guaranteed::NotGuaranteed;
pub use pod::{Phase, Pod, PodResources};
pub use pod_level::PodLevel;
pub use qos::QosClass;
pub use rules::{EmptyPodResources, PodLevelDefaults, PodLevelResources, PodRules};
pub use selector::{Demand, NodeSelectorTerm, Requirement};
pub use unit::Unit;
pub use wishes::Wishes;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
