//! Several plugins for one resource, distinguished by the paths of their sockets.
//!
//! The plugin that connected last is asked about devices. When a plugin goes, another one that is connected is
//! asked; only when the last one has gone, the resource is disconnected. Each list replaces the one before.
//!
//! In the kubelet ([`ReplacedPlugins::KeepOpen`]) a plugin that registers on a path that is still connected is
//! refused, and after that the end of the plugin there goes unnoticed: the path stays connected until the
//! kubelet restarts. With [`ReplacedPlugins::Close`] it takes the place of the one before.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::ResourceName;

use crate::calls::ReplacedPlugins;
use crate::inventory::PluginOptions;
use crate::registration::{ConnectionId, RegisterError};

/// The plugins of each resource, where a release accepts several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SocketConnections(BTreeMap<ResourceName, Plugins>);

/// The plugins of one resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Plugins {
    /// Whose end is noticed, in the order in which they came.
    clients: Vec<(Arc<str>, ConnectionId)>,
    /// Who can be asked.
    connected: BTreeMap<Arc<str>, Connected>,
}

/// A plugin that has answered with its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connected {
    /// The connection.
    pub connection: ConnectionId,
    /// What it wants to be asked.
    pub options: PluginOptions,
}

/// What is to be done when a plugin has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// Nothing: the path has no connection.
    Unnoticed,
    /// This connection is to be closed; nothing else has changed.
    Closed(ConnectionId),
    /// This connection is to be closed, and another plugin is asked from now on.
    Replaced {
        /// That of the plugin that has gone.
        closed: ConnectionId,
        /// The one that is asked. The kubelet takes any, here it is the newest.
        by: Connected,
    },
    /// It was the last one: this connection is to be closed, and the resource disconnected
    /// ([`Inventory::disconnect`](crate::Inventory::disconnect)).
    Last(ConnectionId),
}

impl SocketConnections {
    /// A plugin is being connected.
    pub fn connecting(&mut self, resource: &ResourceName, socket: &str, connection: ConnectionId) {
        self.0.entry(resource.clone()).or_default().clients.push((Arc::from(socket), connection));
    }

    /// It has answered with its options, and is asked from now on. Returns the connection by the same path that
    /// it replaces, which is to be closed: only if plugins are replaced ([`ReplacedPlugins::Close`]).
    ///
    /// # Errors
    /// [`RegisterError::AlreadyConnected`]: a plugin is connected by that path, and stays. [`failed`](Self::failed) is
    /// to be called then.
    pub fn connected(
        &mut self,
        resource: &ResourceName,
        socket: &str,
        plugin: Connected,
        replaced: ReplacedPlugins,
    ) -> Result<Option<ConnectionId>, RegisterError> {
        let Plugins { clients, connected } = self.0.entry(resource.clone()).or_default();
        let before = connected.get(socket).map(|before| before.connection);
        if before.is_some() && replaced == ReplacedPlugins::KeepOpen {
            return Err(RegisterError::AlreadyConnected(socket.into()));
        }
        if replaced == ReplacedPlugins::Close {
            clients.retain(|(path, _)| **path != *socket);
            clients.push((Arc::from(socket), plugin.connection));
        }
        connected.insert(Arc::from(socket), plugin);
        Ok(before)
    }

    /// It could not be connected. In the kubelet the end of a plugin that was connected by the same path is not noticed
    /// any more.
    pub fn failed(
        &mut self,
        resource: &ResourceName,
        socket: &str,
        connection: ConnectionId,
        replaced: ReplacedPlugins,
    ) {
        let Some(plugins) = self.0.get_mut(resource) else { return };
        plugins.clients.retain(|(path, id)| match replaced {
            ReplacedPlugins::KeepOpen => **path != *socket,
            ReplacedPlugins::Close => *id != connection,
        });
    }

    /// The stream of a plugin has ended, or the socket has vanished by which it was found.
    pub fn gone(&mut self, resource: &ResourceName, socket: &str) -> Gone {
        let Some(plugins) = self.0.get_mut(resource) else { return Gone::Unnoticed };
        let client = plugins.clients.iter().find(|(path, _)| **path == *socket);
        let Some(&(_, closed)) = client else { return Gone::Unnoticed };
        plugins.clients.retain(|(path, _)| **path != *socket);
        if plugins.connected.remove(socket).is_none() {
            return Gone::Closed(closed);
        }
        match plugins.connected.values().max_by_key(|plugin| plugin.connection) {
            Some(&by) => Gone::Replaced { closed, by },
            None => Gone::Last(closed),
        }
    }

    /// The resources and paths of all plugins whose end is noticed.
    pub fn clients(&self) -> impl Iterator<Item = (&ResourceName, &str)> {
        self.0.iter().flat_map(|(resource, plugins)| {
            plugins.clients.iter().map(move |(path, _)| (resource, path.as_ref()))
        })
    }

    /// The connection by a path whose end is noticed.
    #[must_use]
    pub fn client(&self, resource: &ResourceName, socket: &str) -> Option<ConnectionId> {
        let clients = &self.0.get(resource)?.clients;
        clients.iter().find(|(path, _)| **path == *socket).map(|(_, connection)| *connection)
    }

    /// The paths by which plugins of a resource are connected, in byte order.
    pub fn sockets(&self, resource: &ResourceName) -> impl Iterator<Item = &str> {
        self.0.get(resource).into_iter().flat_map(|plugins| plugins.connected.keys().map(AsRef::as_ref))
    }

    /// The plugins of a resource that can be asked, in byte order of their paths: the kubelet asks any of them when another
    /// one has gone.
    pub fn plugins(&self, resource: &ResourceName) -> impl Iterator<Item = Connected> {
        self.0.get(resource).into_iter().flat_map(|plugins| plugins.connected.values().copied())
    }

    /// The path of the oldest plugin of a resource whose end is noticed.
    #[must_use]
    pub fn first(&self, resource: &ResourceName) -> Option<&str> {
        self.0.get(resource)?.clients.first().map(|(path, _)| path.as_ref())
    }
}
