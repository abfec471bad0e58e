//! The plugins that are connected: how one comes, what it lists, what it is asked, and how it goes.

mod open;
mod names;
mod standing;
#[cfg(test)]
mod models;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use device_manager::{
    Budget, Connected, ConnectionId, Device, Gone, OverBudget, PluginOptions, Question, RegisterError,
    ReplacedPlugins, Reply, size_of_list,
};
use kubelet_release::PluginsPerResource;
use pod_spec::ResourceName;
use tokio::sync::Semaphore;

use crate::errors;
use crate::event::{DisconnectReason, Receipt, ServerEvent};
use crate::metrics::{MAX_NAME, Metrics};
use crate::setup::{Setup, Times};
use crate::threads::{Mutex, MutexGuard, spawn};
use crate::wire::{ConnectError, Grpc, Wire};
use names::Names;
use open::{CloseSignal, OpenConnections};
use standing::Standing;

/// Maximum length, in characters, of the reported reason why a plugin failed to register.
const MAX_REASON: usize = 1024;
/// How many registrations are worked on at once; the next ones wait.
const REGISTRATIONS: usize = 64;

/// All plugins of a node.
pub(crate) struct Plugins<W: Wire = Grpc> {
    wire: W,
    times: Times,
    pub(crate) metrics: Metrics,
    tell: Box<dyn Fn(ServerEvent) + Send + Sync>,
    /// The resources of which pods hold devices.
    held: Box<dyn Fn() -> BTreeSet<ResourceName> + Send + Sync>,
    table: Mutex<Table<W::Client>>,
    registrations: Semaphore,
}

/// The connected plugins. Events and answers are sent under its lock, so that they arrive in order.
struct Table<C> {
    standing: Standing,
    open: OpenConnections,
    /// Every plugin that has registered and is connected.
    clients: BTreeMap<ConnectionId, CurrentClient<C>>,
    /// Who is asked: not always who stands for the resource, since a plugin that failed to register again is still
    /// there.
    asked: BTreeMap<ResourceName, CurrentClient<C>>,
    /// What the lists take.
    lists: Budget,
    /// The resources whose own parts of the budget are reserved.
    names: Names,
    last: u64,
}

/// A plugin that is asked.
#[derive(Clone)]
struct CurrentClient<C> {
    connection: ConnectionId,
    client: C,
    closed: CloseSignal,
}

/// Whether a plugin was connected for a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResourcePlugin {
    Connected,
    None,
}

impl<W: Wire> Plugins<W> {
    pub(crate) fn new(
        wire: W,
        setup: &Setup,
        metrics: Metrics,
        tell: impl Fn(ServerEvent) + Send + Sync + 'static,
        held: impl Fn() -> BTreeSet<ResourceName> + Send + Sync + 'static,
    ) -> Self {
        let replaced = match setup.per_resource {
            PluginsPerResource::One => setup.replaced,
            // Only a plugin on the same socket comes in the place of another.
            PluginsPerResource::Several => ReplacedPlugins::KeepOpen,
        };
        let table = Table {
            standing: Standing::new(setup.per_resource, setup.replaced),
            open: OpenConnections::new(replaced, setup.limits.plugins),
            clients: BTreeMap::new(),
            asked: BTreeMap::new(),
            lists: Budget::default(),
            names: Names::default(),
            last: 0,
        };
        Self {
            wire,
            times: setup.times,
            metrics,
            tell: Box::new(tell),
            held: Box::new(held),
            table: Mutex::new(table),
            registrations: Semaphore::new(REGISTRATIONS),
        }
    }

    pub(crate) fn tell(&self, event: ServerEvent) {
        let _told_in_order = self.table();
        (self.tell)(event);
    }

    pub(crate) const fn times(&self) -> &Times {
        &self.times
    }

