//! The description of the interface, asked for.

use axum::extract::{RawQuery, State};
use bounded_http::text;

use super::node::{Answered, Node};
use super::query::Query;

/// `GET /openapi.json`.
pub(super) async fn openapi(State(node): State<Node>, RawQuery(query): RawQuery) -> Answered {
    Query::read(query.as_deref(), &[])?;
    Ok(text("application/json", (node.description)().to_owned()))
}
