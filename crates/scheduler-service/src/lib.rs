#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | states | hears what agents publish of their nodes ([`states`]) |
//! | amounts | hears what other producers publish ([`amounts`]) |
//! | bound, ends | hear which pods are bound and on their way, and which have ended ([`bound`]) |
//! | the caller's | answers kube-scheduler ([`http`]), and forgets what came to nothing ([`outlook`]) |
//!
//! All of them share one [`Outlook`](outlook::Outlook): the view of the nodes, and what is open about pods.

mod outlook;
mod states;
mod amounts;
mod bound;
mod listening;
mod protocol;
mod answers;
mod http;
mod metrics;
mod service;

pub use service::{Setup, run};
