//! One resource and its devices, as an inventory names or selects them.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use pod_spec::ResourceName;

use crate::FunctionPool;
use crate::function_pool::{Numbered, ReportedNodes};
use crate::pci_selector::PciSelector;

/// One resource and its devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceEntry {
    /// The name that pods ask for.
    pub resource: ResourceName,
    /// Which devices there are.
    pub source: DeviceSource,
    /// What was taken in place of something that the text does not tell; sentences without a full stop.
    pub assumed: Vec<String>,
}

/// Where the devices of a resource come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceSource {
    /// Each is named. No two share an id.
    Listed(Vec<ListedDevice>),
    /// So many on each NUMA node, by node id; ids of the devices are the reader's to choose.
    PerNode(BTreeMap<u32, u32>),
    /// The PCI functions of the machine that match.
    Pci(PciSelector),
    /// The PCI functions of the machine that the SR-IOV network device plugin would give this resource. Of several
    /// such resources in a row each leaves to the next what it does not take; one that takes none is not there.
    Pool(FunctionPool),
    /// So many, whose NUMA nodes are not known.
    Counted(u32),
    /// So many by the amounts of a node, which do not tell NUMA nodes.
    Amount(u32),
    /// Devices by id, each near these CPUs.
    Near(Vec<(String, CpuSet)>),
    /// The PCI functions at these addresses.
    Addresses(Vec<String>),
    /// Virtual functions of network cards, those included that are still to be made.
    Functions(Vec<CardFunctions>),
    /// The machine's GPUs of NVIDIA, each of them so many times.
    Gpus {
        /// How many devices each is.
        replicas: u32,
        /// Whether the plugin lists partitions, where GPUs have some.
        partitions: MigStrategy,
    },
}

/// What NVIDIA's plugin makes of partitions of GPUs (`migStrategy`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MigStrategy {
    /// Nothing: GPUs are whole.
    #[default]
    None,
    /// Devices of the resource of whole GPUs, where all have partitions of one profile.
    Single,
    /// Devices of a resource for each profile: `nvidia.com/mig-1g.10gb`.
    Mixed,
}

/// A device by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedDevice {
    /// Its id, as a plugin would say it.
    pub id: String,
    /// Ids of the NUMA nodes that it is near to; empty where that is not known.
    pub nodes: Vec<u32>,
    /// Whether it can be given out.
    pub health: DeviceHealth,
    /// Its PCI address as text; `None` where it is not known, or is its id.
    pub pci: Option<String>,
}

/// Whether a device can be given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceHealth {
    /// It can be allocated.
    Healthy,
    /// It is there and counts as capacity, but cannot.
    Unhealthy,
}

/// The most devices of a resource on a node; more than any machine's virtual functions.
pub(super) const MAX_PER_NODE: u32 = 65_536;

/// Virtual functions of the network cards that a policy selects. A list that is empty says nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CardFunctions {
    /// The vendor's number of the card, four hexadecimal digits.
    pub vendor: Option<String>,
    /// The card's number, of the same form.
    pub device: Option<String>,
    /// Addresses of cards.
    pub addresses: Vec<String>,
    /// Names of cards' interfaces, with numbers of virtual functions; `None`: all.
    pub names: Vec<Numbered>,
    /// How many virtual functions each card has.
    pub count: u32,
    /// Whether the plugin says on which NUMA node they are.
    pub nodes: ReportedNodes,
}
