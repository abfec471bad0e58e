//! Runs this workspace's code on cases that the kubelet's own code has answered, and counts where both agree.
//!
//! One module for each domain; in it one function for each kind of case. This crate knows the formats of the case
//! files and nothing of what is right: that is in the files.

mod case;
mod claim_of_file;
mod compare;
mod corpus;
mod runner;
mod report;
mod written;
mod selection;
mod quantity;
mod discovery;
mod topology;
mod checkpoint;
mod cpu;
mod memory;
mod device;
mod admission;
mod dra;
pub mod promises;

pub use case::{Case, Expected, Listed, NotACase, Outcome};
pub use compare::Unstable;
pub use corpus::{Corpus, CorpusError, Part, unpack};
pub use report::{Baseline, Figures, Passes, Report};
pub use selection::{Selection, Share};
pub use written::WrittenAnswers;

use runner::Runner;

/// The function that plays the cases of a kind; `None` for a kind that is not covered yet.
fn runner(domain: &str, kind: &str) -> Option<Runner> {
    if let Some(of_state_files) = checkpoint::runner(domain, kind) {
        return Some(of_state_files);
    }
    match domain {
        "quantity" => quantity::runner(kind),
        "discovery" => discovery::runner(kind),
        "topology" => topology::runner(kind),
        "cpu" => cpu::runner(kind),
        "memory" => memory::runner(kind),
        "device" => device::runner(kind),
        "admission" => admission::runner(kind),
        folder if dra::FOLDERS.contains(&folder) => dra::runner(kind),
        _ => None,
    }
}

/// Whether cases of a kind are played, rather than skipped.
#[must_use]
pub fn is_covered(domain: &str, kind: &str) -> bool {
    runner(domain, kind).is_some()
}

/// Plays one case. A panic of the code under test is a failure with its text.
#[must_use]
pub fn play(corpus: &Corpus, case: &Case) -> Outcome {
    let Some(run) = runner(&case.domain, &case.kind) else { return Outcome::Skipped };
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(corpus, case)));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Outcome::Failed { got: serde_json::json!({ "our code panicked": text }) }
    })
}

/// Whether a case is played with real sockets between, as well as without.
fn over_sockets(case: &Case) -> bool {
    case.domain == "device" && device::over_sockets(case)
}
