//! What PCI classes are called.

use super::PciDevice;

impl PciDevice {
    /// What its class is called, in the words of the PCI ID list, shortened; `None`: a class without a name here.
    #[must_use]
    pub const fn class_name(&self) -> Option<&'static str> {
        Some(match self.class_code() {
            0x0104 => "RAID",
            0x0106 => "SATA",
            0x0107 => "SAS",
            0x0108 => "NVMe",
            0x0207 => "InfiniBand",
            0x0280 => "network",
            0x0300 => "VGA",
            0x0302 => "3D controller",
            0x0502 => "CXL memory",
            0x0600 => "host bridge",
            0x0601 => "ISA bridge",
            0x0604 => "PCI bridge",
            0x0806 => "IOMMU",
            0x0b40 => "co-processor",
            0x0c03 => "USB",
            0x0c05 => "SMBus",
            other => return whole_class(other >> 8),
        })
    }

    /// Whether it is something that work can be near to: storage, network, display, co-processor or accelerator.
    #[must_use]
    pub const fn does_work(&self) -> bool {
        matches!(
            self.class_code(),
            0x0100..=0x03ff | 0x0502 | 0x0b40 | 0x1000..=0x10ff | 0x1200..=0x12ff
        )
    }
}

/// What a class is called of which no subclass is known by a name of its own.
const fn whole_class(class: u16) -> Option<&'static str> {
    Some(match class {
        0x01 => "storage",
        0x02 => "Ethernet",
        0x03 => "display",
        0x04 => "multimedia",
        0x05 => "memory controller",
        0x06 => "bridge",
        0x07 => "communication",
        0x08 => "system peripheral",
        0x0b => "processor",
        0x0c => "serial bus",
        0x0d => "wireless",
        0x10 => "encryption",
        0x11 => "signal processing",
        0x12 => "accelerator",
        0x13 => "instrumentation",
        _ => return None,
    })
}
