#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - What the page in a browser does: `crates/node-page/page/main.js`; its routes: `crates/node-http/src/page.rs`; the
//!   page of a node without a daemon: `crates/node-daemon/src/ui.rs`. Trials of pods with other policies and on other
//!   machines: `crates/node-http/src/tried.rs`, with the nodes of `trial_nodes.rs` beside it; questions about configurations,
//!   upgrades and moves: `page_questions.rs` there; an alternative, applied:
//!   `crates/admission/src/explain/made.rs`. How the page is used in a real browser:
//!   `crates/campaigns/src/page.rs`.
//! - What can be asked over HTTP: the table in `crates/node-http/src/operations.rs`, of which the router and
//!   `/openapi.json` are made (`openapi.rs` beside it). What documents contain: `crates/node-output/src/schema.rs`
//!   makes [schemas](docs/schemas) of their types.

mod audit;
mod operations;
mod openapi;
mod node;
mod health;
mod description;
mod routes;
mod query;
mod segments;
mod json;
mod failure;
mod reply;
mod resize;
mod decide;
mod repack;
mod page_questions;
mod questions;
mod trial_examples;
mod trial_nodes;
mod view;
mod tried;
mod simulation_runs;
mod simulations;
mod containers;
mod look;
mod exposition;
mod page;
mod events;
mod pods;
mod sent;
mod simulator;
mod listening;

#[cfg(any(test, feature = "fuzzing"))]
mod small;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod crowd_tests;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;

use std::time::Duration;

use anyhow::Context as _;

#[cfg(feature = "fuzzing")]
pub use fuzzing::clients;
pub use listening::{listen, read_token};
pub use node::NodeControl;
pub use openapi::{forms, interface as openapi};
pub use page_questions::{AskedMachine, PageAnswer, PageQuestion, PageQuestions, QuestionKind};
pub use routes::{for_a_page, for_monitoring, router, service};
pub use simulation_runs::SimulationRuns;
pub use simulator::{Progress, Simulated, Simulator};

/// Threads on which answers are made, at most. Places for work are fewer, so that none waits for a thread.
const THREADS: usize = 32;
/// How long such a thread waits for more work. The allocator returns what it has freed to the system when it ends.
const IDLE: Duration = Duration::from_secs(1);

/// The runtime that reads bodies and makes answers: one thread that serves, and up to 32 for answers.
///
/// # Errors
/// The system gives no thread or no descriptor.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE)
        .build()
        .context("failed to start")
}
