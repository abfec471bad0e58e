//! Admits pods, and explains what would be decided on pods.

use std::iter;
use std::sync::Arc;

use admission_report::{Conclusion, Deferred, Report};
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bounded_http::{Client, Peer, Who, Work, on_a_thread};
use node_agent::{Answer, Request};
use node_input::Wholeness;
use node_output::{NodeLine, PodGroup, PodGroups, Tally, workload};
use pod_spec::Pod;
use schemars::JsonSchema;
use serde::Serialize;
use terminal_text::Page;
use topology_admission::{Deferral, Detail};

use super::failure::Failure;
use super::node::{Answered, Node, body, failed};
use super::query::{GLYPHS, OUTPUT, Parameter, Query, Values, WIDTH};
use super::reply::Shape;
use super::sent::{FIELD_VALIDATION, Reading, Sent};
use node_output::http::{DONE, FATE, NOT_DECIDED, OUTCOME, PARTIAL, SOME_REFUSED};
use node_view::explain::{self, Before, Waiting};
use node_view::{Mode, OwnerReply};

/// The parameter with which Kubernetes clients ask what would happen; its only value is `All`.
pub(super) const DRY_RUN: Parameter = Parameter {
    name: "dryRun",
    values: Values::OneOf(&["All"]),
    about: "Answer the same and change nothing.",
};
/// What [`admit`] takes.
pub(super) const ADMIT: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH, DRY_RUN, FIELD_VALIDATION];

/// The parameter with which pods that are here already are explained as if they came now; its only value is `true`.
const ANEW: Parameter = Parameter {
    name: "anew",
    values: Values::OneOf(&["true"]),
    about: "Pods that are here already are explained as if they came now, and held nothing.",
};
/// What [`explained`] takes.
pub(super) const EXPLAIN: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH, FIELD_VALIDATION, ANEW];

/// What is done about pods that are here already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// They are answered with what they are.
    Answered,
    /// They are decided on as if they were not here, and held nothing.
    Anew,
}

/// Decisions, as they are written.
#[derive(Serialize, JsonSchema)]
pub(super) struct Written<'a> {
    pub(super) node: &'a NodeLine,
    #[serde(flatten)]
    pub(super) decided: Decided,
}

/// What became of pods.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Decided {
    /// Nothing has changed: this is what would be decided.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    pub(super) decisions: Vec<Arc<Report>>,
    /// Pods that run already, as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unchanged: Vec<String>,
    /// Pods that could not be decided on, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
    /// Objects of the body that were skipped, and fields of pods that are ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A pod that could not be decided on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FailedPod")]
struct Failed {
    /// Namespace and name.
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

impl Decided {
    pub(super) const fn new(warnings: Vec<String>) -> Self {
        Self { dry_run: false, decisions: Vec::new(), unchanged: Vec::new(), failed: Vec::new(), warnings }
    }

    /// The status for all of them: of pods that could not be decided on the highest, else 422 if the node refused any, else
    /// 202 if any waits for a device plugin or has claims that are not decided on.
    fn status(&self) -> StatusCode {
        let worst = self.failed.iter().map(|failed| failed.code).max();
        match worst.and_then(|code| StatusCode::from_u16(code).ok()) {
            Some(status) => status,
            None if self.decisions.iter().all(|report| report.is_admitted()) => StatusCode::OK,
            None if self.has_fate() => StatusCode::UNPROCESSABLE_ENTITY,
            None if self.decisions.iter().all(|report| report.refusal().is_none()) => StatusCode::ACCEPTED,
            None => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }

    fn has_fate(&self) -> bool {
        self.decisions.iter().any(|report| report.fated().is_some())
    }

    /// How many pods came out how; `None`: one pod did, as the outcome tells.
    pub(super) fn headline(&self) -> Option<String> {
        let mut tally = Tally::default();
        self.decisions.iter().for_each(|report| tally.add(report));
        match self.decisions.as_slice() {
            [] => None,
            [report] => matches!(report.conclusion, Conclusion::Unschedulable(_))
                .then(|| "not scheduled because of its claims".to_owned()),
            _ => Some(tally.to_string()),
        }
    }

    /// The value of the outcome header for all decisions.
    pub(super) fn outcome(&self, wholeness: Wholeness) -> &'static str {
        let is_good = |report: &Report| report.is_admitted() && !report.is_decided_otherwise();
        let is_done = self.failed.is_empty() && self.decisions.iter().all(|report| is_good(report));
        let is_open = self.failed.is_empty() && self.decisions.iter().all(|report| report.is_placed());
        match wholeness {
            Wholeness::Partial => PARTIAL,
            Wholeness::Whole if is_done => DONE,
            Wholeness::Whole if self.has_fate() => FATE,
            Wholeness::Whole if is_open => NOT_DECIDED,
            Wholeness::Whole => SOME_REFUSED,
        }
    }
}

impl Written<'_> {
    pub(super) fn draw(&self, page: Page, draw: fn(&PodGroup, Option<&str>, Page) -> String) -> String {
        let line = self.node.line(page);
        let Decided { decisions, unchanged, failed, warnings, .. } = &self.decided;
        let warnings: String =
            warnings.iter().map(|warning| page.wrapped(&format!("! {warning}"), 2)).collect();
        let mut tally = Tally::default();
        for report in decisions {
            tally.add(report);
        }
        let mut groups = PodGroups::of(decisions.iter().filter_map(|report| workload(report)));
        let each = decisions.iter().flat_map(|report| groups.add(Report::clone(report)));
        let each = each.map(|group| draw(&group, Some(&line), page));
        let sum = (tally.pods() > 1).then(|| format!("{tally}\n"));
        let unchanged = unchanged.iter().map(|pod| format!("{} {pod}   unchanged\n", page.yes()));
        let failed =
            failed.iter().map(|Failed { pod, message, .. }| format!("{} {pod}   {message}\n", page.no()));
        let rest: String = unchanged.chain(failed).collect();
        let parts = iter::once(warnings).chain(each).chain([rest]).chain(sum).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n")
    }
}

