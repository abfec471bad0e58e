//! `GET /v1/events`: the last events, or a stream of them as server-sent events
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//!
//! Each event of the stream has its number as `id`, `node` as its name, and the event as JSON as its data. A client that
//! connects again with `Last-Event-ID` goes on where it was. A client that reads too slowly gets an event named `lost`
//! with the number of events that are not kept any more.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use bounded_http::Who;
use node_output::NodeLine;
use node_view::{Events, NodeEvent, PodName};
use schemars::JsonSchema;
use serde::Serialize;
use terminal_text::Page;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::failure::Failure;
use super::node::{Answered, Node};
use super::query::{GLYPHS, OUTPUT, Parameter, Query, Values, WIDTH};
use super::reply::Shape;

/// Events that wait for a client to read them. The others wait where they are kept.
const AHEAD: usize = 16;
/// A comment is sent after so long, so that a client that has gone is noticed.
const COMMENT: Duration = Duration::from_secs(15);
/// The header with which a client goes on where it was.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What [`events`] takes.
pub(super) const EVENTS: &[Parameter] = &[OUTPUT, GLYPHS, WIDTH, WATCH, AFTER];
const WATCH: Parameter = Parameter {
    name: "watch",
    values: Values::OneOf(&["true", "false"]),
    about: "Whether the answer is a stream of server-sent events; without it, whether `Accept` names `text/event-stream`.",
};
const AFTER: Parameter = Parameter {
    name: "after",
    values: Values::Number(0, None),
    about: "Only events after the one of this number. A stream without it, and without `Last-Event-ID`, begins with what \
            comes next.",
};

/// The last events, as they are written.
#[derive(Serialize, JsonSchema)]
pub(super) struct LastEvents<'a> {
    node: &'a NodeLine,
    events: Vec<Arc<NodeEvent>>,
}

pub(super) async fn events(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let query = Query::read(query.as_deref(), EVENTS)?;
    let accepts_stream = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream"));
    let is_watched = match query.get(WATCH) {
        None => accepts_stream,
        Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(Failure::wrong("watch is true or false")),
    };
    let after = match query.get(AFTER) {
        None => None,
        Some(number) => Some(number.parse().map_err(|_| Failure::wrong("after is the number of an event"))?),
    };
    if is_watched {
        let last = headers.get(LAST_EVENT_ID).and_then(|last| last.to_str().ok()?.parse().ok());
        return Ok(stream(node.view.events.clone(), last.or(after)));
    }
    let shape = Shape::of(&query, &headers)?;
    let make = move |node: &Node| {
        let events = node.view.events.after(after.unwrap_or(0)).events;
        shape.document("Events", LastEvents { node: node.line(), events }, table)
    };
    node.look(who, make).await
}

/// Events after the one of that number; `None`: those that come from now on.
fn stream(all: Arc<Events>, after: Option<u64>) -> Response {
    let (send, read) = mpsc::channel(AHEAD);
    let mut newest = all.newest();
    let mut seen = after.unwrap_or_else(|| *newest.borrow_and_update());
    tokio::spawn(async move {
        loop {
            let unseen = all.after(seen);
            let lost =
                (unseen.lost > 0).then(|| Event::default().event("lost").data(unseen.lost.to_string()));
            let each = unseen.events.iter().map(|event| {
                seen = event.number;
                // An event is text and numbers.
                let data = serde_json::to_string(event).unwrap_or_default();
                Event::default().id(event.number.to_string()).event("node").data(data)
            });
            for event in lost.into_iter().chain(each) {
                if send.send(Ok::<_, Infallible>(event)).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                changed = newest.changed() => if changed.is_err() { return },
                () = send.closed() => return,
            }
        }
    });
    Sse::new(ReceiverStream::new(read)).keep_alive(KeepAlive::new().interval(COMMENT)).into_response()
}

fn table(last: &LastEvents<'_>, page: Page) -> String {
    if last.events.is_empty() {
        return "no events since the daemon started\n".to_owned();
    }
    let head = ["TIME", "TYPE", "REASON", "POD", "MESSAGE"].map(str::to_owned).to_vec();
    let rows = last.events.iter().map(|event| {
        let NodeEvent { time, kind, reason, pod, message, .. } = &**event;
        let pod = pod.as_ref().map_or_else(|| "-".to_owned(), PodName::full);
        vec![time.clone(), kind.name().to_owned(), reason.clone(), pod, message.clone()]
    });
    page.columns(std::iter::once(head).chain(rows), "")
}
