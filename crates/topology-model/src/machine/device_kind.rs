//! What people call the devices that work is near to.

use super::PciDevice;

/// A word for what a device does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DeviceKind {
    /// It computes, whether or not a screen can be plugged in.
    Gpu,
    /// It sends packets: Ethernet, `InfiniBand`, or another fabric.
    Nic,
    /// A disk on the PCI bus.
    Nvme,
    /// It computes or compresses or encrypts, and is no GPU.
    Accelerator,
}

impl DeviceKind {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Gpu, Self::Nic, Self::Nvme, Self::Accelerator];

    /// `GPU`, `NIC`, `NVMe`, `accelerator`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Nic => "NIC",
            Self::Nvme => "NVMe",
            Self::Accelerator => "accelerator",
        }
    }
}

/// AMD, whose GPUs without a screen are of class *processing accelerator*.
const AMD: u16 = 0x1002;

/// Makers of display adapters that draw a console and nothing else: those of management controllers (ASPEED, Matrox,
/// Huawei, XGI, Silicon Motion), of virtual machines (Cirrus, QEMU, VMware, Red Hat, virtio, `VirtualBox`, Hyper-V,
/// EC2).
const CONSOLES: [u16; 13] =
    [0x1a03, 0x102b, 0x19e5, 0x18ca, 0x126f, 0x1013, 0x1234, 0x15ad, 0x1b36, 0x1af4, 0x80ee, 0x1414, 0x1d0f];

impl PciDevice {
    /// What people call it; `None`: it has no such word, and the name of its class has to do.
    #[must_use]
    pub fn kind(&self) -> Option<DeviceKind> {
        let is_console = self.vendor.is_none_or(|vendor| CONSOLES.contains(&vendor));
        match self.class_code() {
            0x0108 => Some(DeviceKind::Nvme),
            0x0200..=0x02ff => Some(DeviceKind::Nic),
            // A 3D controller has no connector for a screen.
            0x0302 => Some(DeviceKind::Gpu),
            0x0300..=0x03ff if !is_console => Some(DeviceKind::Gpu),
            0x1200..=0x12ff if self.vendor == Some(AMD) => Some(DeviceKind::Gpu),
            0x1200..=0x12ff | 0x0b40 => Some(DeviceKind::Accelerator),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DeviceKind, PciDevice};

    #[test]
    fn a_gpu_is_one_by_any_class_and_a_console_is_none() {
        let kind = |class: u32, vendor: Option<u16>| {
            let address = "0000:01:00.0".parse().unwrap();
            PciDevice { vendor, ..PciDevice::new(address, class << 8) }.kind()
        };
        for (class, vendor, expected) in [
            (0x0302, Some(0x10de), Some(DeviceKind::Gpu)),
            (0x0302, None, Some(DeviceKind::Gpu)),
            (0x0300, Some(0x10de), Some(DeviceKind::Gpu)),
            (0x0380, Some(0x1002), Some(DeviceKind::Gpu)),
            (0x1200, Some(0x1002), Some(DeviceKind::Gpu)),
            (0x1200, Some(0x1da3), Some(DeviceKind::Accelerator)),
            (0x0b40, Some(0x8086), Some(DeviceKind::Accelerator)),
            (0x0300, Some(0x1a03), None),
            (0x0380, Some(0x1af4), None),
            (0x0300, None, None),
            (0x0207, Some(0x15b3), Some(DeviceKind::Nic)),
            (0x0208, Some(0x8086), Some(DeviceKind::Nic)),
            (0x0108, None, Some(DeviceKind::Nvme)),
            (0x0106, Some(0x8086), None),
            (0x0604, Some(0x10de), None),
        ] {
            assert_eq!(kind(class, vendor), expected, "{class:04x} of {vendor:04x?}");
        }
    }
}
