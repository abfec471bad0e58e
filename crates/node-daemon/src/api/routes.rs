//! What can be asked.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, RawQuery, Request as HttpRequest, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bounded_http::{Client, Forbidden, Peer, Place, Refused, Service, Who, Work, Workshop, keep};
use cgroup_cpuset::Cgroups;
use crossbeam::channel::{Sender, TrySendError};
use node_agent::{Answer, Request, RequestError, Snapshot};
use node_output::NodeLine;
use pod_spec::Pod;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::oneshot;
use topology_admission::SourcesReady;
use topology_manifest::{MAX_BYTES, PodLimit};

use super::audit::{self, Audit};
use super::benches::Benches;
use super::desk::{self, Desk};
use super::failure::Failure;
use super::operations::{Elsewhere, OPERATIONS, Operation};
use super::reply::Shape;
use super::{page, tried, view};
use crate::news::News;
use crate::owner::{Message, Told};
use crate::view::{Mode, NodeView};

/// Where a node file is sent.
const FILES: &str = "/v1/node-files";
/// The most bytes of a node file.
const MAX_FILE: usize = 16 << 20;
/// How long a decision may take; plugins have a minute or two of their own.
const DECISION: Duration = Duration::from_mins(5);

/// What every route has.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) view: Arc<NodeView>,
    /// `None` if the node is only watched.
    control: Option<Arc<NodeControl>>,
    pub(super) workshop: Arc<Workshop>,
    /// So many pods may be asked about at once by who may not change anything.
    explained: NonZeroUsize,
    audit: Arc<Audit>,
    /// Nodes on which pods are tried.
    pub(super) benches: Arc<Benches>,
    /// Where scenarios run; `None`: they do not.
    pub(super) desk: Option<Arc<Desk>>,
}

/// What changes the node.
pub(crate) struct NodeControl {
    pub(crate) owner: Sender<Message>,
    /// How containers have ended, for the thread that reports on pods.
    pub(crate) news: Arc<News>,
    /// The cgroups that containers are kept in.
    pub(crate) cgroups: Option<Cgroups>,
}

/// Who may change something, and where it is asked for.
#[derive(Clone, Copy)]
pub(super) struct Changer<'a> {
    pub(super) who: Who,
    pub(super) control: &'a NodeControl,
}

pub(super) type Answered = Result<Response, Failure>;

/// All routes. Without an owner nothing can be changed. Who may not change anything may ask about `explained` pods in one
/// request.
pub(crate) fn router(view: NodeView, control: Option<NodeControl>, explained: NonZeroUsize) -> Router {
    routes(Node::new(view, control, explained))
}

/// What anybody may ask who can reach the node over the network: whether it is well, and its metrics.
pub(crate) fn for_monitoring(view: NodeView) -> Router {
    of_table(|operation| operation.elsewhere == Elsewhere::Monitoring)
        .fallback(async || {
            Failure::new(
                StatusCode::NOT_FOUND,
                "there is nothing under this path; here are /metrics, /healthz and /readyz",
            )
        })
        .with_state(Node::new(view, None, NonZeroUsize::MIN))
}

/// The routes of some operations.
fn of_table(is_there: impl Fn(&Operation) -> bool) -> Router<Node> {
    let operations = OPERATIONS.iter().filter(|operation| is_there(operation));
    operations.fold(Router::new(), |router, operation| router.route(operation.path, operation.route()))
}

/// The routes as they are served: `/healthz` and `/readyz` are answered whatever else is in progress.
pub(crate) fn service(router: Router) -> Service {
    let largest = |path: &str| if path == FILES { MAX_FILE } else { MAX_BYTES };
    let refused = |why: &Refused| match why {
        Refused::Busy(busy) => Failure::from(busy.clone()).into_response(),
        why => Failure::new(why.status(), why.to_string()).into_response(),
    };
    Service { router, always: &["/healthz", "/readyz"], largest, refused }
}

