//! The service as a whole.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use bounded_http::{OpenListener, Service, serve_openly};
use cluster_node::{Access, Cluster};
use tokio::signal::unix::{SignalKind, signal};

use crate::amounts::Amounts;
use crate::answers::Answers;
use crate::bound::{Bound, listen_to_ends};
use crate::http::{self, Routes};
use crate::known::Known;
use crate::listening::Troubles;
use crate::metrics::Metrics;
use crate::outlook::Outlook;
use crate::refusals;
use crate::states::{Deciders, ExactNodes, Reading, States};

/// Connections of kube-scheduler, and of those that read metrics.
const CONNECTIONS: usize = 64;
/// How often what came to nothing is forgotten.
const TIDY: Duration = Duration::from_millis(500);

/// What the service is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How the API server is reached.
    pub access: Access,
    /// Where kube-scheduler asks: a loopback address.
    pub address: SocketAddr,
    /// How many threads decide on nodes.
    pub threads: NonZeroUsize,
    /// How long an answer may take: less than kube-scheduler waits (`httpTimeout`).
    pub within: Duration,
}

/// Serves until the process is told to end (SIGTERM, SIGINT).
///
/// # Errors
/// The address is no loopback address or cannot be had, or the API server's address or credentials cannot be read.
/// Whatever fails later is in the log and in `/readyz`, and tried again.
pub fn run(setup: &Setup) -> anyhow::Result<()> {
    ensure!(
        setup.address.ip().is_loopback(),
        "{} can be reached from elsewhere: only loopback addresses are listened at, since kube-scheduler runs beside this",
        setup.address
    );
    // Faults of the way to it are said at once.
    Cluster::new(&setup.access)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(serve(setup))
}

async fn serve(setup: &Setup) -> anyhow::Result<()> {
    let listener = OpenListener::open(setup.address)?;
    let outlook = Arc::new(Outlook::new());
    let (troubles, metrics) = (Arc::new(Troubles::default()), Arc::new(Metrics::new()));
    let exact = ExactNodes::default();
    States {
        access: setup.access.clone(),
        outlook: outlook.clone(),
        exact: exact.clone(),
        troubles: troubles.clone(),
        known: Known::default(),
        reading: Reading::default(),
        deciders: Deciders::new(metrics.clone()),
    }
    .start()?;
    Amounts {
        access: setup.access.clone(),
        outlook: outlook.clone(),
        exact,
        troubles: troubles.clone(),
        known: Known::default(),
    }
    .start()?;
    Bound {
        access: setup.access.clone(),
        outlook: outlook.clone(),
        troubles: troubles.clone(),
        waiting: Known::default(),
    }
    .start()?;
    listen_to_ends(setup.access.clone(), outlook.clone(), troubles.clone())?;
    refusals::listen(setup.access.clone(), outlook.clone(), metrics.clone(), troubles.clone())?;
    let answers = Answers { outlook: outlook.clone(), metrics, threads: setup.threads, within: setup.within };
    let router = Routes { answers, troubles }.router();
    let service =
        Service { router, always: http::ALWAYS, largest: |_| http::LARGEST, refused: http::not_taken };
    tracing::info!(address = %setup.address, "kube-scheduler is answered");
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let tidying = async {
        loop {
            tokio::time::sleep(TIDY).await;
            outlook.tidy(Instant::now());
        }
    };
    tokio::select! {
        () = serve_openly(listener, service, CONNECTIONS) => {}
        () = tidying => {}
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    Ok(())
}
