//! Events on the sockets, reported to the owner of the inventory.

use std::path::PathBuf;

use device_manager::{
    Device, DeviceId, Endpoint, Inventory, Life, Moment, OverBudget, PluginOptions, RpcError,
};
use pod_spec::ResourceName;
use tokio::sync::oneshot;

/// An event on the sockets. Record events in the order in which they arrive, with [`ServerEvent::record`].
#[derive(Debug)]
pub enum ServerEvent {
    /// A plugin has registered, perhaps again. It is answered when this event has been dropped.
    Registered {
        /// For which resource.
        resource: ResourceName,
        /// What it wants to be asked.
        options: PluginOptions,
        /// See [`Receipt`].
        receipt: Receipt,
    },
    /// A plugin tried to register and was refused, or could not be reached. One whose socket was found is tried
    /// again. The plugin does not wait for the record. It may try often, so log the event on arrival.
    NotRegistered {
        /// The name that it gave, which may be invalid; empty if it gave none. Long names are cut.
        resource: String,
        /// The plugin's own socket, or the one by which it was found.
        socket: PathBuf,
        /// The error that the plugin receives, in the kubelet's words. Long texts are cut.
        why: String,
    },
    /// A plugin has listed all its devices. No more is read of it until this event has been dropped.
    Listed {
        /// Of which resource.
        resource: ResourceName,
        /// The whole list, in its order.
        devices: Vec<Device>,
        /// See [`Receipt`].
        receipt: Receipt,
    },
    /// A plugin lists more than there is room for. It counts as having no devices until it lists fewer. No more is read
    /// of it until this event has been dropped.
    ListRefused {
        /// Of which resource.
        resource: ResourceName,
        /// How much, and how much may be.
        why: OverBudget,
        /// See [`Receipt`].
        receipt: Receipt,
    },
    /// A plugin has gone away. It comes back by registering.
    Gone {
        /// For which resource.
        resource: ResourceName,
        /// How it was noticed.
        why: DisconnectReason,
    },
    /// One of several plugins for a resource has gone away. Its devices stay as they are listed, and another one is asked
    /// from now on.
    OneGone {
        /// For which resource.
        resource: ResourceName,
        /// The socket of the one that has gone.
        socket: PathBuf,
        /// How it was noticed.
        why: DisconnectReason,
        /// What the one that is asked from now on wants to be asked.
        options: PluginOptions,
    },
    /// The stream of a plugin has ended, and no connection stands for the resource, since another plugin failed
    /// to replace this one. Its devices do not change, as in the kubelet.
    EndedUnnoticed {
        /// For which resource.
        resource: ResourceName,
    },
    /// A socket was removed or replaced, and has been made again: plugins see that and register again.
    ServedAgain {
        /// The registration socket or the one of the pod resources service.
        socket: Socket,
    },
    /// A socket is served no more, though it should be. What is held stays held.
    NotServed {
        /// The registration socket or the one of the pod resources service.
        socket: Socket,
        /// The system's error.
        error: String,
    },
}

/// How it was noticed that a plugin is no longer connected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// It has ended its stream of device lists.
    StreamEnded,
    /// Its stream has failed.
    StreamFailed(RpcError),
    /// The socket by which it had been found has vanished, or is another one now.
    SocketRemoved,
    /// It did not take the news that it is registered.
    NotNotified(RpcError),
    /// It was closed because another resource had no connection, and this one had most.
    MadeRoom,
    /// This server stops.
    Stopping,
}

/// One of the sockets that are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Socket {
    /// Where plugins register.
    Registration,
    /// The pod resources service.
    PodResources,
}

/// When it is dropped, the plugin goes on: so that lists never come faster than they are recorded.
#[derive(Debug)]
pub struct Receipt(#[expect(dead_code, reason = "its end is the message")] oneshot::Sender<()>);

impl Receipt {
    pub(crate) fn new() -> (Self, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }
}

impl ServerEvent {
    /// Puts it into the inventory. Returns the devices whose health has changed, and those that were not listed
    /// before: the pods that hold one of them need a new status.
    ///
    /// After [`ServerEvent::Listed`] the state is to be stored; after the others it is not, as in the kubelet.
    pub fn record(self, inventory: &mut Inventory, now: Moment) -> Vec<DeviceId> {
        match self {
            Self::Registered { resource, options, .. } | Self::OneGone { resource, options, .. } => {
                let endpoint = Endpoint::Plugin { options: Some(options), life: Life::Running };
                inventory.set_endpoint(&resource, endpoint);
                Vec::new()
            }
            Self::Listed { resource, devices, .. } => inventory.list(&resource, devices),
            Self::ListRefused { resource, why, .. } => inventory.refuse_list(&resource, why),
            Self::Gone { resource, .. } => {
                inventory.disconnect(&resource, now);
                Vec::new()
            }
            Self::NotRegistered { .. }
            | Self::EndedUnnoticed { .. }
            | Self::ServedAgain { .. }
            | Self::NotServed { .. } => Vec::new(),
        }
    }
}
