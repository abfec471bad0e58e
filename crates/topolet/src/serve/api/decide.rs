//! Pods that are decided on, or about which is asked what would be decided.

use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use node_agent::{Answer, Request};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::access::Peer;
use super::explain;
use super::reply::{Failure, OUTCOME, Shape};
use super::routes::{Answered, Node, body, failed, pods_of, stopped};
use crate::decision::Decision;
use crate::node::NodeLine;
use crate::render;
use crate::serve::owner::Told;

/// Explanations at once: each may keep a CPU busy for a while.
static EXPLAINING: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));

/// Decisions, as they are written.
#[derive(Serialize)]
struct Decided<'a> {
    node: &'a NodeLine,
    decisions: Vec<Arc<Decision>>,
    /// Pods that run already, as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unchanged: Vec<String>,
    /// Pods that could not be decided on, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    pod: String,
    message: String,
}

fn drawn(decisions: &Decided<'_>, glyphs: render::Glyphs) -> String {
    let line = decisions.node.line(glyphs);
    let each = decisions.decisions.iter().map(|decision| render::decision(decision, &line, glyphs));
    let unchanged = decisions.unchanged.iter().map(|pod| format!("{} {pod}   unchanged\n", glyphs.yes()));
    let failed = decisions
        .failed
        .iter()
        .map(|failed| format!("{} {}   {}\n", glyphs.no(), failed.pod, failed.message));
    each.chain(unchanged).chain(failed).collect::<Vec<_>>().join("\n")
}

pub(super) async fn admit(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let owner = node.changeable(&peer, &headers)?;
    let shape = Shape::of(query.as_deref())?;
    let pods = pods_of(&node, &body(sent).await?)?;
    let only = pods.len() == 1;
    let mut decisions =
        Decided { node: node.line(), decisions: Vec::new(), unchanged: Vec::new(), failed: Vec::new() };
    for pod in pods {
        let name = format!("{}/{}", pod.namespace, pod.name);
        match node.ask(owner, Request::Admit(pod)).await {
            Ok(Told::Decided(decision)) => decisions.decisions.push(decision),
            Ok(Told::Answer(Answer::Failed(error))) if only => return Err(failed(&error)),
            Ok(Told::Answer(Answer::Failed(error))) => {
                decisions.failed.push(Failed { pod: name, message: error.to_string() });
            }
            Ok(Told::Answer(Answer::Done | Answer::Unchanged)) => decisions.unchanged.push(name),
            Err(failure) if only => return Err(failure),
            Err(failure) => decisions.failed.push(Failed { pod: name, message: failure.text }),
        }
    }
    let is_done = decisions.failed.is_empty() && decisions.decisions.iter().all(|decision| decision.admitted);
    Ok(with_outcome(is_done, shape.document("Decisions", decisions, drawn)?))
}

fn with_outcome(is_done: bool, mut response: Response) -> Response {
    let outcome = if is_done { "done" } else { "some-refused" };
    response.headers_mut().insert(OUTCOME, HeaderValue::from_static(outcome));
    response
}

pub(super) async fn explained(State(node): State<Node>, RawQuery(query): RawQuery, sent: Body) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    let pods = pods_of(&node, &body(sent).await?)?;
    let Ok(_place) = EXPLAINING.acquire().await else { return Err(stopped()) };
    let (shared, snapshot) = (node.shared.clone(), node.snapshot());
    let thinking = tokio::task::spawn_blocking(move || {
        pods.iter().map(|pod| Arc::new(explain::explain(&shared.node, &snapshot, pod))).collect::<Vec<_>>()
    });
    let decisions = thinking.await.map_err(|error| Failure::ours(&error.to_string()))?;
    let is_done = decisions.iter().all(|decision| decision.admitted);
    let decisions = Decided { node: node.line(), decisions, unchanged: Vec::new(), failed: Vec::new() };
    let draw = |decisions: &Decided<'_>, glyphs| {
        let line = decisions.node.line(glyphs);
        let each = decisions.decisions.iter().map(|decision| render::explanation(decision, &line, glyphs));
        each.collect::<Vec<_>>().join("\n")
    };
    Ok(with_outcome(is_done, shape.document("Explanation", decisions, draw)?))
}
