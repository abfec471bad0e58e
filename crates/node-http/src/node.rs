//! The state that handlers share, and requests to the owner of the node.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bounded_http::{Client, Forbidden, Peer, Place, Who, Work, Workshop, keep};
use cgroup_cpuset::Cgroups;
use crossbeam::channel::{Sender, TrySendError};
use node_agent::{Answer, Request, RequestError, Snapshot};
use node_output::NodeLine;
use node_view::{Message, News, NodeView, OwnerReply};
use pod_spec::Pod;
use tokio::sync::oneshot;
use topology_manifest::PodLimit;

use super::audit::{self, Audit};
use super::failure::Failure;
use super::page_questions::PageQuestions;
use super::simulation_runs::SimulationRuns;
use super::trial_nodes::TrialNodes;

/// The most bytes of a node file.
pub(super) const MAX_FILE: usize = 16 << 20;
/// How long a decision may take, with two minutes for each call of a device plugin.
const DECISION: Duration = Duration::from_mins(5);

/// The state that handlers share.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) view: Arc<NodeView>,
    /// `None` if the node is only watched.
    control: Option<Arc<NodeControl>>,
    pub(super) workshop: Arc<Workshop>,
    /// The most pods in a request of a client that may only read.
    explained: NonZeroUsize,
    pub(super) audit: Arc<Audit>,
    /// Nodes on which pods are tried.
    pub(super) trial_nodes: Arc<TrialNodes>,
    /// Simulations of the page; `None`: this is a daemon, which runs none.
    pub(super) simulations: Option<Arc<SimulationRuns>>,
    /// Answers questions of the page; `None`: this is a daemon, which answers none.
    pub(super) questions: Option<Arc<dyn PageQuestions>>,
    /// Writes the description of the interface.
    pub(super) description: fn() -> &'static str,
}

/// The handles by which requests change the node.
pub struct NodeControl {
    /// Messages to the owner of the node.
    pub owner: Sender<Message>,
    /// Exit codes of containers, for the thread that reports pod statuses.
    pub news: Arc<News>,
    /// The cgroups that containers are kept in.
    pub cgroups: Option<Cgroups>,
}

/// A client that may change the node, with the channel to its owner.
#[derive(Clone, Copy)]
pub(super) struct Changer<'a> {
    pub(super) who: Who,
    pub(super) control: &'a NodeControl,
}

pub(super) type Answered = Result<Response, Failure>;

impl FromRequestParts<Node> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Node) -> Result<Self, Failure> {
        let peer = parts.extensions.get::<Peer>();
        peer.map(|peer| peer.who(&parts.headers)).ok_or_else(|| Failure::ours("the connection has no peer"))
    }
}

impl Node {
    /// `description` writes the description of the interface.
    pub(super) fn new(
        view: NodeView,
        control: Option<NodeControl>,
        explained: NonZeroUsize,
        description: fn() -> &'static str,
    ) -> Self {
        let audit = Arc::new(Audit::new(&view.metrics));
        Self {
            view: Arc::new(view),
            control: control.map(Arc::new),
            workshop: Arc::default(),
            explained,
            audit,
            trial_nodes: Arc::default(),
            simulations: None,
            questions: None,
            description,
        }
    }

    /// With simulations, and with answers to questions of a page.
    pub(super) fn of_a_page(self, runs: SimulationRuns, questions: Arc<dyn PageQuestions>) -> Self {
        Self { simulations: Some(Arc::new(runs)), questions: Some(questions), ..self }
    }

    /// The most pods in a request of this client.
    pub(super) const fn limit(&self, who: Who) -> PodLimit {
        if who.may_change() { PodLimit::Usual } else { PodLimit::AtMost(self.explained) }
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.view.snapshot()
    }

    /// What changes the node, if this client may.
    pub(super) fn changeable(&self, peer: &Peer, headers: &HeaderMap) -> Result<Changer<'_>, Failure> {
        let who = peer.may_change(headers).map_err(forbidden)?;
        let control = self.control.as_deref().ok_or_else(|| {
            Failure::new(StatusCode::CONFLICT, "a kubelet owns this node, which is only watched here")
        })?;
        Ok(Changer { who, control })
    }

    /// Sends a request to the owner and waits for the reply. The audit log gets a line that names the object `on`.
    pub(super) async fn ask(
        &self,
        Changer { who, control }: Changer<'_>,
        on: &str,
        request: Request,
    ) -> Result<OwnerReply, Failure> {
        let mut asked = self.audit.change(who, audit::what(&request), on);
        let reply = decided(&control.owner, request).await;
        asked.replied(&reply);
        reply
    }

    /// Sends a request whose reply is success or a failure.
    pub(super) async fn change(
        &self,
        changer: Changer<'_>,
        on: &str,
        request: Request,
    ) -> Result<(), Failure> {
        match self.ask(changer, on, request).await? {
            OwnerReply::Answer(
                Answer::Done | Answer::Resized { .. } | Answer::Unchanged | Answer::Deferred(_),
            )
            | OwnerReply::Decided(_)
            | OwnerReply::Moved(..) => Ok(()),
            OwnerReply::Answer(Answer::Failed(error)) => Err(failed(&error)),
        }
    }

    /// An answer made on a separate thread, within the client's share of requests that read.
    pub(super) async fn look(
        &self,
        who: Who,
        make: impl FnOnce(&Self) -> Answered + Send + 'static,
    ) -> Answered {
        let place = self.workshop.place(who, Work::Look).await?;
        self.work(place, move |node, _| make(node)).await
    }

    /// An answer made on a separate thread. It counts in the client's share until the client has read it.
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

async fn decided(owner: &Sender<Message>, request: Request) -> Result<OwnerReply, Failure> {
    let (answer, reply) = oneshot::channel();
    owner.try_send(Message::Ask(request, answer)).map_err(|error| match error {
        TrySendError::Full(_) => Failure::busy("too many requests wait for the owner of the node"),
        TrySendError::Disconnected(_) => stopped(),
    })?;
    match tokio::time::timeout(DECISION, reply).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(_)) => Err(stopped()),
        Err(_) => Err(Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            "the decision takes longer than 5 minutes and goes on",
        )),
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
    Failure::new(StatusCode::NOT_FOUND, format!("no pod is called {namespace}/{name}"))
}
