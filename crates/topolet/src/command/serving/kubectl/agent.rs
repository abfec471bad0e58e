//! The agent of a node: where it is, and what it answers.

use std::fmt;
use std::net::TcpStream;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context as _;
use http_exchange::Fields;
use node_daemon::cluster_node::{AgentPod, Cluster};
use node_output::Format;

use crate::answer::{shape, show};
use crate::arguments::OutputArguments;
use crate::client::{self, Reply, Sent};
use crate::outcome::Outcome;
use crate::screen::Screen;

/// Where an agent listens, as a command line says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AgentPlace {
    /// A socket.
    Socket(PathBuf),
    /// `HOST:PORT`, over TCP.
    Tcp(String),
}

impl FromStr for AgentPlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once("://") {
            Some(("http", address)) => Ok(Self::Tcp(address.trim_end_matches('/').to_owned())),
            None if text.contains('/') => Ok(Self::Socket(PathBuf::from(text))),
            _ => Err("expected a socket's path, with a / in it, or http://HOST:PORT"),
        }
    }
}

/// An agent that can be asked.
pub(super) enum Agent<'a> {
    /// The command line names it.
    At(&'a AgentPlace),
    /// It runs in a pod.
    In(&'a Cluster, AgentPod),
}

/// Why no agent has answered. The answer then compares published amounts only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NoAnswer(pub(super) String);

impl fmt::Display for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(AgentPlace::Socket(path)) => write!(f, "the agent at {}", path.display()),
            Self::At(AgentPlace::Tcp(address)) => write!(f, "the agent at http://{address}"),
            Self::In(_, AgentPod { namespace, name, .. }) => write!(f, "the agent in pod {namespace}/{name}"),
        }
    }
}

impl<'a> Agent<'a> {
    /// The agent of the node: the one that is named, else the one in a pod there.
    pub(super) fn of(
        node: &str,
        cluster: &'a Cluster,
        named: Option<&'a AgentPlace>,
    ) -> Result<Self, NoAnswer> {
        if let Some(place) = named {
            return Ok(Self::At(place));
        }
        let found = cluster
            .agents_on(node)
            .map_err(|error| NoAnswer(format!("which pods have an agent is not known: {error}")))?;
        let pod = found.into_iter().next().ok_or_else(|| {
            NoAnswer(format!(
                "no pod with label app.kubernetes.io/name=topolet and a port named topolet runs on {node}"
            ))
        })?;
        Ok(Self::In(cluster, pod))
    }

    /// Sends it a request; `body`: `POST` with that instead of `GET`.
    fn send(&self, path: &str, body: Option<String>) -> anyhow::Result<Reply> {
        let method = if body.is_some() { "POST" } else { "GET" };
        let sent = Sent { name: None, bytes: body.as_deref().unwrap_or_default().as_bytes() };
        match self {
            Self::At(AgentPlace::Socket(socket)) => client::send(socket, method, path, sent),
            Self::At(AgentPlace::Tcp(address)) => {
                let failed = || format!("failed to reach topolet at http://{address}");
                let stream = TcpStream::connect(address).with_context(failed)?;
                client::exchanged(stream, method, path, sent).with_context(failed)
            }
            Self::In(cluster, pod) => {
                let answer = cluster.ask_agent(pod, path, body)?;
                Ok(Reply { status: answer.status, fields: Fields(answer.fields), body: answer.body })
            }
        }
    }

    /// What it answers; `None`: it knows of no such thing.
    ///
    /// # Errors
    /// It does not answer, or says what is wrong.
    pub(super) fn ask(&self, path: &str, body: Option<String>) -> anyhow::Result<Option<Reply>> {
        let reply = self.send(path, body)?;
        if reply.status == 404 {
            return Ok(None);
        }
        reply.good().map(Some).with_context(|| self.to_string())
    }

    /// The same, printed; `query` goes before how it is to be written.
    pub(super) fn show(
        &self,
        path: &str,
        query: &str,
        body: Option<String>,
        output: &OutputArguments,
        screen: Screen,
    ) -> anyhow::Result<Option<Outcome>> {
        let path = format!("{path}?{query}{}", shape(output, screen));
        let Some(reply) = self.ask(&path, body)? else { return Ok(None) };
        if output.output == Format::Table {
            screen.show(&screen.page.wrapped(&format!("as {self} says"), 2))?;
        }
        show(&reply, output.output, screen).map(Some)
    }

    /// What is done when it does not answer: an agent that was named has to, another need not.
    pub(super) fn no_answer(&self, error: anyhow::Error) -> anyhow::Result<NoAnswer> {
        match self {
            Self::At(_) => Err(error),
            Self::In(..) => Ok(NoAnswer(format!("{self} does not answer: {error:#}"))),
        }
    }
}
