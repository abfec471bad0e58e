//! Where kube-scheduler asks.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bounded_http::{Refused, text};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answers::Answers;
use crate::listening::Troubles;

/// The largest request: five thousand nodes as objects.
pub(crate) const LARGEST: usize = 256 << 20;
/// What Prometheus reads.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is answered where a thread has panicked.
const FAILED: &str = "it failed: the log says why";

/// What routes know.
#[derive(Clone)]
pub(crate) struct Routes {
    pub(crate) answers: Answers,
    pub(crate) troubles: Arc<Troubles>,
}

impl Routes {
    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/filter", post(filter))
            .route("/prioritize", post(prioritize))
            .route("/preempt", post(preempt))
            .route("/metrics", get(metrics))
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(readyz))
            .with_state(self)
    }
}

/// Paths that are answered in any case.
pub(crate) const ALWAYS: &[&str] = &["/healthz", "/readyz"];

pub(crate) fn not_taken(why: Refused) -> Response {
    refused(why.status(), &why.to_string())
}

async fn filter(State(routes): State<Routes>, body: Body) -> Response {
    answered(body, move |asked| routes.answers.filter(asked)).await
}

async fn prioritize(State(routes): State<Routes>, body: Body) -> Response {
    answered(body, move |asked| routes.answers.prioritize(&asked)).await
}

async fn preempt(State(routes): State<Routes>, body: Body) -> Response {
    answered(body, move |asked| routes.answers.preempt(asked)).await
}

/// Looks at the outlook on a thread of its own: a filter may have it for a while, and connections are not to wait.
async fn looked_at(answer: impl FnOnce() -> Response + Send + 'static) -> Response {
    let work = tokio::task::spawn_blocking(answer);
    work.await.unwrap_or_else(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, FAILED))
}

async fn metrics(State(routes): State<Routes>) -> Response {
    looked_at(move || {
        let size = routes.answers.outlook.lock().view.size();
        text(METRICS, routes.answers.metrics.text(size))
    })
    .await
}

async fn readyz(State(routes): State<Routes>) -> Response {
    looked_at(move || ready(&routes)).await
}

fn ready(routes: &Routes) -> Response {
    let mut wrong = routes.troubles.all();
    let heard = routes.answers.outlook.lock().heard;
    if !heard.all() && wrong.is_empty() {
        wrong.push("the nodes are not all known yet".to_owned());
    }
    if wrong.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, wrong.join("\n") + "\n").into_response()
}

/// Reads a request, and answers it on a thread of its own.
async fn answered<A, R>(body: Body, answer: impl FnOnce(A) -> Result<R, String> + Send + 'static) -> Response
where
    A: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
{
    // It is whole.
    let Ok(read) = to_bytes(body, LARGEST).await else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, FAILED);
    };
    let work = tokio::task::spawn_blocking(move || {
        let asked: A = serde_json::from_slice(&read)
            .map_err(|error| format!("the request is not what kube-scheduler sends: {error}"))?;
        let answer = answer(asked).map_err(|why| format!("the pod cannot be read: {why}"))?;
        serde_json::to_vec(&answer).map_err(|error| error.to_string())
    });
    match work.await {
        Ok(Ok(answer)) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        Ok(Err(why)) => refused(StatusCode::BAD_REQUEST, &why),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, FAILED),
    }
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}
