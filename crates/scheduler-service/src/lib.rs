#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | states | hears what agents publish of their nodes (module `states`) |
//! | amounts | hears what other producers publish (module `amounts`) |
//! | bound, ends | hear which pods are bound and on their way, and which have ended (module `bound`) |
//! | refusals | hears which pods nodes refuse all the same (module `refusals`) |
//! | the caller's | answers kube-scheduler (module `http`), and forgets what came to nothing (module `outlook`) |
//!
//! All of them share one outlook: the view of the nodes, and what is open about pods.

mod outlook;
mod known;
mod states;
mod amounts;
mod bound;
mod refusals;
mod listening;
mod protocol;
mod answers;
mod http;
mod metrics;
mod service;

pub use service::{Setup, run};
