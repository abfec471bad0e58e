//! Which pods are bound to the node: all of them after each break, and then each change.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cluster_node::{Backoff, BoundPodEvent, ClusterError, Connector};
use crossbeam::channel::Sender;
use node_view::{NodeCondition, NodeConditions};

/// How long nothing may happen until the connection is looked at.
const SILENCE: Duration = Duration::from_mins(1);
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_secs(10);

/// What the thread hears.
pub(super) enum Heard {
    /// A list of all pods begins.
    Listing,
    /// One of them, its end, or a change after it.
    Event(BoundPodEvent),
}

/// Starts the thread, for the rest of the program.
pub(super) fn start(
    connector: Connector,
    node: String,
    conditions: Arc<NodeConditions>,
    to: Sender<Heard>,
) -> anyhow::Result<()> {
    thread::Builder::new().name("bound".to_owned()).spawn(move || {
        let mut backoff = Backoff::up_to(PAUSE);
        loop {
            let mut has_listed = false;
            match listen(&connector, &node, &to, || {
                has_listed = true;
                conditions.member_works(NodeCondition::PodsWatched);
            }) {
                Ok(()) => return,
                // An API server that stops or forgets is no fault.
                Err(ClusterError::Ended(_) | ClusterError::Expired(_)) => {}
                Err(error) => conditions.member_fails(NodeCondition::PodsWatched, &error.to_string()),
            }
            if has_listed {
                backoff.reset();
            }
            let clock = connector.clock();
            clock.sleep(backoff.pause(clock.random()));
        }
    })?;
    Ok(())
}

/// Hands on what is heard until the watch is over; `Ok`: nobody listens any more.
fn listen(
    connector: &Connector,
    node: &str,
    to: &Sender<Heard>,
    mut is_listed: impl FnMut(),
) -> Result<(), ClusterError> {
    let mut pods = connector.connect()?.pods_bound_to(node)?;
    if to.send(Heard::Listing).is_err() {
        return Ok(());
    }
    loop {
        let Some(event) = pods.next(SILENCE)? else { continue };
        if event == BoundPodEvent::Complete {
            is_listed();
        }
        if to.send(Heard::Event(event)).is_err() {
            return Ok(());
        }
    }
}
