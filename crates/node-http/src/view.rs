//! Decisions as the page shows them: the text of the command line, a picture of what the node had, and the changes that
//! would fit.

use std::borrow::Cow;

use admission_report::{Alternative, Conclusion, Report};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use bounded_http::Who;
use machine_picture::svg;
use node_output::{NodeBefore, PodGroup, decision_picture};
use node_view::LoggedDecision;
use pod_spec::PodUid;
use serde::Serialize;
use terminal_text::Page;

use super::decide::outcome_of;
use super::failure::Failure;
use super::look::origin;
use super::node::{Answered, Node};
use super::query::{GLYPHS, OUTPUT, Parameter, Query, WIDTH};
use super::reply::Shape;

/// Only decisions after the one of this number.
const AFTER: Parameter = Parameter::undescribed("after");
/// The decision on this pod.
const UID: Parameter = Parameter::undescribed("uid");

/// The default width of a page, in characters.
pub(super) const LETTERS: usize = 100;

/// One or several decisions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    /// The node and its rules in a few words.
    pub(super) node: String,
    /// As in the header of other answers.
    pub(super) outcome: &'static str,
    /// How many pods came out how, where the outcome alone does not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) headline: Option<String>,
    /// As the command line prints it.
    pub(super) text: String,
    /// Of one pod: what each NUMA node had, and what was chosen or lacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) picture: Option<Picture>,
    /// What would fit, of pods that are refused.
    pub(super) would_fit: Vec<PodFits>,
}

/// A picture, and whose decision it shows.
#[derive(Serialize)]
pub(super) struct Picture {
    pub(super) pod: String,
    pub(super) svg: String,
}

/// What would fit for one pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodFits {
    pub(super) pod: String,
    pub(super) alternatives: Vec<Alternative>,
}

impl PodFits {
    /// `None`: the pod is admitted, or nothing was found.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let alternatives = report.refusal()?.alternatives.clone();
        (!alternatives.is_empty()).then(|| Self { pod: report.pod.clone(), alternatives })
    }
}

/// The picture alone: sentences stand in the text beside it.
pub(super) fn picture(report: &Report, before: NodeBefore<'_>) -> Picture {
    let mut drawn = decision_picture(report, before, Vec::new());
    drawn.lists.clear();
    drawn.headline.clone_from(&report.pod);
    Picture { pod: report.pod.clone(), svg: svg::decision(&drawn) }
}

/// A decision in a line.
#[derive(Serialize)]
struct Line<'a> {
    uid: &'a str,
    time: &'a str,
    pod: &'a str,
    admitted: bool,
    reason: String,
    message: Cow<'a, str>,
}

impl<'a> Line<'a> {
    fn of(logged: &'a LoggedDecision) -> Self {
        let LoggedDecision { uid, time, report, kubelet, .. } = logged;
        let refusal = report.refusal();
        let (reason, message) = match (kubelet, refusal) {
            (Some(kubelet), _) => (kubelet.reason.clone(), Cow::from(&kubelet.message)),
            (None, _) if let Some(fated) = report.fated() => {
                (fated.fate.kind().to_owned(), Cow::from(fated.to_string()))
            }
            (None, Some(refusal)) => (refusal.reason.to_string(), Cow::from(&refusal.message)),
            (None, None) => match &report.conclusion {
                Conclusion::WithoutClaims(_, claims) => {
                    ("WithoutClaims".to_owned(), Cow::from(claims.to_string()))
                }
                Conclusion::Unschedulable(why) => ("Unschedulable".to_owned(), Cow::from(why.to_string())),
                Conclusion::Undecided(why) => ("Undecided".to_owned(), Cow::from(why.to_string())),
                _ => (String::new(), Cow::from("")),
            },
        };
        let admitted = reason.is_empty();
        Self { uid: uid.as_str(), time, pod: &report.pod, admitted, reason, message }
    }
}

/// Decisions in lines.
#[derive(Serialize)]
struct Lines<'a> {
    /// The number of the newest decision: the value of `after` for the next request.
    newest: u64,
    decisions: Vec<Line<'a>>,
}

/// The last decisions in lines, oldest first.
pub(super) async fn lines(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, WIDTH, AFTER])?;
    let shape = Shape::of(&query, &headers)?;
    let after = match query.get(AFTER).map(str::parse) {
        None => 0,
        Some(Ok(after)) => after,
        Some(Err(_)) => return Err(Failure::wrong("after is the number of a decision")),
    };
    let make = move |node: &Node| {
        let (newest, decisions) = node.view.decisions.since(after);
        let lines = Lines { newest, decisions: decisions.iter().map(|logged| Line::of(logged)).collect() };
        shape.document("DecisionLines", lines, |lines, page| {
            let row = |line: &Line<'_>| [line.time, line.pod, &line.reason].map(str::to_owned).to_vec();
            page.columns(lines.decisions.iter().map(row), "")
        })
    };
    node.look(who, make).await
}

/// The last decision on a pod.
pub(super) async fn decision(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), &[OUTPUT, GLYPHS, WIDTH, UID])?;
    let shape = Shape::of(&query, &headers)?;
    let page = shape.page(LETTERS);
    let uid = query.get(UID).map(PodUid::new).ok_or_else(|| Failure::wrong("uid is missing"))?;
    node.look(who, move |node| {
        shape.document("DecisionView", view(node, &uid, page)?, |view, _| view.text.clone())
    })
    .await
}

fn view(node: &Node, uid: &PodUid, page: Page) -> Result<View, Failure> {
    let none = || {
        let text = format!("no decision on the pod of UID {} is known", uid.as_str());
        Failure::new(StatusCode::NOT_FOUND, text)
    };
    let logged = node.view.decisions.last_on(uid).ok_or_else(none)?;
    let line = node.line().line(page);
    let group = PodGroup::from(Report::clone(&logged.report));
    let drawn = node_output::explanation(&group, Some(&line), page);
    let snapshot = node.snapshot();
    let own = node.view.node();
    let before = NodeBefore::kept(&own.node, &own.cpus, logged.free.clone(), snapshot.ledger.inventory());
    Ok(View {
        headline: None,
        node: line,
        outcome: outcome_of(&logged.report),
        text: format!("{} {}\n{drawn}", logged.time, origin(&logged)),
        picture: Some(picture(&logged.report, before)),
        would_fit: PodFits::of(&logged.report).into_iter().collect(),
    })
}
