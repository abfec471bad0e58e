//! Open connections to plugins, by resource: which of them a newer one replaces, and so how many there can be.
//!
//! A connection is dialled, then registered, then it lists. A resource keeps at most one connection that has listed,
//! one that has registered and not listed yet, and [`DIALLED`] that are being dialled. The newest of each kind stays.
//!
//! At the limit on all connections, a resource that has fewer than another one takes a place from it: the
//! resource with the most connections loses the one that has come least far, and of those the oldest. So a
//! plugin that registers again and again displaces only its own connections.

use std::collections::BTreeMap;

use device_manager::{ConnectionId, ReplacedPlugins};
use pod_spec::ResourceName;
use tokio::sync::watch;

/// How many connections are dialled at once for a resource; one more ends the oldest attempt.
pub(super) const DIALLED: usize = 4;

/// Ends when a connection is closed from this side.
#[derive(Clone)]
pub(super) struct CloseSignal(watch::Receiver<()>);

impl CloseSignal {
    pub(super) fn is_open(&self) -> bool {
        self.0.has_changed().is_ok()
    }

    pub(super) async fn wait(&mut self) {
        // Nothing is ever sent.
        let _ = self.0.changed().await;
    }
}

/// The connections that are open.
#[derive(Debug)]
pub(super) struct OpenConnections {
    replaced: ReplacedPlugins,
    /// The most that there are of all resources.
    most: usize,
    resources: BTreeMap<ResourceName, Vec<Connection>>,
}

#[derive(Debug)]
struct Connection {
    id: ConnectionId,
    stage: Stage,
    /// Closes the connection when it is dropped.
    _close: watch::Sender<()>,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Dialled,
    Registered,
    Listed,
}

impl OpenConnections {
    pub(super) const fn new(replaced: ReplacedPlugins, most: usize) -> Self {
        Self { replaced, most, resources: BTreeMap::new() }
    }

    /// A connection is being dialled; `None` if there are too many, and no other resource has more than this one would.
    pub(super) fn dialled(&mut self, resource: &ResourceName, id: ConnectionId) -> Option<CloseSignal> {
        if self.resources.values().map(Vec::len).sum::<usize>() >= self.most && !self.take_place(resource) {
            return None;
        }
        let (close, closed) = watch::channel(());
        let all = self.resources.entry(resource.clone()).or_default();
        all.push(Connection { id, stage: Stage::Dialled, _close: close });
        let is_dialled = |connection: &Connection| connection.stage == Stage::Dialled;
        if self.replaced == ReplacedPlugins::Close
            && all.iter().filter(|connection| is_dialled(connection)).count() > DIALLED
            && let Some(oldest) = all.iter().position(is_dialled)
        {
            all.remove(oldest);
        }
        Some(CloseSignal(closed))
    }

    /// Closes a connection of the resource that has most, if that leaves it no fewer than `resource` then has. The last
    /// connection of a resource is never closed for another.
    fn take_place(&mut self, resource: &ResourceName) -> bool {
        let own = self.resources.get(resource).map_or(0, Vec::len);
        let others = self.resources.iter_mut().filter(|(name, all)| *name != resource && all.len() > own + 1);
        let Some((_, most)) = others.max_by_key(|(_, all)| all.len()) else { return false };
        let least = most.iter().enumerate().min_by_key(|(at, connection)| (connection.stage, *at));
        let Some((at, _)) = least else { return false };
        most.remove(at);
        true
    }

    /// Whether a resource has a connection of any stage.
    pub(super) fn is_connected(&self, resource: &ResourceName) -> bool {
        self.resources.get(resource).is_some_and(|all| !all.is_empty())
    }

    /// The plugin of a connection has registered: others that have registered and not listed are closed.
    pub(super) fn registered(&mut self, resource: &ResourceName, id: ConnectionId) {
        self.advance(resource, id, Stage::Registered);
    }

    /// The plugin of a connection has listed its devices: those that it replaces are closed.
    pub(super) fn listed(&mut self, resource: &ResourceName, id: ConnectionId) {
        self.advance(resource, id, Stage::Listed);
    }

    /// A connection that reaches a stage replaces the ones before it at that stage. Connections are in the
    /// order in which they reached their stages, and only those before this one are replaced.
    fn advance(&mut self, resource: &ResourceName, id: ConnectionId, stage: Stage) {
        let Some(all) = self.resources.get_mut(resource) else { return };
        let Some(at) = all.iter().position(|connection| connection.id == id) else { return };
        if all.get(at).is_some_and(|connection| connection.stage == stage) {
            return;
        }
        let mut this = all.remove(at);
        this.stage = stage;
        match (stage, self.replaced) {
            (_, ReplacedPlugins::KeepOpen) | (Stage::Dialled, _) => all.push(this),
            (Stage::Registered, ReplacedPlugins::Close) => {
                all.retain(|connection| connection.stage != Stage::Registered);
                all.push(this);
            }
            (Stage::Listed, ReplacedPlugins::Close) => {
                let mut position = 0;
                all.retain(|connection| {
                    position += 1;
                    // One that has registered since is the successor of this one.
                    match connection.stage {
                        Stage::Dialled => true,
                        Stage::Registered => position > at,
                        Stage::Listed => false,
                    }
                });
                all.push(this);
            }
        }
    }

