#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! [`PodObject`] reads a pod as the API server has it. [`Draft`] is the status of a pod as its node has it: it follows
//! the pod's [`Life`] and becomes a patch wherever the API server has something else. [`History`] keeps what has become of a pod
//! and its draft. [`Step`] says what is to be done next about a pod. [`NodeFacts`] becomes the Node object and its status.
//!
//! Times are texts (RFC 3339): the caller has the clock.
#![no_std]

extern crate alloc;

mod object;
mod resources;
mod container;
mod terminate;
mod phase;
mod conditions;
mod draft;
mod history;
mod reported;
mod patch;
mod step;
mod node;
mod node_status;

pub use container::{Containers, Exit, RunningContainer, Simulated};
pub use draft::{Draft, Life, Refusal};
pub use history::{ContainerReports, History, Surroundings, Verdict};
pub use node::{HostFacts, NodeFacts, labels, registered, relabelled};
pub use node_status::{Readiness, has_conditions, node_status, without_heartbeat};
pub use object::{PodObject, Stage};
pub use reported::Reported;
pub use resources::{DeviceHealth, Given, GivenDevice, Repeated, Whole};
pub use step::{Hold, Known, Step};
