//! What PCI classes are called.

use super::PciDevice;

impl PciDevice {
    /// What its class is called, in the words of the PCI ID list, shortened; `None`: a class that the list does not
    /// have. Every subclass of the list is named; of a subclass that is newer than the list, the class is.
    #[must_use]
    pub const fn class_name(&self) -> Option<&'static str> {
        let code = self.class_code();
        if let Some(name) = subclass(code) {
            return Some(name);
        }
        class(code >> 8)
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

/// The name of a class and subclass, `0xCCSS`. Subclass `0x80`, "other", has the name of its class.
const fn subclass(code: u16) -> Option<&'static str> {
    match code >> 8 {
        0x00..=0x03 => storage_network_display(code),
        0x04..=0x07 => memory_bridges_communication(code),
        0x08..=0x0c => system_and_buses(code),
        _ => wireless_and_later(code),
    }
}

const fn storage_network_display(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0000 => "unclassified",
        0x0001 => "VGA compatible unclassified",
        0x0005 => "image coprocessor",
        0x0100 => "SCSI",
        0x0101 => "IDE",
        0x0102 => "floppy",
        0x0103 => "IPI bus",
        0x0104 => "RAID",
        0x0105 => "ATA",
        0x0106 => "SATA",
        0x0107 => "SAS",
        0x0108 => "NVMe",
        0x0109 => "UFS",
        0x0200 => "Ethernet",
        0x0201 => "token ring",
        0x0202 => "FDDI",
        0x0203 => "ATM",
        0x0204 => "ISDN",
        0x0205 => "WorldFip",
        0x0206 => "PICMG",
        0x0207 => "InfiniBand",
        0x0208 => "fabric",
        0x0300 => "VGA",
        0x0301 => "XGA",
        0x0302 => "3D controller",
        _ => return None,
    })
}

const fn memory_bridges_communication(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0400 => "video",
        0x0401 => "audio",
        0x0402 => "telephony",
        0x0403 => "HD audio",
        0x0500 => "RAM",
        0x0501 => "flash",
        0x0502 => "CXL memory",
        0x0600 => "host bridge",
        0x0601 => "ISA bridge",
        0x0602 => "EISA bridge",
        0x0603 => "MicroChannel bridge",
        0x0604 => "PCI bridge",
        0x0605 => "PCMCIA bridge",
        0x0606 => "NuBus bridge",
        0x0607 => "CardBus bridge",
        0x0608 => "RACEway bridge",
        0x0609 => "semi-transparent PCI bridge",
        0x060a => "InfiniBand to PCI bridge",
        0x0700 => "serial port",
        0x0701 => "parallel port",
        0x0702 => "multiport serial",
        0x0703 => "modem",
        0x0704 => "GPIB",
        0x0705 => "smart card",
        _ => return None,
    })
}

const fn system_and_buses(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0800 => "interrupt controller",
        0x0801 => "DMA",
        0x0802 => "timer",
        0x0803 => "RTC",
        0x0804 => "PCI hot-plug",
        0x0805 => "SD host",
        0x0806 => "IOMMU",
        0x0899 => "timing card",
        0x0900 => "keyboard",
        0x0901 => "digitizer pen",
        0x0902 => "mouse",
        0x0903 => "scanner",
        0x0904 => "gameport",
        0x0a00 => "docking station",
        0x0b00 => "386",
        0x0b01 => "486",
        0x0b02 => "Pentium",
        0x0b10 => "Alpha",
        0x0b20 => "PowerPC",
        0x0b30 => "MIPS",
        0x0b40 => "co-processor",
        0x0c00 => "FireWire",
        0x0c01 => "ACCESS bus",
        0x0c02 => "SSA",
        0x0c03 => "USB",
        0x0c04 => "Fibre Channel",
        0x0c05 => "SMBus",
        0x0c06 => "InfiniBand bus",
        0x0c07 => "IPMI",
        0x0c08 => "SERCOS",
        0x0c09 => "CANBUS",
        _ => return None,
    })
}

const fn wireless_and_later(code: u16) -> Option<&'static str> {
    Some(match code {
        0x0d00 => "IrDA",
        0x0d01 => "consumer infrared",
        0x0d10 => "radio",
        0x0d11 => "Bluetooth",
        0x0d12 => "broadband",
        0x0d20 => "802.1a",
        0x0d21 => "802.1b",
        0x0e00 => "I2O",
        0x0f01 => "satellite TV",
        0x0f02 => "satellite audio",
        0x0f03 => "satellite voice",
        0x0f04 => "satellite data",
        0x1000 => "network encryption",
        0x1010 => "entertainment encryption",
        0x1100 => "DPIO",
        0x1101 => "performance counters",
        0x1110 => "communication synchronizer",
        0x1120 => "signal processing management",
        _ => return None,
    })
}

/// What a class is called as a whole.
const fn class(class: u16) -> Option<&'static str> {
    Some(match class {
        0x00 => "unclassified",
        0x01 => "storage",
        0x02 => "network",
        0x03 => "display",
        0x04 => "multimedia",
        0x05 => "memory controller",
        0x06 => "bridge",
        0x07 => "communication",
        0x08 => "system peripheral",
        0x09 => "input",
        0x0a => "docking station",
        0x0b => "processor",
        0x0c => "serial bus",
        0x0d => "wireless",
        0x0e => "intelligent controller",
        0x0f => "satellite",
        0x10 => "encryption",
        0x11 => "signal processing",
        0x12 => "accelerator",
        0x13 => "non-essential instrumentation",
        0x40 => "co-processor",
        0xff => "unassigned",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::PciDevice;

    fn device(class: u32) -> PciDevice {
        PciDevice::new("0000:01:00.0".parse().unwrap(), class)
    }

    #[test]
    fn omni_path_is_a_fabric_and_only_0200_is_ethernet() {
        for (class, name) in [
            (0x02_0000, "Ethernet"),
            (0x02_0100, "token ring"),
            (0x02_0700, "InfiniBand"),
            (0x02_0800, "fabric"),
            (0x02_8000, "network"),
            (0x02_4200, "network"),
            (0x01_0802, "NVMe"),
            (0x01_0100, "IDE"),
            (0x01_8000, "storage"),
            (0x03_0000, "VGA"),
            (0x03_8000, "display"),
            (0x06_0400, "PCI bridge"),
            (0x06_0900, "semi-transparent PCI bridge"),
            (0x08_0700, "system peripheral"),
            (0x0b_4000, "co-processor"),
            (0x0c_0400, "Fibre Channel"),
            (0x10_8000, "encryption"),
            (0x11_0100, "performance counters"),
            (0x12_0000, "accelerator"),
            (0xff_0000, "unassigned"),
        ] {
            assert_eq!(device(class).class_name(), Some(name), "{class:06x}");
        }
        assert_eq!(device(0x77_0000).class_name(), None, "the list has no such class");
        let named = (0..=0xffff).filter(|code| device(code << 8).class_name() == Some("Ethernet"));
        assert_eq!(named.count(), 1, "no other class is called Ethernet");
    }
}
