//! PCI devices: where they are plugged in, and which node they are near.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use cpuset::CpuSet;
use thiserror::Error;

use crate::NodeId;

/// A PCI address: `0000:3b:00.1`. Domains can be wider than four digits (`10000:01:00.0`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PciAddress {
    /// Domain (segment).
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device, 0 to 31.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

/// A text that is no PCI address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("not a PCI address: expected DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits, as 0000:3b:00.1")]
pub struct PciAddressError;

impl FromStr for PciAddress {
    type Err = PciAddressError;

    fn from_str(text: &str) -> Result<Self, PciAddressError> {
        let mut parts = text.split([':', '.']);
        let mut part = |widths: core::ops::RangeInclusive<usize>| {
            let part = parts.next().filter(|part| widths.contains(&part.len())).ok_or(PciAddressError)?;
            let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex.then(|| u32::from_str_radix(part, 16).ok()).flatten().ok_or(PciAddressError)
        };
        let byte = |number: u32| u8::try_from(number).map_err(|_| PciAddressError);
        let address = Self {
            domain: part(4..=8)?,
            bus: byte(part(2..=2)?)?,
            device: byte(part(2..=2)?)?,
            function: byte(part(1..=1)?)?,
        };
        // The separators have to be those at these places, which writing it again tells.
        let again = SameText { text, seen: 0 };
        if address.device > 31 || address.function > 7 || !again.covers(address) {
            return Err(PciAddressError);
        }
        Ok(address)
    }
}

/// Compares what is written with a text, without regard to case.
struct SameText<'a> {
    text: &'a str,
    seen: usize,
}

impl SameText<'_> {
    /// Whether the address is written as the whole text.
    fn covers(mut self, address: PciAddress) -> bool {
        fmt::write(&mut self, format_args!("{address}")).is_ok() && self.seen == self.text.len()
    }
}

impl fmt::Write for SameText<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.seen + part.len();
        let same = self.text.get(self.seen..end).is_some_and(|own| own.eq_ignore_ascii_case(part));
        self.seen = end;
        if same { Ok(()) } else { Err(fmt::Error) }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

/// A function of a PCI device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PciDevice {
    /// Its address.
    pub address: PciAddress,
    /// Class, subclass and programming interface: `0x030200` is a 3D controller.
    pub class: u32,
    /// Vendor; `None`: not known.
    pub vendor: Option<u16>,
    /// The vendor's number of the device; `None`: not known.
    pub device: Option<u16>,
    /// The NUMA node that it is near.
    pub node: DeviceNode,
    /// The CPUs that the kernel calls local. Where the node is not known these are often all that are online.
    pub local_cpus: CpuSet,
    /// The bridge or switch port that it is plugged into; `None`: directly into a root complex.
    pub parent: Option<PciAddress>,
    /// Its part in sharing one card among many.
    pub sriov: Sriov,
    /// What the kernel calls what its driver makes of it, ascending: `eth0`, `mlx5_0`, `nvme0n1`, `card0`.
    /// Empty where it has no driver, or the names were not recorded.
    pub kernel_names: Vec<String>,
    /// The driver that it is bound to: `vfio-pci`, `iavf`. `None`: none, or it was not recorded.
    pub driver: Option<String>,
    /// The hive of a GPU: those of one reach each other over xGMI. `None`: it is in none, or none is known.
    pub hive: Option<u64>,
}

impl PciDevice {
    /// A function of which no more than address and class are known.
    #[must_use]
    pub const fn new(address: PciAddress, class: u32) -> Self {
        Self {
            address,
            class,
            vendor: None,
            device: None,
            node: DeviceNode::Unknown,
            local_cpus: CpuSet::new(),
            parent: None,
            sriov: Sriov::None,
            kernel_names: Vec::new(),
            driver: None,
            hive: None,
        }
    }
}

/// The NUMA node of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeviceNode {
    /// The kernel says so.
    Known(NodeId),
    /// The kernel does not say so of the device, but of a bridge above it.
    Inherited(NodeId),
    /// The kernel names none, neither for the device nor for a bridge above it.
    #[default]
    Unknown,
}

impl DeviceNode {
    /// The node, however it is known.
    #[must_use]
    pub const fn id(self) -> Option<NodeId> {
        match self {
            Self::Known(id) | Self::Inherited(id) => Some(id),
            Self::Unknown => None,
        }
    }

    /// The node that the kernel itself reports, which is what a device plugin passes on.
    #[must_use]
    pub const fn reported(self) -> Option<NodeId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Inherited(_) | Self::Unknown => None,
        }
    }
}

/// Single-root I/O virtualisation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sriov {
    /// An ordinary function.
    #[default]
    None,
    /// The physical function, with its virtual ones in ascending order.
    Physical(Vec<PciAddress>),
    /// A virtual function of this physical one.
    Virtual(PciAddress),
}

impl PciDevice {
    /// Whether it is a bridge to other devices: class 0604.
    #[must_use]
    pub const fn is_bridge(&self) -> bool {
        self.class >> 8 == 0x0604
    }

    /// Class and subclass: `0x0302`.
    #[must_use]
    pub const fn class_code(&self) -> u16 {
        // The programming interface is not part of it, and nothing is above 24 bits.
        (self.class >> 8 & 0xffff) as u16
    }
}