    fn table(&self) -> MutexGuard<'_, Table<W::Client>> {
        // Every change of it is complete before anything that could panic.
        self.table.lock()
    }

    /// Tells that a plugin failed to register.
    pub(crate) fn not_registered(&self, resource: &str, socket: &Path, why: &str) {
        let cut = |text: &str, length| text.chars().take(length).collect::<String>();
        self.tell(ServerEvent::NotRegistered {
            resource: cut(resource, MAX_NAME),
            socket: socket.to_path_buf(),
            why: cut(why, MAX_REASON),
        });
    }

    /// Connects to the plugin that serves `resource` at `socket`, and listens to its lists from then on. Returns
    /// when that it has registered has been recorded.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        resource: ResourceName,
        socket: PathBuf,
    ) -> Result<(), ConnectError> {
        let _one_of_them = self.registrations.acquire().await;
        let (id, mut closed) = self.connecting(&resource, &socket)?;
        let still_open = closed.clone();
        let introduced = tokio::select! {
            biased;
            () = closed.wait() => return Err(ConnectError::Options(RegisterError::Options(errors::closing()))),
            introduced = self.wire.introduced(&socket) => introduced,
        };
        let closed = still_open;
        let (client, options) = match introduced {
            Ok(introduced) => introduced,
            Err(error) => {
                self.table().failed(&resource, &socket, id);
                return Err(error);
            }
        };
        let (receipt, recorded) = Receipt::new();
        {
            let mut table = self.table();
            if !closed.is_open() {
                // The one before it has gone meanwhile, which closes this one; or too many came after it.
                return Err(ConnectError::Options(RegisterError::Options(errors::closing())));
            }
            let asked = CurrentClient { connection: id, client: client.clone(), closed: closed.clone() };
            if let Err(error) = table.registered((&resource, &socket), asked, options) {
                table.failed(&resource, &socket, id);
                return Err(ConnectError::Options(error));
            }
            (self.tell)(ServerEvent::Registered { resource: resource.clone(), options, receipt });
        }
        // The owner of the inventory may be gone; then nothing matters.
        let _ = recorded.await;
        spawn(Arc::clone(self).listen((resource, socket), client, (id, closed)));
        Ok(())
    }

    /// One more connection, which stands for the resource from now on.
    fn connecting(
        &self,
        resource: &ResourceName,
        socket: &Path,
    ) -> Result<(ConnectionId, CloseSignal), ConnectError> {
        if !self.table().names.has_room(resource) {
            let held = (self.held)();
            let mut table = self.table();
            let Table { names, open, .. } = &mut *table;
            names.prune(&held, |resource| open.is_connected(resource), Instant::now());
        }
        self.table().connecting(resource, socket)
    }

    /// Tells every list of a plugin, until its stream ends. It is never connected again.
    async fn listen(
        self: Arc<Self>,
        (resource, socket): (ResourceName, PathBuf),
        mut client: W::Client,
        (id, mut closed): (ConnectionId, CloseSignal),
    ) {
        let still_open = closed.clone();
        let why = tokio::select! {
            biased;
            () = closed.wait() => {
                let mut table = self.table();
                table.clients.remove(&id);
                if table.standing.is_expected(&resource, &socket, id) {
                    self.gone_from(&mut table, (&resource, &socket), DisconnectReason::MadeRoom);
                }
                return;
            }
            why = self.lists((&resource, id), &mut client, &still_open) => why,
        };
        let mut table = self.table();
        // A plugin that has been replaced meanwhile ends without a word.
        if !still_open.is_open() {
            return;
        }
        let plugin = self.gone_from(&mut table, (&resource, &socket), why);
        // A plugin whose end goes unnoticed is still asked, and fails to answer.
        if table.asked.get(&resource).is_none_or(|asked| asked.connection != id) {
            table.close(&resource, id);
        }
        if plugin == ResourcePlugin::None {
            (self.tell)(ServerEvent::EndedUnnoticed { resource });
        }
    }

    async fn lists(
        &self,
        (resource, id): (&ResourceName, ConnectionId),
        client: &mut W::Client,
        closed: &CloseSignal,
    ) -> DisconnectReason {
        let mut lists = match self.wire.lists(client).await {
            Ok(lists) => lists,
            Err(error) => return DisconnectReason::StreamFailed(error),
        };
        loop {
            let devices = match self.wire.next(&mut lists).await {
                Ok(Some(devices)) => devices,
                Ok(None) => return DisconnectReason::StreamEnded,
                Err(error) => return DisconnectReason::StreamFailed(error),
            };
            let (receipt, recorded) = Receipt::new();
            {
                let mut table = self.table();
                // A plugin reported as gone lists nothing any more; `listen` waits for the close signal and
                // ends this task.
                if closed.is_open() {
                    table.listed(resource, id);
                    let resource = resource.clone();
                    (self.tell)(match table.take_in(&resource, &devices) {
                        Ok(()) => ServerEvent::Listed { resource, devices, receipt },
                        Err(why) => ServerEvent::ListRefused { resource, why, receipt },
                    });
                }
            }
            let _ = recorded.await;
        }
    }

    /// The stream of the plugin at `socket` has ended, or the socket by which it was found has vanished. Where
    /// a resource has one plugin, the connection that stands for it now is closed, as in the kubelet.
    pub(crate) fn gone(
        &self,
        resource: &ResourceName,
        socket: &Path,
        why: DisconnectReason,
    ) -> ResourcePlugin {
        self.gone_from(&mut self.table(), (resource, socket), why)
    }

    fn gone_from(
        &self,
        table: &mut Table<W::Client>,
        (resource, socket): (&ResourceName, &Path),
        why: DisconnectReason,
    ) -> ResourcePlugin {
        match table.standing.gone(resource, socket) {
            Gone::Unnoticed => return ResourcePlugin::None,
            Gone::Closed(connection) => table.close(resource, connection),
            Gone::Replaced { closed, by } => {
                table.close(resource, closed);
                if let Some(next) = table.clients.get(&by.connection) {
                    table.asked.insert(resource.clone(), next.clone());
                }
                let (resource, options) = (resource.clone(), by.options);
                (self.tell)(ServerEvent::OneGone { resource, socket: socket.to_path_buf(), why, options });
            }
            Gone::Last(connection) => {
                table.close(resource, connection);
                // Even if an older one still works: after this event the owner expects no answers.
                table.asked.remove(resource);
                table.lists.free(resource);
                table.names.gone(resource, Instant::now());
                (self.tell)(ServerEvent::Gone { resource: resource.clone(), why });
            }
        }
        ResourcePlugin::Connected
    }

    /// Closes all connections.
    pub(crate) fn close_all(&self) {
        let standing = self.table().standing.all();
        for (resource, socket) in standing {
            self.gone(&resource, &socket, DisconnectReason::Stopping);
        }
        let mut table = self.table();
        table.open.close_all();
        table.asked.clear();
        table.clients.clear();
    }

    /// Asks the plugin, and hands its answer on under the lock of the table: so no answer of a plugin arrives
    /// after the event that this plugin has gone or that another has come. If another has come meanwhile, that
    /// one is asked.
    pub(crate) async fn ask<T>(&self, question: Question, answered: impl FnOnce(Question, Reply) -> T) -> T {
        loop {
            let asked = {
                let table = self.table();
                match table.asked.get(question.resource()) {
                    Some(asked) => asked.clone(),
                    None => return answered(question, Reply::Failed(errors::closing())),
                }
            };
            let CurrentClient { connection, mut client, mut closed } = asked;
            let began = Instant::now();
            let reply = tokio::select! {
                biased;
                () = closed.wait() => Err(errors::closing()),
                reply = self.wire.call(&mut client, &question) => reply,
            };
            if let Question::Allocate { resource, .. } = &question {
                self.metrics.observe_allocation(resource, began.elapsed());
            }
            let table = self.table();
            match table.asked.get(question.resource()) {
                Some(now) if now.connection != connection => {}
                Some(_) => return answered(question, reply.unwrap_or_else(Reply::Failed)),
                None => return answered(question, Reply::Failed(errors::closing())),
            }
        }
    }
}