/// The page and what it asks for, of a node that nobody serves: for who has the token alone.
pub(crate) fn for_a_page(view: NodeView, explained: NonZeroUsize, desk: Desk) -> Router {
    let node = Node { desk: Some(Arc::new(desk)), ..Node::new(view, None, explained) };
    let asked = of_table(|operation| operation.elsewhere == Elsewhere::Page);
    let asked = asked.merge(views()).merge(desk::routes()).route(FILES, post(tried::take));
    page::routes()
        .merge(asked.layer(from_fn(page::with_the_token)))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing under this path"))
        .layer(from_fn_with_state(node.clone(), audited))
        .with_state(node)
}

/// What only the page asks for, and what changes with it: it is not described.
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

/// Notes who tries tokens.
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

impl FromRequestParts<Node> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Node) -> Result<Self, Failure> {
        let peer = parts.extensions.get::<Peer>();
        peer.map(|peer| peer.who(&parts.headers)).ok_or_else(|| Failure::ours("nobody knows who asks"))
    }
}

impl Node {
    /// As [`router`] has it.
    pub(super) fn new(view: NodeView, control: Option<NodeControl>, explained: NonZeroUsize) -> Self {
        let audit = Arc::new(Audit::new(&view.metrics));
        Self {
            view: Arc::new(view),
            control: control.map(Arc::new),
            workshop: Arc::default(),
            explained,
            audit,
            benches: Arc::default(),
            desk: None,
        }
    }

    /// How many pods a request may be about.
    pub(super) const fn limit(&self, who: Who) -> PodLimit {
        if who.may_change() { PodLimit::Usual } else { PodLimit::AtMost(self.explained) }
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.view.snapshot()
    }

    /// The owner, if whoever asks may change something.
    pub(super) fn changeable(&self, peer: &Peer, headers: &HeaderMap) -> Result<Changer<'_>, Failure> {
        let who = peer.may_change(headers).map_err(forbidden)?;
        let control = self.control.as_deref().ok_or_else(|| {
            Failure::new(StatusCode::CONFLICT, "a kubelet owns this node, which is only watched here")
        })?;
        Ok(Changer { who, control })
    }

    /// Asks the owner, and waits. The log gets a line about it, which says that it is about `on`.
    pub(super) async fn ask(
        &self,
        Changer { who, control }: Changer<'_>,
        on: &str,
        request: Request,
    ) -> Result<Told, Failure> {
        let mut asked = self.audit.change(who, audit::what(&request), on);
        let told = decided(&control.owner, request).await;
        asked.told(&told);
        told
    }

    /// Asks for something that is done or fails.
    pub(super) async fn change(
        &self,
        changer: Changer<'_>,
        on: &str,
        request: Request,
    ) -> Result<(), Failure> {
        match self.ask(changer, on, request).await? {
            Told::Answer(Answer::Done | Answer::Resized { .. } | Answer::Unchanged | Answer::Deferred(_))
            | Told::Decided(_)
            | Told::Moved(..) => Ok(()),
            Told::Answer(Answer::Failed(error)) => Err(failed(&error)),
        }
    }

    /// An answer that is made under a place for looking, on a thread of its own.
    pub(super) async fn look(
        &self,
        who: Who,
        make: impl FnOnce(&Self) -> Answered + Send + 'static,
    ) -> Answered {
        let place = self.workshop.place(who, Work::Look).await?;
        self.work(place, move |node, _| make(node)).await
    }

    /// An answer that is made on a thread of its own, and keeps its place until it has been read.
    pub(super) async fn work(
        &self,
        place: Place,
        make: impl FnOnce(&Self, &Client) -> Answered + Send + 'static,
    ) -> Answered {
        let node = self.clone();
        let (answer, place) = place.work(move |client| make(&node, client)).await?;
        Ok(keep(place, answer?))
    }

    pub(super) fn line(&self) -> &NodeLine {
        &self.view.node().line
    }
}

async fn decided(owner: &Sender<Message>, request: Request) -> Result<Told, Failure> {
    let (answer, told) = oneshot::channel();
    owner.try_send(Message::Ask(request, answer)).map_err(|error| match error {
        TrySendError::Full(_) => Failure::busy("too much is being asked"),
        TrySendError::Disconnected(_) => stopped(),
    })?;
    match tokio::time::timeout(DECISION, told).await {
        Ok(Ok(told)) => Ok(told),
        Ok(Err(_)) => Err(stopped()),
        Err(_) => Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, "it is still being decided")),
    }
}

