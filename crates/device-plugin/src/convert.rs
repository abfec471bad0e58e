//! Between the messages and the values that decisions are made of.

use device_manager::{
    Access, AllocateReply, Device, DeviceId, DeviceNode, Health, Mount, PluginOptions, Setup, Topology,
};
use prost::{DecodeError, Message as _};
use topology_model::NodeId;

use crate::proto::deviceplugin as messages;

/// What a plugin wants of a container that has its devices, from its answer to `Allocate`.
pub fn container_setup(reply: &AllocateReply) -> Result<Setup, DecodeError> {
    let told = messages::ContainerAllocateResponse::decode(&*reply.0)?;
    let mount = |mount: messages::Mount| Mount {
        container_path: mount.container_path,
        host_path: mount.host_path,
        access: if mount.read_only { Access::ReadOnly } else { Access::ReadWrite },
    };
    let node = |node: messages::DeviceSpec| DeviceNode {
        container_path: node.container_path,
        host_path: node.host_path,
        permissions: node.permissions,
    };
    Ok(Setup {
        envs: told.envs,
        annotations: told.annotations,
        mounts: told.mounts.into_iter().map(mount).collect(),
        devices: told.devices.into_iter().map(node).collect(),
        cdi_devices: told.cdi_devices.into_iter().map(|device| device.name).collect(),
    })
}

/// The first container's answer, as it is kept.
pub(crate) fn reply(told: &messages::ContainerAllocateResponse) -> AllocateReply {
    AllocateReply(told.encode_to_vec().into())
}

pub(crate) fn options(told: messages::DevicePluginOptions) -> PluginOptions {
    PluginOptions {
        preferred_allocation: told.get_preferred_allocation_available,
        pre_start: told.pre_start_required,
    }
}

/// A list of devices, in its order.
pub(crate) fn devices(told: messages::ListAndWatchResponse) -> Vec<Device> {
    let device = |device: messages::Device| Device {
        id: DeviceId::new(&device.id),
        health: Health::said(&device.health),
        topology: match device.topology {
            None => Topology::Absent,
            Some(on) => Topology::Nodes(on.nodes.iter().map(|node| NodeId(node.id)).collect()),
        },
    };
    told.devices.into_iter().map(device).collect()
}
