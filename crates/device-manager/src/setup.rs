//! How a container is to be set up for its devices: what plugins answered, put together.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// What a plugin wants of a container that has its devices; or what all of them together want.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Setup {
    /// Environment variables by name.
    pub envs: BTreeMap<String, String>,
    /// Annotations for the runtime, by key.
    pub annotations: BTreeMap<String, String>,
    /// Mounts, in the plugin's order. Never relabelled for `SELinux`.
    pub mounts: Vec<Mount>,
    /// Device nodes, in the plugin's order.
    pub devices: Vec<DeviceNode>,
    /// Fully qualified names of CDI devices, in the plugin's order.
    pub cdi_devices: Vec<String>,
}

/// A mount; its name is its path in the container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mount {
    /// Where in the container.
    pub container_path: String,
    /// What of the host.
    pub host_path: String,
    /// Who may write.
    pub access: Access,
}

/// Whether a mount can be written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It can.
    ReadWrite,
    /// It cannot.
    ReadOnly,
}

/// A device node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceNode {
    /// Where in the container.
    pub container_path: String,
    /// Which one of the host.
    pub host_path: String,
    /// Letters of `rwm`.
    pub permissions: String,
}

impl Setup {
    /// All of them together; of two that want the same name or path in the container the first wins, as in the
    /// kubelet, and the other is dropped. The kubelet's order of resources is random; hand them in by name.
    pub fn merged<'a>(of_resources: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let (mut mounts, mut devices, mut cdi_devices) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for one in of_resources {
            for (name, value) in &one.envs {
                all.envs.entry(name.clone()).or_insert_with(|| value.clone());
            }
            for (key, value) in &one.annotations {
                all.annotations.entry(key.clone()).or_insert_with(|| value.clone());
            }
            let new = one.mounts.iter().filter(|mount| mounts.insert(&mount.container_path));
            all.mounts.extend(new.cloned());
            let new = one.devices.iter().filter(|device| devices.insert(&device.container_path));
            all.devices.extend(new.cloned());
            let new = one.cdi_devices.iter().filter(|name| cdi_devices.insert(*name));
            all.cdi_devices.extend(new.cloned());
        }
        all
    }
}
