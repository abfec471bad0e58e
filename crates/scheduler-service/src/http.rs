//! Where kube-scheduler asks.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bounded_http::{Arrival, Certified, Line, Pace, Peer, Refused, Service, Who, Work, Workshop, keep, text};
use node_page::{HEADERS, NODES_ASSETS};
use serde::Serialize;

use crate::answers::Answers;
use crate::conditions::ServiceCondition::Watched;
use crate::conditions::ServiceConditions;
use crate::metrics::Asked;
use crate::outlook::Asker;
use crate::overview::Overviews;

/// The largest question, in bytes: two thousand nodes as objects of 32 KiB, or a hundred thousand names.
const LARGEST: usize = 64 << 20;
/// What is asked.
const FILTER: &str = "/filter";
const PRIORITIZE: &str = "/prioritize";
const PREEMPT: &str = "/preempt";
/// All nodes, for the page at `/`.
const NODES: &str = "/v1/nodes";
/// What Prometheus reads.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is answered where a thread has panicked.
const FAILED: &str = "it failed: the log says why";

/// What routes know.
#[derive(Clone)]
pub(crate) struct Routes {
    pub(crate) answers: Answers,
    pub(crate) conditions: Arc<ServiceConditions>,
    pub(crate) workshop: Arc<Workshop>,
    /// All nodes, for people.
    pub(crate) overviews: Arc<Overviews>,
    /// Of lines about those who may not ask.
    pub(crate) forbidden: Arc<Pace>,
}

/// Who asks, for whom the work is counted, and since when.
#[derive(Clone, Copy)]
struct Asks {
    asker: Asker,
    who: Who,
    since: Instant,
}

impl Routes {
    /// What is served: questions for those who may ask, and for everybody whether it is well.
    pub(crate) fn service(self) -> Service {
        let questions = Router::new()
            .route(FILTER, post(filter))
            .route(PRIORITIZE, post(prioritize))
            .route(PREEMPT, post(preempt))
            .layer(from_fn_with_state(self.clone(), only_kube_scheduler));
        let nodes = NODES_ASSETS
            .iter()
            .fold(Router::new(), |router, asset| router.route(asset.path, get(file)))
            .route(NODES, get(nodes))
            .layer(from_fn_with_state(self.clone(), only_viewers));
        let router = questions
            .merge(nodes)
            .route("/metrics", get(metrics))
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(readyz))
            .with_state(self);
        let largest = |path: &str| if [FILTER, PRIORITIZE, PREEMPT].contains(&path) { LARGEST } else { 0 };
        Service { router, always: &["/healthz", "/readyz"], largest, refused: not_taken }
    }
}

fn not_taken(why: &Refused) -> Response {
    let hint = match why {
        Refused::TooLarge(most) if *most == LARGEST => {
            ": kube-scheduler sends names alone with nodeCacheCapable: true"
        }
        _ => "",
    };
    refused(why.status(), &format!("{why}{hint}"))
}

/// Turns away who has no client certificate that is accepted, where one is needed.
async fn only_kube_scheduler(
    State(routes): State<Routes>,
    Extension(peer): Extension<Peer>,
    Extension(Arrival(since)): Extension<Arrival>,
    mut request: Request,
    next: Next,
) -> Response {
    let asker = match &peer {
        Peer::Tls { client: Certified::Accepted(_), .. } => Ok(Asker::Known),
        Peer::Tcp { .. } => Ok(Asker::Anybody),
        Peer::Tls { client: Certified::OtherName(name), .. } => {
            Err(format!("the client certificate of {name:?} is none of those that may ask"))
        }
        _ => Err("a client certificate is needed: certFile and keyFile of tlsConfig name one".to_owned()),
    };
    match asker {
        Ok(asker) => {
            let who = peer.who(request.headers());
            request.extensions_mut().insert(Asks { asker, who, since });
            next.run(request).await
        }
        Err(why) => {
            routes.answers.metrics.forbidden();
            if let Line::Written { left_out } = routes.forbidden.line(routes.answers.outlook.clock.now()) {
                tracing::warn!(left_out, "a question was refused: {why}");
            }
            refused(StatusCode::FORBIDDEN, &why)
        }
    }
}

/// Turns away who may not see the nodes: as with the page of an agent everybody on this host may over plain HTTP, and from
/// elsewhere who has a client certificate that is accepted.
async fn only_viewers(
    State(routes): State<Routes>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    match peer {
        Peer::Tls { client: Certified::Accepted(_), .. } | Peer::Tcp { .. } => next.run(request).await,
        _ => {
            routes.answers.metrics.forbidden();
            refused(StatusCode::FORBIDDEN, "a client certificate that is accepted is needed to see the nodes")
        }
    }
}