/// Why the request may not change anything.
fn forbidden(why: Forbidden) -> Failure {
    let text = match why {
        Forbidden::OtherUser => "only root and the user that topolet runs as may change something",
        Forbidden::NoToken => "over TCP nothing can be changed: there is no --token-file",
        Forbidden::WrongToken => "over TCP the token is needed: Authorization: Bearer TOKEN",
        Forbidden::NoCertificate | Forbidden::OtherName => "over TLS nothing can be changed here",
    };
    Failure::new(StatusCode::FORBIDDEN, text)
}

fn stopped() -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "topolet is stopping")
}

pub(super) fn failed(error: &RequestError) -> Failure {
    let status = match error {
        // 409 would say that the pod is not here, and it may be admitted by what asked for it before.
        RequestError::Waiting(_) => return Failure::busy(error.to_string()),
        RequestError::NoPod(_) | RequestError::NoContainer(_) | RequestError::NoContainerId(_) => {
            StatusCode::NOT_FOUND
        }
        RequestError::Size(_) => StatusCode::BAD_REQUEST,
        RequestError::Start(_) => StatusCode::BAD_GATEWAY,
        RequestError::NotStored(_) => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::CONFLICT,
    };
    Failure::new(status, error.to_string())
}

/// Whether the node knows all its pods, and what it holds is on disk.
pub(super) async fn ready(
    State(node): State<Node>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let snapshot = node.snapshot();
    let not = |why: String| Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, why));
    if let Some(why) = node.view.conditions.why_stale() {
        return not(why);
    }
    if let Some(why) = node.view.manifests.why_not_ready(&snapshot) {
        return not(why);
    }
    if let Some(why) = node.view.conditions.why_not_served() {
        return not(why);
    }
    if let Some(why) = node.view.conditions.why_no_member() {
        return not(why);
    }
    match &snapshot.behind {
        Some(why) => not(format!("state is behind on disk: {why}")),
        None if node.view.mode() == Mode::Serve && snapshot.ledger.sources() == SourcesReady::No => {
            not("the manifests have not been read yet".to_owned())
        }
        None => health(shape, node.view.remarks()),
    }
}

/// That anything is answered.
pub(super) async fn alive(RawQuery(query): RawQuery, headers: HeaderMap) -> Answered {
    health(Shape::alone(query.as_deref(), &headers)?, Vec::new())
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// Always `ok`: a node that is not well answers an error.
    #[schemars(schema_with = "ok")]
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// What does not keep the node from deciding, and has to be known.
    notes: Vec<String>,
}

fn ok(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    admission_report::schema::one_of(["ok"])
}

fn health(shape: Shape, notes: Vec<String>) -> Answered {
    let lines = |health: &Health| health.notes.iter().map(|note| format!("! {note}\n")).collect::<String>();
    shape.document("Health", Health { status: "ok", notes }, |health, _| format!("ok\n{}", lines(health)))
}

/// The body, which is whole and within the limit of its path ([`service`]).
pub(super) async fn body(body: Body) -> Result<Vec<u8>, Failure> {
    let read = to_bytes(body, MAX_FILE).await;
    read.map(Into::into).map_err(|error| Failure::ours(&error.to_string()))
}

/// A pod that runs, was refused or waits.
pub(super) fn find(snapshot: &Snapshot, namespace: &str, name: &str) -> Result<Arc<Pod>, Failure> {
    let admitted = snapshot.pods.values().map(|record| &record.pod);
    let refused = snapshot.refused.values().map(|refused| &refused.pod);
    let deferred = snapshot.deferred.iter().map(|deferred| &deferred.pod);
    let mut all = admitted.chain(refused).chain(&snapshot.waiting).chain(deferred);
    let found = all.find(|pod| pod.namespace == namespace && pod.name == name);
    found.cloned().ok_or_else(|| no_pod(namespace, name))
}

pub(super) fn no_pod(namespace: &str, name: &str) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("pod {namespace}/{name} is not here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_change_nothing_asks_about_fewer_pods() {
        let node = Node::new(crate::api::small::view(), None, NonZeroUsize::MIN);
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
