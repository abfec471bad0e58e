//! Plugins whose sockets are found in a folder, rather than calling: what is done with each, and when.
//!
//! The folder is read again and again, at the pace at which the kubelet acts on what it has been notified of: a folder
//! of a few sockets is read faster than notifications of it can be lost.

mod conversation;
mod scan;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::event::DisconnectReason;
use crate::metrics::World;
use crate::plugins::Plugins;
use crate::setup::Times;
use conversation::{FoundPlugin, NotRegistered, registered};
use scan::{Identity, sockets};

/// How many plugins are talked to at once; the next ones wait.
const CONVERSATIONS: usize = 32;

/// The plugins of a folder.
pub(crate) struct Registry {
    folder: PathBuf,
    plugins: Arc<Plugins>,
    known: BTreeMap<PathBuf, KnownSocket>,
    /// Conversations that are going on.
    running: JoinSet<(PathBuf, Result<FoundPlugin, NotRegistered>)>,
}

/// A socket that has been seen.
struct KnownSocket {
    identity: Identity,
    state: State,
    /// How long is waited after the next failure.
    wait: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    /// To be registered, not before then.
    Waiting(Instant),
    /// Being registered: one conversation at a time for each socket.
    Talking,
    /// Its plugin is registered.
    Registered(FoundPlugin),
}

impl Registry {
    pub(crate) fn new(folder: PathBuf, plugins: Arc<Plugins>) -> Self {
        Self { folder, plugins, known: BTreeMap::new(), running: JoinSet::new() }
    }

    pub(crate) async fn run(mut self) {
        let mut look = interval(self.plugins.times().look);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = look.tick() => self.look(),
                Some(ended) = self.running.join_next() => {
                    if let Ok((socket, came)) = ended {
                        self.ended(&socket, came);
                    }
                }
            }
        }
    }

    /// Forgets what has gone, and talks to what is there and not registered.
    fn look(&mut self) {
        let there = sockets(&self.folder);
        let is_gone = |socket: &PathBuf, known: &KnownSocket| {
            known.state != State::Talking && there.get(socket) != Some(&known.identity)
        };
        for (socket, known) in self.known.extract_if(.., |socket, known| is_gone(socket, known)) {
            let metrics = &self.plugins.metrics;
            metrics.lost(&socket, World::Desired);
            if let State::Registered(FoundPlugin { resource, endpoint }) = known.state {
                metrics.lost(&socket, World::Actual);
                self.plugins.gone(&resource, &endpoint, DisconnectReason::SocketRemoved);
            }
        }
        let now = Instant::now();
        for (socket, identity) in there {
            let known = self.known.entry(socket.clone()).or_insert_with(|| {
                self.plugins.metrics.found(&socket, World::Desired);
                KnownSocket { identity, state: State::Waiting(now), wait: self.plugins.times().retry }
            });
            let has_place = self.running.len() < CONVERSATIONS;
            if has_place && matches!(known.state, State::Waiting(until) if until <= now) {
                known.state = State::Talking;
                let plugins = Arc::clone(&self.plugins);
                self.running.spawn(async move {
                    let came = registered(&plugins, &socket).await;
                    (socket, came)
                });
            }
        }
    }

    /// A conversation has ended.
    fn ended(&mut self, socket: &PathBuf, came: Result<FoundPlugin, NotRegistered>) {
        let Some(known) = self.known.get_mut(socket) else { return };
        known.state = if let Ok(found) = came {
            self.plugins.metrics.found(socket, World::Actual);
            known.wait = self.plugins.times().retry;
            State::Registered(found)
        } else {
            let until = Instant::now() + known.wait;
            known.wait = longer(known.wait, self.plugins.times());
            State::Waiting(until)
        };
    }
}

/// How long is waited after one more failure.
fn longer(wait: Duration, times: &Times) -> Duration {
    (2 * wait).min(times.retry.saturating_mul(Times::LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_kubelets_two_minutes() {
        let times = Times::default();
        let waits: Vec<Duration> =
            std::iter::successors(Some(times.retry), |wait| Some(longer(*wait, &times))).take(10).collect();
        let seconds: Vec<f64> = waits.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 122.0, 122.0]);
    }
}
