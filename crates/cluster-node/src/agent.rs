//! The agent of another node, asked through the API server: a port of its pod is forwarded, as `kubectl port-forward`
//! does it. So an agent listens on its loopback address alone, and who may ask it is the API server's decision.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use tokio::time::timeout;

use crate::connection::Cluster;
use crate::error::ClusterError;

/// By which pods of agents are found.
const LABEL: &str = "app.kubernetes.io/name=topolet";
/// The port of an agent's container that is asked has this name.
const PORT: &str = "topolet";
/// How long an agent may take.
const ANSWER: Duration = Duration::from_secs(30);
/// How long the kubelet may take to say why it closed a connection.
const REASON: Duration = Duration::from_secs(1);
/// An answer is not larger: 64 MiB.
const LARGEST: usize = 64 << 20;

/// A pod with an agent in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Where its agent listens.
    pub port: u16,
}

/// What an agent answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentAnswer {
    /// The status of HTTP.
    pub status: u16,
    /// The fields of its head, in small letters.
    pub fields: Vec<(String, String)>,
    /// The text.
    pub body: String,
}

impl Cluster {
    /// The pods on a node that have an agent in them: the label `app.kubernetes.io/name: topolet`, and a container port
    /// named `topolet`.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn agents_on(&self, node: &str) -> Result<Vec<AgentPod>, ClusterError> {
        let pods = Api::<Pod>::all(self.client.clone());
        let list = ListParams::default().labels(LABEL).fields(&format!("spec.nodeName={node}"));
        let found = self.wait(pods.list(&list))?.items.into_iter();
        let found = found.filter_map(|pod| {
            let is_running = pod.status.as_ref()?.phase.as_deref() == Some("Running");
            let ports =
                pod.spec.iter().flat_map(|spec| &spec.containers).flat_map(|one| one.ports.iter().flatten());
            let port = ports.into_iter().find(|port| port.name.as_deref() == Some(PORT))?.container_port;
            is_running.then_some(AgentPod {
                namespace: pod.metadata.namespace?,
                name: pod.metadata.name?,
                port: u16::try_from(port).ok()?,
            })
        });
        Ok(found.collect())
    }

    /// Asks an agent; `body`: `POST` with that instead of `GET`.
    ///
    /// # Errors
    /// The right to forward ports is missing, the node's kubelet cannot be reached, or nothing listens at the
    /// port.
    pub fn ask_agent(
        &self,
        agent: &AgentPod,
        path: &str,
        body: Option<String>,
    ) -> Result<AgentAnswer, ClusterError> {
        let asked = self.within(ANSWER, self.forwarded(agent, path, body));
        asked.unwrap_or_else(|| {
            let server = format!("the agent in pod {}/{}", agent.namespace, agent.name);
            Err(ClusterError::Late { server, within: ANSWER })
        })
    }

    async fn forwarded(
        &self,
        agent: &AgentPod,
        path: &str,
        body: Option<String>,
    ) -> Result<AgentAnswer, ClusterError> {
        let AgentPod { namespace, name, port } = agent;
        let pods = Api::<Pod>::namespaced(self.client.clone(), namespace);
        let mut forwarder =
            pods.portforward(name, &[*port]).await.map_err(|error| self.not_forwarded(agent, error))?;
        let unreadable = |error: &dyn std::error::Error| ClusterError::Agent(error.to_string());
        let none = || ClusterError::Agent("its port is not forwarded".to_owned());
        let stream = forwarder.take_stream(*port).ok_or_else(none)?;
        let error = forwarder.take_error(*port).ok_or_else(none)?;
        let exchange = async {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            let answered = async {
                let method = if body.is_some() { Method::POST } else { Method::GET };
                let request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::HOST, "localhost")
                    .header(header::CONNECTION, "close")
                    .body(Full::new(Bytes::from(body.unwrap_or_default())));
                // Its parts are constants but for the path, which is ours.
                let Ok(request) = request else { return Ok(None) };
                sender.send_request(request).await.map(Some)
            };
            // The connection works as long as the answer is waited for, and while it is read.
            let connection = tokio::spawn(connection);
            let answer = answered.await;
            answer.map(|answer| (answer, connection))
        };
        tokio::pin!(error);
        let exchanged = tokio::select! {
            answer = exchange => answer,
            Some(text) = &mut error => return Err(ClusterError::Agent(text)),
        };
        let (answer, _connection) = match exchanged {
            Ok(answer) => answer,
            // The kubelet says why the connection was closed, if it was the kubelet.
            Err(closed) => match timeout(REASON, error).await {
                Ok(Some(text)) => return Err(ClusterError::Agent(text)),
                Ok(None) | Err(_) => return Err(unreadable(&closed)),
            },
        };
        let answer = answer.ok_or_else(|| ClusterError::Agent("the path is none".to_owned()))?;
        let status = answer.status().as_u16();
        let fields = answer.headers().iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        let fields = fields.collect();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| ClusterError::Agent(error.to_string()))?.to_bytes();
        Ok(AgentAnswer { status, fields, body: String::from_utf8_lossy(&body).into_owned() })
    }

    fn not_forwarded(&self, AgentPod { namespace, name, .. }: &AgentPod, error: kube::Error) -> ClusterError {
        match ClusterError::of(&self.server, error) {
            ClusterError::Refused { message, .. } => {
                ClusterError::NotForwarded { pod: format!("{namespace}/{name}"), reason: message }
            }
            error => error,
        }
    }
}
