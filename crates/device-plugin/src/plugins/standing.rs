//! Whose plugin stands for a resource, by the rule of a release.

use std::path::{Path, PathBuf};

use device_manager::{
    Connected, ConnectionId, Connections, Gone, RegisterError, ReplacedPlugins, SocketConnections,
};
use kubelet_release::PluginsPerResource;
use pod_spec::ResourceName;

/// The connections that stand for resources.
#[derive(Debug)]
pub(super) enum Standing {
    /// One for each resource.
    One(Connections),
    /// One for each socket of a resource.
    Several(SocketConnections, ReplacedPlugins),
}

impl Standing {
    pub(super) fn new(rule: PluginsPerResource, replaced: ReplacedPlugins) -> Self {
        match rule {
            PluginsPerResource::One => Self::One(Connections::default()),
            PluginsPerResource::Several => Self::Several(SocketConnections::default(), replaced),
        }
    }

    pub(super) fn connecting(&mut self, resource: &ResourceName, socket: &Path, id: ConnectionId) {
        match self {
            Self::One(connections) => connections.connecting(resource, id),
            Self::Several(connections, _) => connections.connecting(resource, &text(socket), id),
        }
    }

    /// A plugin has answered with its options. Returns the connection of the same socket that it replaces.
    pub(super) fn connected(
        &mut self,
        resource: &ResourceName,
        socket: &Path,
        plugin: Connected,
    ) -> Result<Option<ConnectionId>, RegisterError> {
        match self {
            Self::One(_) => Ok(None),
            Self::Several(connections, replaced) => {
                connections.connected(resource, &text(socket), plugin, *replaced)
            }
        }
    }

    pub(super) fn failed(&mut self, resource: &ResourceName, socket: &Path, id: ConnectionId) {
        match self {
            Self::One(connections) => connections.failed(resource),
            Self::Several(connections, replaced) => {
                connections.failed(resource, &text(socket), id, *replaced);
            }
        }
    }

    pub(super) fn gone(&mut self, resource: &ResourceName, socket: &Path) -> Gone {
        match self {
            Self::One(connections) => connections.gone(resource).map_or(Gone::Unnoticed, Gone::Last),
            Self::Several(connections, _) => connections.gone(resource, &text(socket)),
        }
    }

    /// A connection goes on working for its resource. If the one that stands for the resource has just been replaced,
    /// this one stands for it.
    pub(super) fn stand_in(
        &mut self,
        resource: &ResourceName,
        id: ConnectionId,
        is_open: impl Fn(ConnectionId) -> bool,
    ) {
        if let Self::One(connections) = self
            && connections.current(resource).is_some_and(|current| !is_open(current))
        {
            connections.connecting(resource, id);
        }
    }

    /// Whether a connection that was closed to make room is still expected to end by itself.
    pub(super) fn is_expected(&self, resource: &ResourceName, socket: &Path, id: ConnectionId) -> bool {
        match self {
            // A newer one stands for the resource: the last connection of a resource makes no room.
            Self::One(_) => false,
            Self::Several(connections, _) => connections.client(resource, &text(socket)) == Some(id),
        }
    }

    /// Every resource with a connection, and its sockets; where a resource has one plugin, no socket is known.
    pub(super) fn all(&self) -> Vec<(ResourceName, PathBuf)> {
        match self {
            Self::One(connections) => {
                connections.resources().map(|resource| (resource.clone(), PathBuf::new())).collect()
            }
            Self::Several(connections, _) => connections
                .clients()
                .map(|(resource, socket)| (resource.clone(), PathBuf::from(socket)))
                .collect(),
        }
    }
}

/// A path as registrations and errors write it.
fn text(socket: &Path) -> String {
    socket.to_string_lossy().into_owned()
}
