//! What can be looked at.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use kubelet_checkpoint::store::StateFile;
use node_agent::{files, manifest};
use serde::Serialize;

use super::pods;
use super::reply::{Failure, Shape, asked, text};
use super::routes::{Answered, Node, find, no_pod};
use crate::node::NodeLine;
use crate::render;
use crate::serve::shared::{DECISIONS, LoggedDecision};
use crate::state::{self, PodNames, StateFolder};

pub(super) async fn list(State(node): State<Node>, RawQuery(query): RawQuery) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    let mut all = pods::all(&node.shared, &node.snapshot());
    if let Some(namespace) = asked(query.as_deref(), "namespace") {
        all.retain(|pod| pod.namespace == namespace);
    }
    let all = pods::Pods { node: node.line(), pods: all };
    shape.document("Pods", all, |all, _| pods::table(all))
}

pub(super) async fn describe(
    State(node): State<Node>,
    Path((namespace, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    let snapshot = node.snapshot();
    let pod = find(&snapshot, &namespace, &name)?;
    let all = pods::all(&node.shared, &snapshot);
    let Some(view) = all.into_iter().find(|view| view.namespace == namespace && view.name == name) else {
        return Err(no_pod(&namespace, &name));
    };
    let logged = node.shared.log.last_of(&format!("{namespace}/{name}"));
    let described = pods::Described {
        node: node.line(),
        pod: view,
        manifest: manifest(&pod),
        decision: logged.as_deref(),
    };
    shape.document("PodDescription", described, pods::description)
}

pub(super) async fn machine(State(node): State<Node>, RawQuery(query): RawQuery) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    shape.document("Topology", &node.shared.machine, |_, _| node.shared.drawing.clone())
}

pub(super) async fn held(State(node): State<Node>, RawQuery(query): RawQuery) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    let snapshot = node.snapshot();
    let text = |file| Some(files::text(file, &node.shared.node.node, &snapshot.ledger).into_bytes());
    let folder = StateFolder {
        cpu: text(StateFile::Cpu),
        memory: text(StateFile::Memory),
        device: text(StateFile::Device),
    };
    let pods = snapshot.ledger.pods();
    let names = PodNames::of(pods.map(|pod| (pod.uid.clone(), format!("{}/{}", pod.namespace, pod.name))));
    let shown = state::shown(&folder.contents_of_any(), &names);
    shape.document("State", shown, render::shown)
}

/// The last decisions, as they are written.
#[derive(Serialize)]
struct LastDecisions<'a> {
    node: &'a NodeLine,
    decisions: Vec<Arc<LoggedDecision>>,
}

pub(super) async fn decisions(State(node): State<Node>, RawQuery(query): RawQuery) -> Answered {
    let shape = Shape::of(query.as_deref())?;
    let count = match asked(query.as_deref(), "limit") {
        None => DECISIONS,
        Some(limit) => limit.parse().map_err(|_| Failure::wrong("limit is a number"))?,
    };
    let last = LastDecisions { node: node.line(), decisions: node.shared.log.last(count) };
    shape.document("Decisions", last, |last, glyphs| {
        if last.decisions.is_empty() {
            return "no decisions since the daemon started\n".to_owned();
        }
        let line = last.node.line(glyphs);
        let each = last.decisions.iter().map(|logged| {
            format!(
                "{} from {}\n{}",
                logged.time,
                logged.source,
                render::decision(&logged.decision, &line, glyphs)
            )
        });
        each.collect::<Vec<_>>().join("\n")
    })
}

pub(super) async fn metrics(State(node): State<Node>) -> Answered {
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(text(KIND, node.shared.metrics.text(&node.shared.node, &node.snapshot())))
}
