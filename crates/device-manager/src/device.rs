//! One device, as a plugin tells it.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

use topology_model::NodeId;

/// The name that a plugin gives to a device: unique within its resource. Any text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(Arc<str>);

impl DeviceId {
    /// The text as it is; nothing is checked.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for DeviceId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Borrow<str> for DeviceId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a plugin says about the state of a device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Health {
    /// Exactly `Healthy`: it can be given out.
    #[default]
    Healthy,
    /// Anything else, the empty text included: it counts as capacity and is not given out.
    Unhealthy(Arc<str>),
}

impl Health {
    /// From a plugin's word.
    #[must_use]
    pub fn said(word: &str) -> Self {
        if word == "Healthy" { Self::Healthy } else { Self::Unhealthy(Arc::from(word)) }
    }
}

/// Which NUMA nodes a device is near to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Topology {
    /// The plugin says nothing about it.
    #[default]
    Absent,
    /// These, by the kernel's ids as the plugin read them: -1, ids that the machine lacks, and repetitions
    /// included. An empty list is legal, means "no node", and is not in every place the same as [`Topology::Absent`].
    Nodes(Arc<[NodeId]>),
}

impl Topology {
    /// The ids, in the order in which they were listed; none when absent.
    #[must_use]
    pub fn ids(&self) -> &[NodeId] {
        match self {
            Self::Absent => &[],
            Self::Nodes(ids) => ids,
        }
    }
}

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its name.
    pub id: DeviceId,
    /// Whether it can be given out.
    pub health: Health,
    /// Where it is.
    pub topology: Topology,
}

impl Device {
    /// A healthy device near those nodes; without nodes one that says nothing about where it is.
    #[must_use]
    pub fn new(id: &str, nodes: &[i64]) -> Self {
        let topology = match nodes {
            [] => Topology::Absent,
            ids => Topology::Nodes(ids.iter().copied().map(NodeId).collect()),
        };
        Self { id: DeviceId::new(id), health: Health::Healthy, topology }
    }

    /// The same device in another state of health.
    #[must_use]
    pub fn with_health(self, health: Health) -> Self {
        Self { health, ..self }
    }
}
