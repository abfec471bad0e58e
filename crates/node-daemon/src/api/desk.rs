//! Scenarios that a page runs: `/v1/scenarios` and `/v1/simulations`. Only the page of a node that nobody serves has them:
//! a daemon has better to do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bounded_http::{Who, Work};
use parking_lot::Mutex;
use serde::Serialize;

use super::failure::Failure;
use super::query::{GLYPHS, OUTPUT, Query, WIDTH};
use super::reply::Shape;
use super::routes::{Answered, Node, body};
use super::segments::Segments;
use crate::simulator::{Progress, Simulated, Simulator};

/// So many runs are kept, with what came of them.
const KEPT: usize = 16;

/// Runs of scenarios, one at a time.
pub(crate) struct Desk {
    simulator: Arc<dyn Simulator>,
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    last: u64,
    kept: Vec<Arc<Run>>,
}

struct Run {
    number: u64,
    progress: Progress,
    came: Mutex<Came>,
}

/// What became of a run.
enum Came {
    Running,
    Done(Simulated),
    Failed(String),
    Cancelled,
}

/// A run, as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    number: u64,
    /// `running`, `done`, `failed` or `cancelled`.
    state: &'static str,
    /// Pods that have been decided on.
    done: u64,
    /// Of how many; 0: that is not known yet.
    all: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Written {
    fn of(run: &Run) -> Self {
        let (done, all) = run.progress.counts();
        let bare =
            |state| Self { number: run.number, state, done, all, text: None, charts: None, message: None };
        match &*run.came.lock() {
            Came::Running => bare("running"),
            Came::Cancelled => bare("cancelled"),
            Came::Failed(why) => Self { message: Some(why.clone()), ..bare("failed") },
            Came::Done(Simulated { text, charts }) => {
                Self { text: Some(text.clone()), charts: Some(charts.clone()), ..bare("done") }
            }
        }
    }
}

impl Desk {
    pub(crate) fn new(simulator: Arc<dyn Simulator>) -> Self {
        Self { simulator, runs: Mutex::default() }
    }

    /// Names of the built-in scenarios.
    pub(super) fn scenarios(&self) -> Vec<&'static str> {
        self.simulator.scenarios().iter().map(|(name, _)| *name).collect()
    }

    /// Starts a run.
    fn start(&self, scenario: Vec<u8>) -> Result<Arc<Run>, Failure> {
        let mut runs = self.runs.lock();
        let is_running = |run: &Arc<Run>| matches!(*run.came.lock(), Came::Running);
        if runs.kept.iter().any(is_running) {
            let text = "a scenario is running: cancel it, or wait until it is done";
            return Err(Failure::new(StatusCode::CONFLICT, text));
        }
        runs.last += 1;
        let run = Arc::new(Run {
            number: runs.last,
            progress: Progress::default(),
            came: Mutex::new(Came::Running),
        });
        let (own, simulator) = (run.clone(), self.simulator.clone());
        let work = move || {
            // Otherwise it would seem to run for ever.
            let came = match catch_unwind(AssertUnwindSafe(|| simulator.run(&scenario, &own.progress))) {
                _ if own.progress.is_cancelled() => Came::Cancelled,
                Ok(Ok(simulated)) => Came::Done(simulated),
                Ok(Err(error)) => Came::Failed(message(&error)),
                Err(_) => Came::Failed("the simulation has panicked; standard error says where".to_owned()),
            };
            *own.came.lock() = came;
        };
        let started = thread::Builder::new().name("simulation".to_owned()).spawn(work);
        started.map_err(|error| Failure::ours(&format!("no thread could be started: {error}")))?;
        if runs.kept.len() == KEPT {
            runs.kept.remove(0);
        }
        runs.kept.push(run.clone());
        Ok(run)
    }

    fn find(&self, number: &str) -> Result<Arc<Run>, Failure> {
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

fn desk(node: &Node) -> Result<&Arc<Desk>, Failure> {
    let none = || Failure::new(StatusCode::NOT_FOUND, "scenarios run in topolet ui, not in a daemon");
    node.desk.as_ref().ok_or_else(none)
}

/// The routes of a page with a desk.
pub(super) fn routes() -> Router<Node> {
    Router::new()
        .route("/v1/scenarios/{name}", get(scenario))
        .route("/v1/simulations", post(start))
        .route("/v1/simulations/{number}", get(look).delete(cancel))
}

async fn scenario(
    State(node): State<Node>,
    RawQuery(query): RawQuery,
    Segments(name): Segments<String>,
) -> Answered {
    Query::read(query.as_deref(), &[])?;
    let all = desk(&node)?.simulator.scenarios();
    let found = all.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| {
        Failure::new(StatusCode::NOT_FOUND, format!("no built-in scenario is called {name}"))
    })?;
    Ok((*text).into_response())
}

async fn start(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let _place = node.workshop.place(who, Work::Look).await?;
    let run = desk(&node)?.start(body(sent).await?)?;
    written(&run, shape)
}

async fn look(
    State(node): State<Node>,
    Segments(number): Segments<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, WIDTH])?;
    written(&*desk(&node)?.find(&number)?, Shape::of(&query, &headers)?)
}

async fn cancel(
    State(node): State<Node>,
    Segments(number): Segments<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let run = desk(&node)?.find(&number)?;
    run.progress.cancel();
    written(&run, shape)
}

fn written(run: &Run, shape: Shape) -> Result<Response, Failure> {
    shape.document("Simulation", Written::of(run), |run, _| {
        let Written { state, done, all, .. } = run;
        format!("{state}: {done} of {all} pods\n{}", run.text.as_deref().unwrap_or_default())
    })
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
        let desk = Desk::new(Arc::new(Broken));
        for number in [1, 2] {
            let run = desk.start(Vec::new()).unwrap_or_else(|_| panic!("the one before is running"));
            let began = Instant::now();
            while matches!(*run.came.lock(), Came::Running) {
                assert!(began.elapsed() < Duration::from_secs(20), "it runs for ever");
                thread::sleep(Duration::from_millis(5));
            }
            let Came::Failed(why) = &*run.came.lock() else { panic!("it did not fail") };
            assert!(run.number == number && why.contains("panicked"), "{why}");
        }
    }
}
