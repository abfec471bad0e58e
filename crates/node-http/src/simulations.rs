//! Simulations of the page: `/v1/scenarios` and `/v1/simulations`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bounded_http::{Who, Work};

use super::failure::Failure;
use super::node::{Answered, Node, body};
use super::query::{GLYPHS, OUTPUT, Query, WIDTH};
use super::reply::Shape;
use super::segments::Segments;
use super::simulation_runs::{Run, RunDocument, SimulationRuns};

fn runs(node: &Node) -> Result<&Arc<SimulationRuns>, Failure> {
    let none = || Failure::new(StatusCode::NOT_FOUND, "scenarios run in topolet ui, not in a daemon");
    node.simulations.as_ref().ok_or_else(none)
}

/// The routes of simulations.
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
    let text = runs(&node)?.scenario(&name).ok_or_else(|| {
        Failure::new(StatusCode::NOT_FOUND, format!("no built-in scenario is called {name}"))
    })?;
    Ok(text.into_response())
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
    let run = runs(&node)?.start(body(sent).await?)?;
    document(&run, shape)
}

async fn look(
    State(node): State<Node>,
    Segments(number): Segments<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, WIDTH])?;
    document(&*runs(&node)?.find(&number)?, Shape::of(&query, &headers)?)
}

async fn cancel(
    State(node): State<Node>,
    Segments(number): Segments<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let run = runs(&node)?.find(&number)?;
    run.progress.cancel();
    document(&run, shape)
}

fn document(run: &Run, shape: Shape) -> Result<Response, Failure> {
    shape.document("Simulation", RunDocument::of(run), |run, _| {
        let RunDocument { state, done, all, .. } = run;
        format!("{state}: {done} of {all} pods\n{}", run.text.as_deref().unwrap_or_default())
    })
}
