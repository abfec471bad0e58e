#![doc = include_str!("../README.md")]
//!
//! # Events
//!
//! | event | an error | since NRI |
//! |---|---|---|
//! | `RunPodSandbox`, `CreateContainer`, `StartContainer`, `UpdateContainer` | fails the request | 0.2 |
//! | `StopPodSandbox`, `RemovePodSandbox`, `StopContainer`, `RemoveContainer` | is logged by the runtime | 0.2 |
//! | `PostCreateContainer`, `PostStartContainer`, `PostUpdateContainer` | is logged by the runtime | 0.2 |
//! | `UpdatePodSandbox`, `ValidateContainerAdjustment` | fails the request | 0.10 |
//! | `PostUpdatePodSandbox` | is logged by the runtime | 0.10 |
//!
//! Runtimes before NRI 0.12 send most of them as `StateChange`; a [`Handler`] sees no difference. A runtime gets no
//! bit of an event that it may not know ([`RuntimeInfo::not_subscribed`]).
//!
//! # Threads
//!
//! The handler runs on the thread of [`Plugin::run`]. A reader beside it takes requests from the socket, and answers
//! those with an error whose own deadline passes. A third thread may send updates with an [`Updater`]. A runtime asks
//! one thing at a time of one plugin.
//!
//! # Where things are
//!
//! - How bytes are cut: `crates/nri-plugin/src/wire.rs`; who answers a request once: `crates/nri-plugin/src/link.rs`.
//! - From requests to methods: `crates/nri-plugin/src/dispatch.rs`.

mod plugin;
mod settings;
mod policy;
mod stop;
mod handler;
mod event;
mod notice;
mod runtime_info;
mod version;
mod adjustment;
mod updates;
mod lists;
mod updater;
mod dispatch;
mod connection;
mod reader;
mod link;
mod status;
pub mod messages;
mod sync;
pub mod wire;

pub use adjustment::{Adjustment, NameError, UnknownField};
pub use dispatch::Dispatcher;
pub use event::{Event, Events};
pub use handler::{
    ContainerEvent, Creation, Handler, NodeState, PodEvent, Refusal, UpdateOfCreated, Verdict,
};
pub use lists::{Cpus, ListError, MemoryNodes};
pub use notice::{Ended, Notice};
pub use plugin::{DEFAULT_SOCKET, IdentityError, Plugin, Reconnect, RunError};
pub use policy::{Backoff, FailurePolicy, LateConnection, LateRequest, OwnDeadline};
pub use runtime_info::RuntimeInfo;
pub use settings::Times;
pub use status::{Code, Status};
pub use stop::Stop;
pub use updater::{UpdateError, Updater};
pub use updates::{ContainerId, OnConflict, ResourceUpdate, Updates};
pub use version::{NriVersion, RuntimeNri};
