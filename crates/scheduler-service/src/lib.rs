#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | states | hears what agents publish of their nodes (module `states`) |
//! | amounts | hears what other producers publish (module `amounts`) |
//! | pending, ends | hear which pods are not bound, which are bound and on their way, and which have ended (module `pending`) |
//! | refusals | hears which pods nodes refuse all the same (module `refusals`) |
//! | one for each kind of object that decides on claims | hears these objects (module `claim_objects`) |
//! | timeouts | reports the pods for whose claims kube-scheduler's own search takes too long (module `timeouts`) |
//! | the caller's | answers kube-scheduler (module `http`), and forgets what came to nothing (module `outlook`) |
//!
//! All of them share one outlook: the view of the nodes, and what is open about pods.
//!
//! # Where things are
//!
//! - How kube-scheduler is answered: `crates/scheduler-extender/src/lib.rs` says by what,
//!   `crates/scheduler-service/src/outlook.rs` what is open about pods; what a node publishes for it:
//!   `crates/node-input/src/published.rs`.

mod outlook;
mod overview;
mod silence;
mod states;
mod amounts;
mod pending;
mod timeouts;
mod refusals;
mod claims;
mod claim_kinds;
mod claim_shape;
mod claim_objects;
mod conditions;
mod listening;
mod asking;
mod protocol;
mod answers;
mod http;
mod metrics;
mod room;
mod service;
#[cfg(feature = "growth")]
pub mod growth;

pub use asking::Asking;
pub use bounded_http::TlsFiles;
pub use scheduler_extender::ClaimRule;
pub use service::{Setup, run};