pub(super) async fn admit(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let query = Query::read(query.as_deref(), ADMIT)?;
    let who = peer.who(&headers);
    let reading = Reading::of(&query, &headers, node.limit(who))?;
    match query.get(DRY_RUN) {
        None => {}
        Some("All") => return asked(&node, who, reading, sent, dry_run).await,
        Some(_) => return Err(Failure::wrong("dryRun is All, or is not given: nothing was done")),
    }
    let changer = node.changeable(&peer, &headers)?;
    let shape = reading.shape;
    let place = node.workshop.place(who, Work::Change).await?;
    let sent = body(sent).await?;
    let reader = node.clone();
    // The place is free when the pods have been read: deciding on them takes none, and may wait for plugins.
    let (read, _) = place.work(move |_| Sent::read(reader.view.node(), &sent, &reading)).await?;
    let Sent { pods, origins, wholeness, warnings, .. } = read?.into_runnable()?;
    let only = pods.len() == 1;
    let mut decided = Decided::new(warnings);
    for pod in pods {
        let name = format!("{}/{}", pod.namespace, pod.name);
        let asked = pod.clone();
        match node.ask(changer, &name, Request::Admit(pod)).await {
            Ok(OwnerReply::Decided(report) | OwnerReply::Moved(report, _)) => {
                decided.decisions.push(origins.added_to(report, &asked.uid));
            }
            Ok(OwnerReply::Answer(Answer::Failed(error))) if only => return Err(failed(&error)),
            Ok(OwnerReply::Answer(Answer::Failed(error))) => {
                decided.failed.push(Failed::new(name, failed(&error)));
            }
            Ok(OwnerReply::Answer(Answer::Done | Answer::Unchanged | Answer::Resized { .. })) => {
                decided.unchanged.push(name);
            }
            Ok(OwnerReply::Answer(Answer::Deferred(deferral))) => {
                decided.decisions.push(origins.added_to(deferred(&node, &asked, &deferral), &asked.uid));
            }
            Err(failure) if only => return Err(failure),
            Err(failure) => decided.failed.push(Failed::new(name, failure)),
        }
    }
    on_a_thread(move || decisions(&node, decided, wholeness, shape)).await?
}

/// The report on a pod that waits for device plugins.
fn deferred(node: &Node, pod: &Pod, deferral: &Deferral) -> Arc<Report> {
    let waits = Deferred::new(deferral, node.snapshot().at);
    Report::of_deferred(pod, node.view.node().node.pod_rules(), waits).into()
}

/// The value of the outcome header for one decision.
pub(super) fn outcome_of(report: &Report) -> &'static str {
    if report.is_admitted() {
        DONE
    } else if report.fated().is_some() {
        FATE
    } else if report.is_placed() {
        NOT_DECIDED
    } else {
        SOME_REFUSED
    }
}

/// Decisions with the status that they come to.
fn decisions(node: &Node, decided: Decided, wholeness: Wholeness, shape: Shape) -> Answered {
    let (status, outcome) = (decided.status(), decided.outcome(wholeness));
    let written = Written { node: node.line(), decided };
    let draw = |written: &Written<'_>, page| written.draw(page, node_output::decision);
    let mut response = shape.document("Decisions", written, draw)?;
    *response.status_mut() = status;
    Ok(with_outcome(outcome, response))
}

