//! Pods that are decided on, or about which is asked what would be decided.

use std::iter;
use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use node_agent::{Answer, Request};
use serde::Serialize;
use tokio::sync::Semaphore;
use topology_admission::Detail;
use topology_manifest::{Owner, UnknownFields};

use super::access::Peer;
use super::explain;
use super::query::{GLYPHS, OUTPUT, Query};
use super::reply::{DONE, Failure, OUTCOME, PARTIAL, SOME_REFUSED, Shape};
use super::routes::{Answered, Node, failed, stopped};
use super::sent::{FIELD_VALIDATION, Sent, unknown_fields};
use crate::decision::Decision;
use crate::node::NodeLine;
use crate::pods::Wholeness;
use crate::render::{self, Glyphs};
use crate::serve::owner::Told;

/// The parameter with which Kubernetes clients ask what would happen; its only value is `All`.
const DRY_RUN: &str = "dryRun";
/// Explanations at once: each may keep a CPU busy for a while.
static EXPLAINING: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));

/// Decisions, as they are written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decided<'a> {
    node: &'a NodeLine,
    /// Nothing has changed: this is what would be decided.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    decisions: Vec<Arc<Decision>>,
    /// Pods that run already, as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unchanged: Vec<String>,
    /// Pods that could not be decided on, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
    /// What was left out of what was sent, and what of the pods nobody looks at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Failed {
    pod: String,
    /// The status that the pod would have been answered with if it had been alone.
    code: u16,
    message: String,
}

impl Failed {
    fn new(pod: String, failure: Failure) -> Self {
        Self { pod, code: failure.status.as_u16(), message: failure.text }
    }
}

impl<'a> Decided<'a> {
    fn new(node: &'a NodeLine, warnings: Vec<String>) -> Self {
        Self {
            node,
            dry_run: false,
            decisions: Vec::new(),
            unchanged: Vec::new(),
            failed: Vec::new(),
            warnings,
        }
    }

    /// The status for all of them: of pods that could not be decided on the highest, else 422 if the node refused any.
    fn status(&self) -> StatusCode {
        let worst = self.failed.iter().map(|failed| failed.code).max();
        match worst.and_then(|code| StatusCode::from_u16(code).ok()) {
            Some(status) => status,
            None if self.decisions.iter().all(|decision| decision.admitted) => StatusCode::OK,
            None => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }

    /// What is told of it without looking at each.
    fn outcome(&self, wholeness: Wholeness) -> &'static str {
        let is_done = self.failed.is_empty() && self.decisions.iter().all(|decision| decision.admitted);
        match wholeness {
            Wholeness::Partial => PARTIAL,
            Wholeness::Whole if is_done => DONE,
            Wholeness::Whole => SOME_REFUSED,
        }
    }

    fn draw(&self, glyphs: Glyphs, draw: fn(&Decision, &str, Glyphs) -> String) -> String {
        let line = self.node.line(glyphs);
        let warnings: String = self.warnings.iter().map(|warning| format!("! {warning}\n")).collect();
        let each = self.decisions.iter().map(|decision| draw(decision, &line, glyphs));
        let unchanged = self.unchanged.iter().map(|pod| format!("{} {pod}   unchanged\n", glyphs.yes()));
        let failed = self
            .failed
            .iter()
            .map(|Failed { pod, message, .. }| format!("{} {pod}   {message}\n", glyphs.no()));
        let rest: String = unchanged.chain(failed).collect();
        let parts = iter::once(warnings).chain(each).chain([rest]).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n")
    }
}

/// The decision with what made its pod, if something did.
fn owned(decision: Arc<Decision>, owner: Option<&Owner>) -> Arc<Decision> {
    let Some(owner) = owner else { return decision };
    Arc::new(Decision { owner: Some(owner.to_string()), ..Decision::clone(&decision) })
}

