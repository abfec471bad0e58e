//! Pods that are decided on, or about which is asked what would be decided.

use std::iter;
use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use node_agent::{Answer, Request};
use serde::Serialize;
use tokio::sync::Semaphore;
use topology_manifest::Owner;

use super::access::Peer;
use super::explain;
use super::reply::{DONE, Failure, OUTCOME, PARTIAL, SOME_REFUSED, Shape};
use super::routes::{Answered, Node, failed, stopped};
use super::sent::Sent;
use crate::decision::Decision;
use crate::node::NodeLine;
use crate::pods::Wholeness;
use crate::render::{self, Glyphs};
use crate::serve::owner::Told;

/// Explanations at once: each may keep a CPU busy for a while.
static EXPLAINING: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));

/// Decisions, as they are written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decided<'a> {
    node: &'a NodeLine,
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
    message: String,
}

impl<'a> Decided<'a> {
    fn new(node: &'a NodeLine, warnings: Vec<String>) -> Self {
        Self { node, decisions: Vec::new(), unchanged: Vec::new(), failed: Vec::new(), warnings }
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
        let failed =
            self.failed.iter().map(|Failed { pod, message }| format!("{} {pod}   {message}\n", glyphs.no()));
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
    let owner = node.changeable(&peer, &headers)?;
    let shape = Shape::of(query.as_deref())?;
    let Sent { pods, owners, wholeness, warnings } = Sent::read(&node, &headers, shape, sent).await?;
    let only = pods.len() == 1;
    let mut decided = Decided::new(node.line(), warnings);
    for pod in pods {
        let name = format!("{}/{}", pod.namespace, pod.name);
        let made_by = owners.get(&pod.uid);
        match node.ask(owner, Request::Admit(pod)).await {
            Ok(Told::Decided(decision)) => decided.decisions.push(owned(decision, made_by)),
            Ok(Told::Answer(Answer::Failed(error))) if only => return Err(failed(&error)),
            Ok(Told::Answer(Answer::Failed(error))) => {
                decided.failed.push(Failed { pod: name, message: error.to_string() });
            }
            Ok(Told::Answer(Answer::Done | Answer::Unchanged)) => decided.unchanged.push(name),
            Err(failure) if only => return Err(failure),
            Err(failure) => decided.failed.push(Failed { pod: name, message: failure.text }),
        }
    }
    let outcome = decided.outcome(wholeness);
    let draw = |decided: &Decided<'_>, glyphs| decided.draw(glyphs, render::decision);
    Ok(with_outcome(outcome, shape.document("Decisions", decided, draw)?))
}

fn with_outcome(outcome: &'static str, mut response: Response) -> Response {
    response.headers_mut().insert(OUTCOME, HeaderValue::from_static(outcome));
    response
}

/// What [`admit`] would come to now, of which nothing happens.
pub(super) async fn explained(
    State(node): State<Node>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    let Sent { pods, owners, wholeness, warnings } = Sent::read(&node, &headers, shape, sent).await?;
    let only = pods.len() == 1;
    let snapshot = node.snapshot();
    let mut decided = Decided::new(node.line(), warnings);
    let mut open = Vec::new();
    for pod in pods {
        let name = || format!("{}/{}", pod.namespace, pod.name);
        match snapshot.answer_to(&pod) {
            None => open.push(pod),
            Some(Answer::Failed(error)) if only => return Err(failed(&error)),
            Some(Answer::Failed(error)) => {
                decided.failed.push(Failed { pod: name(), message: error.to_string() });
            }
            Some(Answer::Done | Answer::Unchanged) => decided.unchanged.push(name()),
        }
    }
    let Ok(_place) = EXPLAINING.acquire().await else { return Err(stopped()) };
    let shared = node.shared.clone();
    let thinking = tokio::task::spawn_blocking(move || {
        let explained = explain::explain(&shared.node, shared.mode, &snapshot.ledger, &open);
        open.iter().map(|pod| pod.uid.clone()).zip(explained).collect::<Vec<_>>()
    });
    let explained = thinking.await.map_err(|error| Failure::ours(&error.to_string()))?;
    let each = explained.into_iter().map(|(uid, decision)| owned(Arc::new(decision), owners.get(&uid)));
    decided.decisions.extend(each);
    let outcome = decided.outcome(wholeness);
    let draw = |decided: &Decided<'_>, glyphs| decided.draw(glyphs, render::explanation);
    Ok(with_outcome(outcome, shape.document("Explanation", decided, draw)?))
}
