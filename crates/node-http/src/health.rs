//! `/healthz` and `/readyz`.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use node_view::Mode;
use schemars::JsonSchema;
use serde::Serialize;
use topology_admission::SourcesReady;

use super::failure::Failure;
use super::node::{Answered, Node};
use super::reply::Shape;

/// 200 if the node knows all its pods and its state is on disk; else 503 with the first of these problems: the state beside a
/// kubelet is stale; a manifest or the manifests folder cannot be used; a folder, a socket or the file of quarantined pods cannot
/// be used; the membership of a cluster fails; the state on disk is behind; the manifests have not been read yet. All but the last
/// are conditions (`crates/node-view/src/conditions.rs`).
pub(super) async fn ready(
    State(node): State<Node>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let snapshot = node.snapshot();
    let not = |why: String| Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, why));
    match node.view.unready(&snapshot).next().or_else(|| node.view.conditions.why_behind()) {
        Some(why) => not(why),
        None if node.view.mode() == Mode::Serve && snapshot.ledger.sources() == SourcesReady::No => {
            not("the manifests have not been read yet".to_owned())
        }
        None => health(shape, node.view.remarks()),
    }
}

/// 200 as long as the daemon answers.
pub(super) async fn alive(RawQuery(query): RawQuery, headers: HeaderMap) -> Answered {
    health(Shape::alone(query.as_deref(), &headers)?, Vec::new())
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// Always `ok`: a node that is not well answers an error.
    #[schemars(schema_with = "ok")]
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Problems with which the node still decides.
    notes: Vec<String>,
}

fn ok(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    admission_report::schema::one_of(["ok"])
}

fn health(shape: Shape, notes: Vec<String>) -> Answered {
    let lines = |health: &Health| health.notes.iter().map(|note| format!("! {note}\n")).collect::<String>();
    shape.document("Health", Health { status: "ok", notes }, |health, _| format!("ok\n{}", lines(health)))
}
