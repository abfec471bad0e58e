#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | pods | hears which pods are bound to nodes (module `pods`) |
//! | senders | send what nodes have to say, one call at a time each (module `sender`) |
//! | the caller's | decides on pods, and sees what is due ([`run`](fn@run)) |
//!
//! What is to be sent are jobs. Each says of which node or pod something is to be sent, and not what: a
//! sender looks at the node when its turn has come, so that changes that follow each other are sent together.

mod plan;
mod runs;
mod fleet;
mod run;
mod kind;
mod fleet_node;
mod fleet_pod;
mod churn;
mod job;
mod pods;
mod sender;
mod state;
mod conditions;

pub use fleet::{Churn, Fleet, Published};
pub use run::run;
