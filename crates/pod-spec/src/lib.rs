//! The fields of a Kubernetes Pod that decide where it may run on a node, what it asks for in effect, and its
//! QoS class.
//!
//! Values only: the pod is as the kubelet sees it *after* API defaulting ([`Pod::with_defaults`] does that for
//! plain manifests). This crate does not know YAML, machines, managers or what is free.
#![no_std]

extern crate alloc;

mod name;
mod pod;
mod qos;
mod unit;

pub use name::{ContainerKey, ContainerName, PodUid, ResourceName};
pub use pod::{Container, Pod, PodResources, ResourceList, Role};
pub use qos::QosClass;
pub use unit::Unit;
