#![doc = include_str!("../README.md")]
//!
//! # How it is put together
//!
//! [`Server`] makes the sockets and has the only threads. What plugins say comes out as [`ServerEvent`]s, in one order, to
//! be recorded in a [`device_manager::Inventory`]; what a decision has to ask of a plugin goes in by [`Server::ask`].
//! Who asks what pods hold is answered from what [`PodResources`] says.
//!
//! # What gRPC clients send to unix sockets
//!
//! In HTTP/2 every request names its `:authority`. On a unix socket there is none, and clients put there what
//! they were dialled with: a path, a path with its slashes escaped, a whole `unix://` address. The `http`
//! crate, and with it every server built on `hyper`, takes only what may stand in a URI, and resets all other
//! requests before a handler sees them. So what comes in on a socket is read by [`authority::Rewriter`] first,
//! which puts `localhost` there.
//!
//! # Where things are
//!
//! - How plugins are spoken to: `crates/device-plugin/src/plugins.rs`; why requests are rewritten before a server reads
//!   them: `crates/device-plugin/src/lib.rs`.

mod setup;
mod limits;
mod event;
mod server;
mod sockets;
mod folders;
pub mod authority;
mod incoming;
mod registration;
mod plugins;
mod wire;
mod threads;
mod client;
mod errors;
mod convert;
mod registry;
mod pod_resources;
mod metrics;
pub mod proto;

pub use convert::container_setup;
pub use event::{DisconnectReason, Receipt, ServerEvent, Socket};
pub use folders::make_folder;
pub use limits::Limits;
pub use metrics::Metrics;
pub use pod_resources::{
    Amounts, ClaimEntry, ClaimedEntry, ClientError, ContainerEntry, MemoryEntry, PodEntry, PodResources,
    PodResourcesClient, PodResourcesQuery, PodResourcesSnapshot,
};
pub use server::Server;
pub use setup::{Folders, Questions, Setup, Times};
pub use sockets::StartError;
