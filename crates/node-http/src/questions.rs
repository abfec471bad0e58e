//! The route of what a page asks beside trials: `/v1/questions`.

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use bounded_http::{Client, Who, Work};

use super::failure::Failure;
use super::node::{Answered, Node, body};
use super::page_questions::{PageQuestion, QuestionKind};
use super::query::{GLYPHS, OUTPUT, Parameter, Query, WIDTH};
use super::reply::Shape;
use super::segments::Segments;
use super::trial_nodes::{CONFIGURATION, KUBELET, MACHINE, parts};
use super::view::LETTERS;

/// The release to which an upgrade is checked.
const TO: Parameter = Parameter::undescribed("to");

/// The route of questions.
pub(super) fn routes() -> Router<Node> {
    Router::new().route("/v1/questions/{kind}", post(asked))
}

async fn asked(
    State(node): State<Node>,
    who: Who,
    Segments(kind): Segments<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Answered {
    let takes = [OUTPUT, GLYPHS, WIDTH, MACHINE, KUBELET, TO, CONFIGURATION];
    let query = Query::read(query.as_deref(), &takes)?;
    let shape = Shape::of(&query, &headers)?;
    let kind = QuestionKind::named(&kind)
        .ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, format!("there is no question {kind}")))?;
    let given = |name| query.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let (machine, kubelet, to) = (given(MACHINE), given(KUBELET), given(TO));
    let place = node.workshop.place(who, Work::Look).await?;
    let (configuration, manifests) = parts(&query, body(sent).await?)?;
    let make = move |node: &Node, _: &Client| {
        let questions = node.questions.as_ref().ok_or_else(|| {
            Failure::new(StatusCode::NOT_FOUND, "topolet ui answers this, and a daemon does not")
        })?;
        let machine = node.trial_nodes.machine(machine.as_deref())?;
        let page = shape.page(LETTERS);
        let question = PageQuestion { kind, machine, configuration, kubelet, to, manifests, page };
        let answer = questions.answer(&question).map_err(|error| Failure::given(&error))?;
        shape.document("PageAnswer", answer, |answer, _| answer.text.clone())
    };
    node.work(place, make).await
}
