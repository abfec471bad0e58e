//! The kubelet's device manager as pure decisions: where a container's devices could be (hints), which devices it
//! gets (allocation), and what is left (holdings). Behaves as Kubernetes v1.36.3.
//!
//! What devices there are is an [`Inventory`]: given, or listed by plugins that come and go. What containers
//! hold is a [`Holdings`]. Both are values; a decision takes them and gives the next holdings, and nothing
//! happens until the caller keeps it.
//!
//! Plugins answer in the middle of a decision. Where an answer is missing, the decision ends in the exact
//! [`Question`]; the caller asks, puts the answer among the [`Replies`] and decides again.
//!
//! # Where the kubelet is random
//!
//! It walks hash maps: in which order a container's resources are served, and which devices of a tier are taken
//! when not all are needed. Here both go by name, in byte order, which is one of the kubelet's possible answers.
//!
//! # Where the kubelet crashes
//!
//! On a device that lists a node with a negative id or one above 63, if the machine has it too: here it is a node
//! like any other. On a held or left-over device that is no longer listed: here it is one that says nothing about
//! where it is.
//!
//! # Beside the kubelet
//!
//! [`Links`] say which devices are plugged into the same switch. Devices can come from one of them
//! ([`Request::links`]), or be chosen so that switches stay whole ([`Request::keep_whole`]). Without them everything is as
//! in the kubelet.
//!
//! # What it does not know
//!
//! Sockets, protobuf, files, clocks, other managers, and how hints are merged. What a plugin answers to `Allocate`
//! is kept as bytes.
//!
//! # Where things are
//!
//! - How devices come from one PCI switch or NVLink domain: `crates/device-manager/src/links.rs` chooses the link,
//!   `crates/admission/src/attempt/linked.rs` merges hints for it, `crates/topology-model/src/machine/links.rs` finds
//!   the links of a machine; what users see of it: `docs/links.md`.
#![no_std]

extern crate alloc;

mod policy;
mod device;
mod device_ids;
mod inventory;
mod list;
mod holdings;
mod hints;
mod request;
mod allocate_error;
mod allocate;
mod choose;
mod links;
mod keep_whole;
mod question;
mod place;
mod start;
mod setup;
mod registration;
mod several;
mod calls;
mod views;
mod budget;

pub use allocate::{Allocation, Failure, NotServed, Outcome};
pub use allocate_error::AllocateError;
pub use budget::{
    Budget, MAX_DEVICES, MAX_RESOURCES, OverBudget, size_of_answer, size_of_answer_to, size_of_list,
};
pub use calls::{PluginMessages, PluginTime, ReplacedPlugins};
pub use device::{Device, DeviceId, Health, Topology};
pub use device_ids::DeviceIds;
pub use holdings::{Held, HeldOn, Holdings};
pub use inventory::{Capacity, Endpoint, GRACE_PERIOD, Inventory, Life, Moment, PluginOptions};
pub use links::{Choice, Choices, Demand, LinkId, LinkLack, LinkRoom, Linked, Links, ResourceRoom};
pub use place::OnNodes;
pub use policy::{BlockedDevices, Devices};
pub use question::{AllocateReply, PluginError, Question, Replies, Reply, RpcCode, RpcError};
pub use registration::{
    API_VERSION, ConnectionId, Connections, RegisterError, ValidateError, check_announced, check_request,
    is_extended_resource,
};
pub use request::{Request, Sources};
pub use setup::{Access, DeviceNode, Mount, Setup};
pub use several::{Connected, Gone, SocketConnections};
pub use start::StartError;
pub use views::DeviceEntry;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