async fn file(uri: Uri) -> Response {
    let Some(asset) = NODES_ASSETS.iter().find(|asset| asset.path == uri.path()) else {
        return refused(StatusCode::NOT_FOUND, "there is nothing under this path");
    };
    let mut response = asset.text.into_response();
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    let others =
        HEADERS.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    response.headers_mut().extend([kind].into_iter().chain(others).map(|(name, value)| (Some(name), value)));
    response
}

async fn nodes(State(routes): State<Routes>) -> Response {
    looked_at(move || {
        let answer = routes.overviews.now();
        match answer.and_then(|nodes| serde_json::to_vec(&*nodes).map_err(|error| error.to_string())) {
            Ok(written) => ([(header::CONTENT_TYPE, "application/json")], written).into_response(),
            Err(why) => refused(StatusCode::BAD_GATEWAY, &why),
        }
    })
    .await
}

async fn filter(State(routes): State<Routes>, Extension(asks): Extension<Asks>, body: Body) -> Response {
    let answers = routes.answers.clone();
    let answer = move |text: &[u8]| written(answers.filter(question(text)?, asks.asker));
    answered(&routes, asks, body, answer).await
}

async fn prioritize(State(routes): State<Routes>, Extension(asks): Extension<Asks>, body: Body) -> Response {
    let answers = routes.answers.clone();
    let answer = move |text: &[u8]| written(answers.prioritize(&question(text)?, asks.asker));
    answered(&routes, asks, body, answer).await
}

async fn preempt(State(routes): State<Routes>, Extension(asks): Extension<Asks>, body: Body) -> Response {
    let answers = routes.answers.clone();
    let answer = move |text: &[u8]| written(answers.preempt(question(text)?));
    answered(&routes, asks, body, answer).await
}

fn question<'a, A: serde::Deserialize<'a>>(text: &'a [u8]) -> Result<A, String> {
    let read = serde_json::from_slice(text);
    read.map_err(|error| format!("the request is not what kube-scheduler sends: {error}"))
}

fn written<R: Serialize>(answer: Result<R, String>) -> Result<Vec<u8>, String> {
    let answer = answer.map_err(|why| format!("the pod cannot be read: {why}"))?;
    serde_json::to_vec(&answer).map_err(|error| error.to_string())
}

/// Answers a question on its thread for blocking work, under a place for work that the answer keeps until it is read.
async fn answered(
    routes: &Routes,
    asks: Asks,
    body: Body,
    answer: impl FnOnce(&[u8]) -> Result<Vec<u8>, String> + Send + 'static,
) -> Response {
    // It is whole.
    let Ok(read) = to_bytes(body, LARGEST).await else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, FAILED);
    };
    let place = match routes.workshop.place(asks.who, Work::Look).await {
        Ok(place) => place,
        Err(busy) => return not_taken(&busy.into()),
    };
    let (metrics, clock) = (routes.answers.metrics.clone(), routes.answers.outlook.clock.clone());
    let work = move |_: &_| {
        metrics.waited(clock.now().saturating_duration_since(asks.since));
        answer(&read)
    };
    match place.work(work).await {
        Ok((Ok(answer), place)) => {
            keep(place, ([(header::CONTENT_TYPE, "application/json")], answer).into_response())
        }
        Ok((Err(why), _)) => refused(StatusCode::BAD_REQUEST, &why),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, FAILED),
    }
}

/// Reads the outlook on a separate thread: a filter may lock it for a while, and connections are not to wait.
async fn looked_at(answer: impl FnOnce() -> Response + Send + 'static) -> Response {
    let work = tokio::task::spawn_blocking(answer);
    work.await.unwrap_or_else(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, FAILED))
}

async fn metrics(State(routes): State<Routes>) -> Response {
    looked_at(move || {
        let open = routes.answers.outlook.lock();
        let asked = Asked { waiting: open.waiting(), bound_unasked: open.bound_unasked() };
        let size = open.view.size();
        drop(open);
        text(METRICS, routes.answers.metrics.text(size, &asked, &routes.conditions))
    })
    .await
}

async fn readyz(State(routes): State<Routes>) -> Response {
    looked_at(move || ready(&routes)).await
}

/// Whether it can answer. That no question comes, or that any client may ask, is a note: a Service that leaves out what is not ready would
/// keep kube-scheduler away for good.
fn ready(routes: &Routes) -> Response {
    let mut wrong = routes.conditions.wrong(Watched);
    let heard = routes.answers.outlook.lock().heard;
    if !heard.all() && wrong.is_empty() {
        wrong.push("the nodes are not all known yet".to_owned());
    }
    if !wrong.is_empty() {
        return refused(StatusCode::SERVICE_UNAVAILABLE, &wrong.join("\n"));
    }
    let notes: String = routes.conditions.notes().iter().map(|note| format!("! {note}\n")).collect();
    format!("ok\n{notes}").into_response()
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}
