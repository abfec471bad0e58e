//! Several plugins for one resource, told apart by the paths of their sockets.
//!
//! The plugin that connected last is asked about devices. When a plugin goes, another one that is connected is asked;
//! only when the last one has gone, the resource is disconnected. Whoever lists devices replaces the whole list.
//!
//! As in the kubelet, a plugin that registers on a path that is still connected is refused, and after that nobody
//! notices the end of the plugin there: the path stays connected until the kubelet restarts.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::ResourceName;

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

/// A plugin that has told its options.
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
    /// Nothing: nobody knows it.
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

    /// It has told its options, and is asked from now on.
    ///
    /// # Errors
    /// [`RegisterError::AlreadyConnected`]: a plugin is connected by that path. [`failed`](Self::failed) is to be
    /// called then.
    pub fn connected(
        &mut self,
        resource: &ResourceName,
        socket: &str,
        plugin: Connected,
    ) -> Result<(), RegisterError> {
        let connected = &mut self.0.entry(resource.clone()).or_default().connected;
        if connected.contains_key(socket) {
            return Err(RegisterError::AlreadyConnected(socket.into()));
        }
        connected.insert(Arc::from(socket), plugin);
        Ok(())
    }

    /// It could not be connected. The end of a plugin that was connected by the same path is not noticed any more.
    pub fn failed(&mut self, resource: &ResourceName, socket: &str) {
        if let Some(plugins) = self.0.get_mut(resource) {
            plugins.clients.retain(|(path, _)| **path != *socket);
        }
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
