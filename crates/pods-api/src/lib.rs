#![doc = include_str!("../README.md")]

mod client;
mod pod;
mod proto;
#[cfg(feature = "server")]
mod server;

pub use client::{Event, PodsClient, PodsError, Watch};
pub use pod::{KubeletPod, NotAPod};
#[cfg(feature = "server")]
pub use server::PodsServer;

/// Where a kubelet serves the API, below its root folder.
pub const SOCKET: &str = "pods-api/pods-api.sock";
