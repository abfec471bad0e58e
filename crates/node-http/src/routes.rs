//! Builds the routers from the table of operations.

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bounded_http::{Peer, Refused, Service};
use node_view::NodeView;
use topology_manifest::MAX_BYTES;

use super::failure::Failure;
use super::node::{MAX_FILE, Node, NodeControl};
use super::operations::{Elsewhere, OPERATIONS, Operation};
use super::page_questions::PageQuestions;
use super::simulation_runs::SimulationRuns;
use super::{openapi, page, questions, simulations, tried, view};

/// Where a node file is sent.
const FILES: &str = "/v1/node-files";

/// All routes. Without `control` nothing can be changed. A client without the right to change may ask about at most `explained`
/// pods in one request.
pub fn router(view: NodeView, control: Option<NodeControl>, explained: NonZeroUsize) -> Router {
    routes(node(view, control, explained))
}

/// The routes for any client on the network: `/metrics`, `/healthz` and `/readyz`.
pub fn for_monitoring(view: NodeView) -> Router {
    of_table(|operation| operation.elsewhere == Elsewhere::Monitoring)
        .fallback(async || {
            Failure::new(
                StatusCode::NOT_FOUND,
                "there is nothing under this path; here are /metrics, /healthz and /readyz",
            )
        })
        .with_state(node(view, None, NonZeroUsize::MIN))
}

/// The node that these routes are about.
pub(super) fn node(view: NodeView, control: Option<NodeControl>, explained: NonZeroUsize) -> Node {
    Node::new(view, control, explained, openapi::written)
}

/// The routes of some operations.
fn of_table(is_there: impl Fn(&Operation) -> bool) -> Router<Node> {
    let operations = OPERATIONS.iter().filter(|operation| is_there(operation));
    operations.fold(Router::new(), |router, operation| router.route(operation.path, operation.route()))
}

/// The routes as they are served: `/healthz` and `/readyz` are answered whatever else is in progress.
pub fn service(router: Router) -> Service {
    let largest = |path: &str| if path == FILES { MAX_FILE } else { MAX_BYTES };
    let refused = |why: &Refused| match why {
        Refused::Busy(busy) => Failure::from(busy.clone()).into_response(),
        why => Failure::new(why.status(), why.to_string()).into_response(),
    };
    Service { router, always: &["/healthz", "/readyz"], largest, refused }
}

/// The page of `topolet ui` and its requests, all of which need the token.
pub fn for_a_page(
    view: NodeView,
    explained: NonZeroUsize,
    runs: SimulationRuns,
    questions: Arc<dyn PageQuestions>,
) -> Router {
    let node = node(view, None, explained).of_a_page(runs, questions);
    let asked = of_table(|operation| operation.elsewhere == Elsewhere::Page);
    let asked = asked
        .merge(views())
        .merge(simulations::routes())
        .merge(questions::routes())
        .route(FILES, post(tried::take));
    page::routes()
        .merge(asked.layer(from_fn(page::with_the_token)))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing under this path"))
        .layer(from_fn_with_state(node.clone(), audited))
        .with_state(node)
}

/// Routes that only the page uses. They change with it and are not in the `OpenAPI` description.
fn views() -> Router<Node> {
    Router::new()
        .route("/v1/decisions/lines", get(view::lines))
        .route("/v1/decisions/view", get(view::decision))
        .route("/v1/choices", get(tried::choices))
        .route("/v1/try", post(tried::tried))
}

/// All routes of a node.
pub(super) fn routes(node: Node) -> Router {
    page::routes()
        .merge(of_table(|_| true))
        .merge(views())
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing under this path"))
        .method_not_allowed_fallback(async |method: Method| {
            let text =
                format!("this path does not take {method}: nothing was done; Allow lists what it takes");
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, text)
        })
        .layer(from_fn_with_state(node.clone(), audited))
        .with_state(node)
}

/// Counts and logs requests with a wrong token.
async fn audited(
    State(node): State<Node>,
    Extension(peer): Extension<Peer>,
    request: HttpRequest,
    next: Next,
) -> Response {
    if peer.tries_a_token(request.headers()) {
        node.audit.wrong_token();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use bounded_http::Who;
    use topology_manifest::PodLimit;

    use super::*;

    #[test]
    fn a_client_that_may_only_read_asks_about_fewer_pods() {
        let node = node(crate::small::view(), None, NonZeroUsize::MIN);
        for (who, limit) in [
            (Who::Owner(0), PodLimit::Usual),
            (Who::Holder, PodLimit::Usual),
            (Who::User(1), PodLimit::AtMost(NonZeroUsize::MIN)),
            (Who::Tcp, PodLimit::AtMost(NonZeroUsize::MIN)),
        ] {
            assert_eq!(node.limit(who), limit, "{who}");
        }
    }
}
