//! The page of a node without a daemon: the node as it was when this started, and what would become of pods
//! there.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Context as _;
use bounded_http::{LoopbackListener, Token, serve_on_loopback};
use node_agent::{Owner, Snapshot};
use node_http::{SimulationRuns, Simulator, runtime};
use node_input::{Known, LoadedMachine, LoadedNode, NodeSources, Residents};
use node_view::clock::SystemClock;
use node_view::{Mode, NodeConditions, NodeView, ServedNode};
use tokio::signal::unix::{SignalKind, signal};

use questions::NodeQuestions;

mod questions;

/// All connections of a server; those of TCP, which a browser has, are a part of them. A page has up to six, and one that was
/// left keeps some for a while.
const CONNECTIONS: usize = 448;
/// The most pods in one manifest.
const PODS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);
/// Bytes of a token.
const TOKEN: usize = 16;

/// What is shown.
pub struct Ui<'a> {
    /// Machine and rules.
    pub node: LoadedNode,
    /// The machine, for its picture and for questions about it.
    pub machine: &'a LoadedMachine,
    /// What names the node, for questions about it.
    pub sources: NodeSources,
    /// The arguments of a command line that name it.
    pub arguments: Vec<String>,
    /// What runs there.
    pub residents: Residents,
    /// A loopback address; with port 0 a free port.
    pub address: SocketAddr,
    /// Runs scenarios.
    pub simulator: Arc<dyn Simulator>,
}

/// Where the page is, with the token of this run in the fragment, which browsers do not send.
pub struct UiAddress {
    address: SocketAddr,
    token: String,
}

impl fmt::Display for UiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}/#token={}", self.address, self.token)
    }
}

/// Shows the page until SIGTERM or SIGINT. `opened` learns its address once it can be opened.
///
/// # Errors
/// The address is no loopback address or cannot be had.
pub fn ui(ui: Ui<'_>, opened: impl FnOnce(&UiAddress) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let Ui { node, machine, sources, arguments, residents, address, simulator } = ui;
    let questions = Arc::new(NodeQuestions { sources, machine: machine.clone(), arguments });
    let notes = node.first_notes().chain(residents.not_looked_at());
    let notes: Vec<String> = notes.chain(residents.line.clone()).collect();
    // The mode decides how the page describes requests of pods that run.
    let mode = if residents.known == Known::Holders { Mode::Observe } else { Mode::Serve };
    // Nothing of it is to be written, so nothing can be behind on disk.
    let owner = Owner::new(node.node.clone(), &residents.ledger.collect(), []);
    let snapshot = Snapshot { behind: None, ..owner.snapshot() };
    let (view, _) = NodeView::new(
        ServedNode::new(node, machine, mode, notes)?,
        snapshot,
        Arc::new(NodeConditions::new(Arc::new(SystemClock))),
    );
    let runtime = runtime()?;
    let token = random_token()?;
    runtime.block_on(async {
        let secret = Token::new(&token).context("failed to make a token")?;
        let listener = LoopbackListener::open(address, Some(secret))?;
        let address = listener.address().context("failed to ask which port was chosen")?;
        let heard = |kind| signal(kind).context("failed to wait for signals");
        let (mut terminate, mut interrupt) =
            (heard(SignalKind::terminate())?, heard(SignalKind::interrupt())?);
        opened(&UiAddress { address, token })?;
        let runs = SimulationRuns::new(simulator);
        let service = node_http::service(node_http::for_a_page(view, PODS, runs, questions));
        tokio::select! {
            () = serve_on_loopback(listener, service, CONNECTIONS) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}

/// A random token.
fn random_token() -> anyhow::Result<String> {
    let mut bytes = [0; TOKEN];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.context("failed to read /dev/urandom for a token")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::random_token;

    #[test]
    fn tokens_are_long_and_differ() -> anyhow::Result<()> {
        let (one, other) = (random_token()?, random_token()?);
        assert!(one.len() == 32 && one != other, "{one} {other}");
        Ok(())
    }
}
