//! The service as a whole.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bounded_http::{Pace, Workshop};
use cluster_node::{Access, Cluster, Connector};
use conditions::Change;
use node_config::MixUnit;
use scheduler_extender::ClaimRule;
use tokio::signal::unix::{SignalKind, signal};

use crate::amounts::Amounts;
use crate::answers::Answers;
use crate::asking::{self, Asking};
use crate::claim_objects;
use crate::conditions::ServiceCondition::Asked;
use crate::conditions::ServiceConditions;
use crate::http::Routes;
use crate::metrics::Metrics;
use crate::outlook::{Outlook, Patience};
use crate::overview::Overviews;
use crate::pending::{Pending, listen_to_ends};
use crate::refusals;
use crate::room::{self, FirstPods};
use crate::states::{Deciders, ExactNodes, Reading, States};
use crate::timeouts::Timeouts;

/// How often what came to nothing is forgotten.
const TIDY: Duration = Duration::from_millis(500);

/// What the service is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How the API server is reached.
    pub access: Access,
    /// Where kube-scheduler asks: a loopback address unless it shows a certificate.
    pub address: SocketAddr,
    /// How it asks.
    pub asking: Asking,
    /// How many threads decide on nodes.
    pub threads: NonZeroUsize,
    /// How long an answer may take: less than kube-scheduler waits (`httpTimeout`).
    pub within: Duration,
    /// What becomes of nodes where devices of a pod's claims will be elsewhere than its CPUs and memory.
    pub claims: ClaimRule,
    /// The score of the best node. kube-scheduler adds score × `weight` × 10 to what its plugins give, 0 to 100 each; 10 with a
    /// `weight` of 10 reaches as far as 100 with a `weight` of 1, and the latter has ten times as many steps.
    pub best_score: u16,
    /// For which units nodes keep room, each as often as it says; empty: the kinds of pods that come.
    pub mix: Vec<MixUnit>,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// The address cannot be had, or is no loopback address with plain HTTP; a file of TLS cannot be used; or the API server's
/// address or credentials cannot be read.
/// Whatever fails later is in the log and in `/readyz`, and tried again.
pub fn run(setup: &Setup) -> anyhow::Result<()> {
    // A wrong address or unreadable credentials of the API server fail at once.
    Cluster::new(&setup.access)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(serve(setup))
}

async fn serve(setup: &Setup) -> anyhow::Result<()> {
    let listener = setup.asking.listen(setup.address)?;
    let connector = Connector::from(setup.access.clone());
    let clock = connector.clock();
    let outlook = Arc::new(Outlook::new(clock.clone(), Patience::USUAL));
    if !setup.mix.is_empty() {
        outlook.lock().view.pin_mix(room::pods(&setup.mix));
    }
    let conditions = Arc::new(ServiceConditions::new(clock.clone()));
    let (metrics, exact) = (Arc::new(Metrics::new()), ExactNodes::default());
    States {
        outlook: outlook.clone(),
        exact: exact.clone(),
        reading: Reading::default(),
        first: FirstPods::default(),
        deciders: Deciders::new(metrics.clone()),
        conditions: conditions.clone(),
    }
    .start(&connector)?;
    Amounts { outlook: outlook.clone(), exact, conditions: conditions.clone() }.start(&connector)?;
    let claims = Arc::default();
    let timeouts = Timeouts::start(&connector, &claims, &conditions)?;
    Pending { outlook: outlook.clone(), timeouts, bound: BTreeSet::new() }.start(&connector, &conditions)?;
    listen_to_ends(&connector, outlook.clone(), &conditions)?;
    refusals::listen(&connector, outlook.clone(), metrics.clone(), &conditions)?;
    setup.asking.announce(setup.address, &conditions);
    claim_objects::listen(&connector, &claims, &conditions)?;
    let answers = Answers {
        outlook: outlook.clone(),
        claims,
        claim_rule: setup.claims,
        metrics: metrics.clone(),
        threads: setup.threads,
        within: setup.within,
        best_score: setup.best_score,
    };
    let (workshop, forbidden) = (Arc::<Workshop>::default(), Arc::<Pace>::default());
    let overviews = Arc::new(Overviews::new(connector.clone()));
    let service =
        Routes { answers, conditions: conditions.clone(), workshop, overviews, forbidden }.service();
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let tidying = async {
        loop {
            clock.pause(TIDY).await;
            // On another thread: this one accepts connections, and the outlook may be locked for a while.
            let outlook = outlook.clone();
            let looked = tokio::task::spawn_blocking(move || {
                outlook.tidy();
                outlook.lock().why_unasked(outlook.clock.now())
            });
            let Ok(unasked) = looked.await else { continue };
            // The minutes in its message grow.
            match &unasked {
                Some(why) if conditions.fails(Asked, "", why) == Change::Status => tracing::warn!("{why}"),
                None if conditions.works(Asked, "") == Change::Status => {
                    tracing::info!("kube-scheduler asks again");
                }
                _ => {}
            }
        }
    };
    tokio::select! {
        () = asking::serve(listener, service, conditions.clone(), metrics, clock.clone()) => {}
        () = tidying => {}
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    Ok(())
}
