//! Simulations that the page of `topolet ui` starts, one at a time. A daemon runs none, so that nothing delays its decisions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use axum::http::StatusCode;
use parking_lot::Mutex;
use serde::Serialize;

use super::failure::Failure;
use crate::simulator::{Progress, Simulated, Simulator};

/// At most this many runs are kept, with their results.
const KEPT: usize = 16;

/// The simulations of a page, at most one of them running.
pub struct SimulationRuns {
    simulator: Arc<dyn Simulator>,
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    last: u64,
    kept: Vec<Arc<Run>>,
}

/// One run.
pub(super) struct Run {
    number: u64,
    pub(super) progress: Progress,
    state: Mutex<RunState>,
}

/// The state of a run.
enum RunState {
    Running,
    Done(Simulated),
    Failed(String),
    Cancelled,
}

/// A run as a JSON document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunDocument {
    number: u64,
    /// `running`, `done`, `failed` or `cancelled`.
    pub(super) state: &'static str,
    /// Pods that have been decided on.
    pub(super) done: u64,
    /// Pods of all runs of the scenario; 0: not known yet.
    pub(super) all: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl RunDocument {
    pub(super) fn of(run: &Run) -> Self {
        let (done, all) = run.progress.counts();
        let bare =
            |state| Self { number: run.number, state, done, all, text: None, charts: None, message: None };
        match &*run.state.lock() {
            RunState::Running => bare("running"),
            RunState::Cancelled => bare("cancelled"),
            RunState::Failed(why) => Self { message: Some(why.clone()), ..bare("failed") },
            RunState::Done(Simulated { text, charts }) => {
                Self { text: Some(text.clone()), charts: Some(charts.clone()), ..bare("done") }
            }
        }
    }
}

impl SimulationRuns {
    /// Without runs.
    #[must_use]
    pub fn new(simulator: Arc<dyn Simulator>) -> Self {
        Self { simulator, runs: Mutex::default() }
    }

    /// The text of a built-in scenario.
    pub(super) fn scenario(&self, name: &str) -> Option<&'static str> {
        self.simulator.scenarios().iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Names of the built-in scenarios.
    pub(super) fn scenarios(&self) -> Vec<&'static str> {
        self.simulator.scenarios().iter().map(|(name, _)| *name).collect()
    }

    /// Starts a run.
    pub(super) fn start(&self, scenario: Vec<u8>) -> Result<Arc<Run>, Failure> {
        let mut runs = self.runs.lock();
        let is_running = |run: &Arc<Run>| matches!(*run.state.lock(), RunState::Running);
        if runs.kept.iter().any(is_running) {
            let text = "a scenario is running: cancel it, or wait until it is done";
            return Err(Failure::new(StatusCode::CONFLICT, text));
        }
        runs.last += 1;
        let run = Arc::new(Run {
            number: runs.last,
            progress: Progress::default(),
            state: Mutex::new(RunState::Running),
        });
        let (own, simulator) = (run.clone(), self.simulator.clone());
        let work = move || {
            // Without this a run that panics would stay in state `running`.
            let state = match catch_unwind(AssertUnwindSafe(|| simulator.run(&scenario, &own.progress))) {
                _ if own.progress.is_cancelled() => RunState::Cancelled,
                Ok(Ok(simulated)) => RunState::Done(simulated),
                Ok(Err(error)) => RunState::Failed(message(&error)),
                Err(_) => {
                    RunState::Failed("the simulation has panicked; standard error says where".to_owned())
                }
            };
            *own.state.lock() = state;
        };
        let started = thread::Builder::new().name("simulation".to_owned()).spawn(work);
        started.map_err(|error| Failure::ours(&format!("no thread could be started: {error}")))?;
        if runs.kept.len() == KEPT {
            runs.kept.remove(0);
        }
        runs.kept.push(run.clone());
        Ok(run)
    }

    pub(super) fn find(&self, number: &str) -> Result<Arc<Run>, Failure> {
        let number = number.parse().ok();
        let runs = self.runs.lock();
        let found = runs.kept.iter().find(|run| Some(run.number) == number).cloned();
        found.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "this run is not kept any more"))
    }
}

/// As the command line prints it, quoted lines of a scenario included.
fn message(error: &anyhow::Error) -> String {
    format!("{error:#}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Panics in every scenario.
    struct Broken;

    impl Simulator for Broken {
        fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
            &[]
        }

        fn run(&self, _: &[u8], _: &Progress) -> anyhow::Result<Simulated> {
            panic!("as a test wants it")
        }
    }

    #[test]
    fn a_simulation_that_panics_is_over() {
        let runs = SimulationRuns::new(Arc::new(Broken));
        for number in [1, 2] {
            let run = runs.start(Vec::new()).unwrap_or_else(|_| panic!("the one before is running"));
            let began = Instant::now();
            while matches!(*run.state.lock(), RunState::Running) {
                assert!(began.elapsed() < Duration::from_secs(20), "it runs for ever");
                thread::sleep(Duration::from_millis(5));
            }
            let RunState::Failed(why) = &*run.state.lock() else { panic!("it did not fail") };
            assert!(run.number == number && why.contains("panicked"), "{why}");
        }
    }
}
