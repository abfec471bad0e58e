//! A fleet that runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster_node::Connector;
use crossbeam::channel;

use crate::churn::Pace;
use crate::fleet::Fleet;
use crate::job::{Job, Jobs};
use crate::kind::Counters;
use crate::pods;
use crate::sender::Sender;
use crate::state::Shared;

/// So many calls to the API server are under way at once.
const SENDERS: usize = 8;
/// How often it is looked at what is due.
const LOOK: Duration = Duration::from_millis(20);
/// How often the log says what has been done.
const TOLD: Duration = Duration::from_secs(10);

/// Runs the fleet until the program ends.
///
/// # Errors
/// The API server's address or credentials cannot be read, or a thread cannot be started. Whatever fails later is in the
/// log, and tried again.
pub fn run(fleet: &Fleet) -> anyhow::Result<()> {
    let (to, due) = channel::unbounded();
    let names = (1..=fleet.count).map(|number| format!("{}-{number}", fleet.name));
    let connector = Connector::from(fleet.access.clone());
    let shared =
        Arc::new(Shared::new(connector.clone(), fleet.node.clone(), fleet.published, names, Jobs::new(to)));
    for number in 1..=SENDERS {
        let cluster = connector.connect()?;
        Sender { shared: shared.clone(), cluster, due: due.clone() }.start(number)?;
    }
    for at in 0..fleet.count {
        shared.jobs.add(Job::Register(at));
    }
    pods::start(shared.clone())?;
    let churns = fleet.churn.a_second > 0.0 && !fleet.churn.kinds.is_empty();
    let mut pace = churns.then(|| Pace::new(fleet.churn.a_second, Instant::now()));
    let mut told = Instant::now();
    loop {
        let now = Instant::now();
        if let Some(pace) = &mut pace {
            churn(&shared, fleet, pace.due(now));
        }
        shared.jobs.hand_out(Instant::now());
        if told.elapsed() >= TOLD {
            told = Instant::now();
            tell(&shared.kind.counters);
            shared.conditions.tidy(told);
        }
        let rest = pace.as_ref().map_or(LOOK, |pace| pace.next().min(LOOK));
        thread::sleep(rest.saturating_sub(now.elapsed()));
    }
}

/// So many pods come to each node.
fn churn(shared: &Shared, fleet: &Fleet, due: u64) {
    if due == 0 {
        return;
    }
    for (at, node) in shared.nodes.iter().enumerate() {
        let mut node = node.lock();
        for _ in 0..due {
            node.churn(&fleet.churn.kinds, &shared.kind);
        }
        shared.changed(at, &mut node);
        drop(node);
        shared.jobs.hand_out(Instant::now());
    }
}

/// What has been done since the start, as a line of the log.
fn tell(counters: &Counters) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let publications = count(&counters.publications);
    tracing::info!(
        admitted = count(&counters.admitted),
        refused = count(&counters.refused),
        publications,
        mean_delay_milliseconds = count(&counters.delay) / publications.max(1) / 1000,
        pods = count(&counters.pods),
        failures = count(&counters.failures),
        "so far"
    );
}