pub(super) fn with_outcome(outcome: &'static str, mut response: Response) -> Response {
    response.headers_mut().insert(OUTCOME, HeaderValue::from_static(outcome));
    response
}

/// What would be decided now, and everything that led to it. The status is 200 also where a pod would be refused.
pub(super) async fn explained(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let query = Query::read(query.as_deref(), EXPLAIN)?;
    let reading = Reading::of(&query, &headers, node.limit(who))?;
    match query.get(ANEW) {
        None => asked(&node, who, reading, sent, explanation).await,
        Some("true") => asked(&node, who, reading, sent, explanation_anew).await,
        Some(_) => Err(Failure::wrong("anew is true, or is not given")),
    }
}

/// Answers what would be decided; nothing changes. The body is read when there is a place for all that it may become.
async fn asked(
    node: &Node,
    who: Who,
    reading: Reading,
    sent: Body,
    answer: fn(&Node, Sent, Shape, &Client) -> Answered,
) -> Answered {
    let place = node.workshop.place(who, Work::Look).await?;
    let sent = body(sent).await?;
    let make = move |node: &Node, client: &Client| {
        let pods = Sent::read(node.view.node(), &sent, &reading)?;
        drop(sent);
        answer(node, pods, reading.shape, client)
    };
    node.work(place, make).await
}

/// What [`admit`] would answer now.
fn dry_run(node: &Node, sent: Sent, shape: Shape, client: &Client) -> Answered {
    let (decided, wholeness) = would_be_decided(node, Detail::Short, Known::Answered, sent, client)?;
    decisions(node, Decided { dry_run: true, ..decided }, wholeness, shape)
}

/// What [`explained`] answers.
fn explanation(node: &Node, sent: Sent, shape: Shape, client: &Client) -> Answered {
    explanation_of(node, Known::Answered, sent, shape, client)
}

/// The same of pods that may be here already.
fn explanation_anew(node: &Node, sent: Sent, shape: Shape, client: &Client) -> Answered {
    explanation_of(node, Known::Anew, sent, shape, client)
}

fn explanation_of(node: &Node, known: Known, sent: Sent, shape: Shape, client: &Client) -> Answered {
    let (decided, wholeness) = would_be_decided(node, Detail::Merges, known, sent, client)?;
    let outcome = decided.outcome(wholeness);
    let written = Written { node: node.line(), decided };
    let draw = |written: &Written<'_>, page| written.draw(page, node_output::explanation);
    Ok(with_outcome(outcome, shape.document("Explanation", written, draw)?))
}

/// What would be decided now on pods that come one after the other.
fn would_be_decided(
    node: &Node,
    detail: Detail,
    known: Known,
    sent: Sent,
    client: &Client,
) -> Result<(Decided, Wholeness), Failure> {
    let Sent { pods, origins, wholeness, warnings, .. } = sent;
    let only = pods.len() == 1;
    let snapshot = node.snapshot();
    let mut decided = Decided::new(warnings);
    let mut open = Vec::new();
    let mut ledger = snapshot.ledger.clone();
    for pod in pods {
        let name = || format!("{}/{}", pod.namespace, pod.name);
        let answer = match known {
            Known::Answered => snapshot.answer_to(&pod),
            Known::Anew => {
                ledger = ledger.release(&pod.uid);
                None
            }
        };
        match answer {
            None => open.push(pod),
            Some(Answer::Failed(error)) if only => return Err(failed(&error)),
            Some(Answer::Failed(error)) => decided.failed.push(Failed::new(name(), failed(&error))),
            Some(Answer::Done | Answer::Unchanged | Answer::Resized { .. }) => decided.unchanged.push(name()),
            Some(Answer::Deferred(deferral)) => {
                let report = deferred(node, &pod, &deferral);
                decided.decisions.push(origins.added_to(report, &pod.uid));
            }
        }
    }
    let waiting = (node.view.mode() == Mode::Serve).then(|| Waiting::of(&snapshot));
    let before = Before { ledger: &ledger, requests: node.view.requests(), waiting };
    let explained = explain::explain(node.view.node(), detail, &before, &open, || client.is_gone());
    let each = open.iter().zip(explained);
    let each = each.map(|(pod, report)| origins.added_to(Arc::new(report), &pod.uid));
    decided.decisions.extend(each);
    Ok((decided, wholeness))
}