pub(super) async fn admit(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, DRY_RUN, FIELD_VALIDATION])?;
    let shape = Shape::of(&query, &headers)?;
    let reading = (shape, unknown_fields(&query)?);
    match query.get(DRY_RUN) {
        None => {}
        Some("All") => return dry_run(&node, reading, &headers, sent).await,
        Some(_) => return Err(Failure::wrong("dryRun is All, or is not given: nothing was done")),
    }
    let owner = node.changeable(&peer, &headers)?;
    let Sent { pods, owners, wholeness, warnings } = Sent::read(&node, &headers, reading, sent).await?;
    let only = pods.len() == 1;
    let mut decided = Decided::new(node.line(), warnings);
    for pod in pods {
        let name = format!("{}/{}", pod.namespace, pod.name);
        let made_by = owners.get(&pod.uid);
        match node.ask(owner, Request::Admit(pod)).await {
            Ok(Told::Decided(decision)) => decided.decisions.push(owned(decision, made_by)),
            Ok(Told::Answer(Answer::Failed(error))) if only => return Err(failed(&error)),
            Ok(Told::Answer(Answer::Failed(error))) => decided.failed.push(Failed::new(name, failed(&error))),
            Ok(Told::Answer(Answer::Done | Answer::Unchanged)) => decided.unchanged.push(name),
            Err(failure) if only => return Err(failure),
            Err(failure) => decided.failed.push(Failed::new(name, failure)),
        }
    }
    decisions(decided, wholeness, shape)
}

/// Decisions with the status that they come to.
fn decisions(decided: Decided<'_>, wholeness: Wholeness, shape: Shape) -> Answered {
    let (status, outcome) = (decided.status(), decided.outcome(wholeness));
    let draw = |decided: &Decided<'_>, glyphs| decided.draw(glyphs, render::decision);
    let mut response = shape.document("Decisions", decided, draw)?;
    *response.status_mut() = status;
    Ok(with_outcome(outcome, response))
}

fn with_outcome(outcome: &'static str, mut response: Response) -> Response {
    response.headers_mut().insert(OUTCOME, HeaderValue::from_static(outcome));
    response
}

/// What [`admit`] would answer now; nothing changes.
async fn dry_run(node: &Node, reading: (Shape, UnknownFields), headers: &HeaderMap, sent: Body) -> Answered {
    let sent = Sent::read(node, headers, reading, sent).await?;
    let (decided, wholeness) = would_be_decided(node, Detail::Short, sent).await?;
    decisions(Decided { dry_run: true, ..decided }, wholeness, reading.0)
}

/// The same with everything that led to it. The status is 200 also where a pod would be refused.
pub(super) async fn explained(
    State(node): State<Node>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, FIELD_VALIDATION])?;
    let shape = Shape::of(&query, &headers)?;
    let sent = Sent::read(&node, &headers, (shape, unknown_fields(&query)?), sent).await?;
    let (decided, wholeness) = would_be_decided(&node, Detail::Merges, sent).await?;
    let outcome = decided.outcome(wholeness);
    let draw = |decided: &Decided<'_>, glyphs| decided.draw(glyphs, render::explanation);
    Ok(with_outcome(outcome, shape.document("Explanation", decided, draw)?))
}

/// What would be decided now on pods that come one after the other.
async fn would_be_decided(
    node: &Node,
    detail: Detail,
    sent: Sent,
) -> Result<(Decided<'_>, Wholeness), Failure> {
    let Sent { pods, owners, wholeness, warnings } = sent;
    let only = pods.len() == 1;
    let snapshot = node.snapshot();
    let mut decided = Decided::new(node.line(), warnings);
    let mut open = Vec::new();
    for pod in pods {
        let name = || format!("{}/{}", pod.namespace, pod.name);
        match snapshot.answer_to(&pod) {
            None => open.push(pod),
            Some(Answer::Failed(error)) if only => return Err(failed(&error)),
            Some(Answer::Failed(error)) => decided.failed.push(Failed::new(name(), failed(&error))),
            Some(Answer::Done | Answer::Unchanged) => decided.unchanged.push(name()),
        }
    }
    let Ok(_place) = EXPLAINING.acquire().await else { return Err(stopped()) };
    let shared = node.shared.clone();
    let thinking = tokio::task::spawn_blocking(move || {
        let explained = explain::explain(&shared.node, shared.mode, detail, &snapshot.ledger, &open);
        open.iter().map(|pod| pod.uid.clone()).zip(explained).collect::<Vec<_>>()
    });
    let explained = thinking.await.map_err(|error| Failure::ours(&error.to_string()))?;
    let each = explained.into_iter().map(|(uid, decision)| owned(Arc::new(decision), owners.get(&uid)));
    decided.decisions.extend(each);
    Ok((decided, wholeness))
}