    /// Closes a connection.
    pub(super) fn close(&mut self, resource: &ResourceName, id: ConnectionId) {
        if let Some(all) = self.resources.get_mut(resource) {
            all.retain(|connection| connection.id != id);
            if all.is_empty() {
                self.resources.remove(resource);
            }
        }
    }

    /// Closes all.
    pub(super) fn close_all(&mut self) {
        self.resources.clear();
    }

    /// The most that there are of all resources.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Whether a connection is open.
    pub(super) fn has(&self, resource: &ResourceName, id: ConnectionId) -> bool {
        let all = self.resources.get(resource);
        all.is_some_and(|all| all.iter().any(|connection| connection.id == id))
    }

    /// How many connections a resource has.
    #[cfg(test)]
    pub(super) fn count(&self, resource: &ResourceName) -> usize {
        self.resources.get(resource).map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: &str = "vendor.example/gpu";

    /// What is done to a connection.
    enum Step {
        Dial(u64),
        Register(u64),
        List(u64),
    }
    use Step::{Dial, List, Register};

    fn left(replaced: ReplacedPlugins, steps: &[Step]) -> Vec<u64> {
        let gpu: ResourceName = GPU.into();
        let mut open = OpenConnections::new(replaced, 100);
        let mut closed = BTreeMap::new();
        for step in steps {
            match step {
                Dial(id) => {
                    closed.extend(open.dialled(&gpu, ConnectionId(*id)).map(|closed| (*id, closed)));
                }
                Register(id) => open.registered(&gpu, ConnectionId(*id)),
                List(id) => open.listed(&gpu, ConnectionId(*id)),
            }
        }
        closed.iter().filter(|(_, closed)| closed.is_open()).map(|(id, _)| *id).collect()
    }

    #[test]
    fn a_newer_connection_closes_those_that_it_replaces() {
        let rows: [(&[Step], &[u64]); 9] = [
            (&[Dial(1), Register(1), List(1)], &[1]),
            // One that is silent replaces none that lists.
            (&[Dial(1), Register(1), List(1), Dial(2), Register(2)], &[1, 2]),
            (&[Dial(1), Register(1), List(1), Dial(2), Register(2), List(1)], &[1, 2]),
            (&[Dial(1), Register(1), List(1), Dial(2), Register(2), List(2)], &[2]),
            // Of those that are silent the newest stays.
            (&[Dial(1), Register(1), List(1), Dial(2), Register(2), Dial(3), Register(3)], &[1, 3]),
            // Newer is who has registered later, not who was dialled later.
            (&[Dial(1), Dial(2), Register(2), Register(1)], &[1]),
            (&[Dial(1), Dial(2), Register(2), List(2), Register(1), List(2)], &[1, 2]),
            (&[Dial(1), Register(1), Dial(2), List(1), Register(2), List(2)], &[2]),
            (&[Dial(1), Dial(2), Dial(3), Dial(4), Dial(5), Dial(6)], &[3, 4, 5, 6]),
        ];
        for (at, (steps, expected)) in rows.iter().enumerate() {
            assert_eq!(left(ReplacedPlugins::Close, steps), *expected, "row {at}");
        }
        let steps = [Dial(1), Register(1), List(1), Dial(2), Register(2), List(2)];
        assert_eq!(left(ReplacedPlugins::KeepOpen, &steps), [1, 2]);
    }

    #[test]
    fn a_resource_that_has_many_connections_gives_one_up_for_a_resource_that_has_none() {
        let name = |name: &str| -> ResourceName { format!("vendor.example/{name}").as_str().into() };
        for replaced in [ReplacedPlugins::Close, ReplacedPlugins::KeepOpen] {
            let mut open = OpenConnections::new(replaced, 4);
            let (greedy, quiet) = (name("greedy"), name("quiet"));
            let first = open.dialled(&greedy, ConnectionId(1)).expect("there is room");
            open.registered(&greedy, ConnectionId(1));
            open.listed(&greedy, ConnectionId(1));
            let others: Vec<CloseSignal> =
                (2..5).filter_map(|id| open.dialled(&greedy, ConnectionId(id))).collect();
            assert_eq!(others.len(), 3);
            assert!(open.dialled(&greedy, ConnectionId(5)).is_none(), "its excess refuses only its own");
            let own = open.dialled(&quiet, ConnectionId(6)).expect("another one gives up a connection");
            assert!(own.is_open() && first.is_open(), "the one that lists stays");
            assert_eq!(others.iter().filter(|closed| closed.is_open()).count(), 2);
            assert_eq!((open.count(&greedy), open.count(&quiet)), (3, 1));
            // With two each, neither has more than the other.
            assert!(open.dialled(&quiet, ConnectionId(7)).is_some());
            assert!(open.dialled(&quiet, ConnectionId(8)).is_none());
            assert!(open.dialled(&name("third"), ConnectionId(9)).is_some());
            assert!(open.dialled(&name("fourth"), ConnectionId(10)).is_some());
            // One connection each: no resource loses its last one.
            assert!(open.dialled(&name("fifth"), ConnectionId(11)).is_none());
            assert!(first.is_open(), "the one that lists stays");
        }
    }
}