impl<C: Clone> Table<C> {
    fn connecting(
        &mut self,
        resource: &ResourceName,
        socket: &Path,
    ) -> Result<(ConnectionId, CloseSignal), ConnectError> {
        if !self.names.has_room(resource) {
            return Err(ConnectError::Resources);
        }
        self.last += 1;
        let id = ConnectionId(self.last);
        let Some(closed) = self.open.dialled(resource, id) else {
            return Err(ConnectError::Connections(self.open.most()));
        };
        self.standing.connecting(resource, socket, id);
        Ok((id, closed))
    }

    /// The plugin of a connection is asked from now on.
    fn registered(
        &mut self,
        (resource, socket): (&ResourceName, &Path),
        client: CurrentClient<C>,
        options: PluginOptions,
    ) -> Result<(), RegisterError> {
        let id = client.connection;
        let before = self.standing.connected(resource, socket, Connected { connection: id, options })?;
        if let Some(before) = before {
            self.close(resource, before);
        }
        self.clients.insert(id, client.clone());
        self.asked.insert(resource.clone(), client);
        self.open.registered(resource, id);
        self.names.insert(resource);
        self.stand_in(resource, id);
        Ok(())
    }

    /// A connection has not become that of a plugin.
    fn failed(&mut self, resource: &ResourceName, socket: &Path, id: ConnectionId) {
        self.standing.failed(resource, socket, id);
        self.close(resource, id);
    }

    fn close(&mut self, resource: &ResourceName, id: ConnectionId) {
        self.open.close(resource, id);
        self.clients.remove(&id);
    }

    /// The plugin of a connection has listed its devices.
    fn listed(&mut self, resource: &ResourceName, id: ConnectionId) {
        self.open.listed(resource, id);
        self.stand_in(resource, id);
    }

    /// Makes room for a list in the place of the one before.
    fn take_in(&mut self, resource: &ResourceName, devices: &[Device]) -> Result<(), OverBudget> {
        let taken = size_of_list(devices).and_then(|size| self.lists.set(resource, size));
        if taken.is_err() {
            // A list that is refused counts as empty.
            self.lists.free(resource);
        }
        taken
    }

    fn stand_in(&mut self, resource: &ResourceName, id: ConnectionId) {
        let Self { standing, open, .. } = self;
        standing.stand_in(resource, id, |current| open.has(resource, current));
    }
}
