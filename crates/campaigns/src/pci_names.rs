//! `cargo xtask pci-names FILE`: the tables of `pci-names`, from the PCI ID list.
//!
//! The list has no classes of devices, so that a vendor's devices are chosen by words in their names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::ensure;
use fs_err as fs;
use workspace_tools::workspace::root;

/// Writes the names of devices from a PCI ID list (Debian: package `pci.ids`).
#[derive(Debug, clap::Args)]
pub(crate) struct PciNames {
    /// The list.
    #[arg(default_value = "/usr/share/misc/pci.ids")]
    list: PathBuf,
}

/// Which devices of a vendor are taken.
#[derive(Clone, Copy)]
enum Taken {
    All,
    /// Those from this number on: older ones are no longer in servers.
    From(u16),
    /// Those with one of these words in their names.
    With(&'static [&'static str]),
}
use Taken::{All, From, With};

/// What a device of a vendor is called in the list.
#[derive(Clone, Copy)]
enum Called {
    /// By what stands in brackets, where something does: `GA100 [A100 SXM4 40GB]`.
    InBrackets,
    /// By what stands outside of them: `C620 SATA Controller [AHCI mode]`.
    Outside,
}
use Called::{InBrackets, Outside};

const INTEL: &[&str] = &[
    "Ethernet Co",
    "Ethernet Ad",
    "Ethernet 10G",
    "NVMe",
    "SSD",
    "Optane",
    "QuickAssist",
    "QAT",
    "Omni-Path",
    "Data Center GPU",
    "Arc",
    "UHD Graphics",
    "Iris",
    "Virtual Function",
    "SATA",
    "RAID",
    "NPU",
    "Accelerat",
    "CXL",
];
const BROADCOM: &[&str] = &["NetXtreme-", "BCM57", "BCM58", "MegaRAID", "SAS", "NetXtreme II"];

/// The vendors in ascending order: number, short name, devices, where their names stand.
const VENDORS: &[(u16, &str, Taken, Called)] = &[
    (0x025e, "Solidigm", All, Outside),
    (0x1000, "Broadcom/LSI", All, Outside),
    (0x1002, "AMD", From(0x6600), InBrackets),
    (
        0x1014,
        "IBM",
        With(&["Fibre", "Ethernet", "NVMe", "SAS", "RAID", "CAPI", "Accelerat", "RoCE", "Crypto"]),
        Outside,
    ),
    (0x102b, "Matrox", With(&["G200"]), Outside),
    (0x1077, "QLogic", All, Outside),
    (0x10de, "NVIDIA", From(0x1000), InBrackets),
    (0x10df, "Emulex", All, Outside),
    (0x10ec, "Realtek", With(&["Ethernet", "NVMe", "SSD"]), Outside),
    (0x10ee, "Xilinx", All, Outside),
    (0x1172, "Altera", All, Outside),
    (0x1179, "Toshiba", With(&["NVMe", "SSD"]), Outside),
    (0x126f, "Silicon Motion", All, Outside),
    (0x1344, "Micron", All, Outside),
    (0x1414, "Microsoft", All, Outside),
    (0x1425, "Chelsio", With(&["T520", "T540", "T560", "T580", "T61", "T62", "T64", "T6425"]), Outside),
    (0x144d, "Samsung", All, Outside),
    (0x14e4, "Broadcom", With(BROADCOM), Outside),
    (0x15ad, "VMware", All, Outside),
    (0x15b3, "Mellanox", All, InBrackets),
    (0x15b7, "SanDisk", All, Outside),
    (
        0x177d,
        "Cavium",
        With(&["NIC", "Ethernet", "Network", "ThunderX", "LiquidIO", "Nitrox", "NITROX"]),
        Outside,
    ),
    (0x18f4, "Napatech", All, Outside),
    (0x1924, "Solarflare", All, Outside),
    (0x1987, "Phison", All, Outside),
    (0x19a2, "Emulex", All, Outside),
    (0x19e5, "Huawei", All, Outside),
    (0x1a03, "ASPEED", With(&["Graphics"]), Outside),
    (0x1ae0, "Google", All, Outside),
    (0x1af4, "virtio", All, Outside),
    (0x1b4b, "Marvell", With(&["NVMe", "SSD", "SATA", "SAS", "Ethernet"]), Outside),
    (0x1b96, "Western Digital", All, Outside),
    (0x1bb1, "Seagate", All, Outside),
    (0x1c5c, "SK hynix", All, Outside),
    (0x1cc4, "Union Memory", All, Outside),
    (0x1d0f, "Amazon", All, Outside),
    (0x1d95, "Graphcore", All, Outside),
    (0x1da3, "Habana", All, Outside),
    (0x1dd8, "Pensando", With(&["Controller", "Ethernet", "Accelerat"]), Outside),
    (0x1de5, "Eideticom", All, Outside),
    (0x1e0f, "KIOXIA", All, Outside),
    (0x1e36, "Enflame", All, Outside),
    (0x1e3b, "DapuStor", All, Outside),
    (0x1e49, "YMTC", All, Outside),
    (0x1e52, "Tenstorrent", All, Outside),
    (0x1ed5, "Moore Threads", All, Outside),
    (0x1eff, "Rebellions", All, Outside),
    (0x8086, "Intel", With(INTEL), Outside),
    (0x9005, "Adaptec", All, Outside),
    (0xc0a9, "Crucial", All, Outside),
];

/// Words in names of devices that pods do not use, of any vendor.
const LEFT_OUT: &[&str] = &[
    "Audio",
    "USB",
    "LPC",
    "SMBus",
    "Bridge",
    "bridge",
    "UART",
    "Memory Controller",
    "Switch Port",
    "Recovery",
    "recovery",
    "nForce",
    "Host Controller Interface",
    "Root Port",
    "Thermal",
    "Flash",
];

/// Words at the beginning of a name that the class of the device says already.
const SAID_BY_CLASS: &[&str] = &["Ethernet Controller ", "Ethernet Connection ", "Ethernet Network Adapter "];

impl PciNames {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let shown = self.list.display();
        // Old lists have a few names in Latin-1.
        let bytes = fs::read(&self.list)?;
        let devices = devices(&String::from_utf8_lossy(&bytes));
        ensure!(
            !devices.is_empty(),
            "{shown} is no PCI ID list: it has none of the vendors that are looked for"
        );
        let mut text = String::new();
        for (number, name) in &devices {
            writeln!(text, "{number:08x} {name}")?;
        }
        let vendors: String =
            VENDORS.iter().map(|(number, name, ..)| format!("{number:04x} {name}\n")).collect();
        for (file, text) in [("vendors.txt", &vendors), ("devices.txt", &text)] {
            let path = root().join("crates/pci-names").join(file);
            fs::write(&path, text)?;
        }
        eprintln!("pci-names: {} devices, {} KiB", devices.len(), text.len() >> 10);
        Ok(())
    }
}

/// The devices that are taken, by vendor and number. Vendors begin their lines, their devices follow behind a tab.
fn devices(list: &str) -> BTreeMap<u32, String> {
    let mut devices = BTreeMap::new();
    let mut vendor = None;
    for line in list.lines() {
        let is_device = line.starts_with('\t');
        if line.is_empty() || line.starts_with('#') || line.starts_with("\t\t") {
            continue;
        }
        // Classes, which end the list of devices, begin with a letter and a space.
        let parts = line.trim_start().split_once("  ");
        let number = parts.and_then(|(number, _)| u16::from_str_radix(number, 16).ok());
        let Some((number, (_, name))) = number.zip(parts) else {
            vendor = None;
            continue;
        };
        if !is_device {
            vendor = VENDORS.iter().find(|(own, ..)| *own == number);
            continue;
        }
        let Some((maker, _, taken, called)) = vendor else { continue };
        if is_taken(*taken, number, name) {
            devices.insert(u32::from(*maker) << 16 | u32::from(number), short(name, *called));
        }
    }
    devices
}

fn is_taken(taken: Taken, number: u16, name: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is_wanted = match taken {
        All => true,
        From(first) => number >= first,
        With(words) => has(words),
    };
    is_wanted && !has(LEFT_OUT)
}

/// `GA100 [A100 SXM4 40GB]` is called `A100 SXM4 40GB`.
fn short(name: &str, called: Called) -> String {
    let parts = name.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?)));
    let short = match (called, parts) {
        (InBrackets, Some((_, (inside, _)))) => inside.trim().to_owned(),
        (Outside, Some((before, (_, after)))) if !before.trim().is_empty() => {
            format!("{} {}", before.trim(), after.trim())
        }
        (_, _) => name.to_owned(),
    };
    let short = short.trim();
    SAID_BY_CLASS.iter().find_map(|words| short.strip_prefix(words)).unwrap_or(short).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_becomes_short_names_of_devices_that_do_work() {
        let list = "# Version\n0e11  Compaq\n\t0001  PCI to EISA Bridge\n10de  NVIDIA Corporation\n\t0001  Old\n\
                    \t20b0  GA100 [A100 SXM4 40GB]\n\t\t10de 1450  A board\n\t2284  High Definition Audio Controller\n\
                    8086  Intel Corporation\n\t1592  Ethernet Controller E810-C for QSFP\n\t2030  Sky Lake Root Port A\n\
                    \ta182  C620 Series SATA Controller [AHCI mode]\nC 00  Unclassified device\n\t00  Ethernet\n";
        let found: Vec<_> = devices(list).into_iter().collect();
        assert_eq!(
            found,
            [
                (0x10de_20b0, "A100 SXM4 40GB".to_owned()),
                (0x8086_1592, "E810-C for QSFP".to_owned()),
                (0x8086_a182, "C620 Series SATA Controller".to_owned()),
            ]
        );
        assert!(VENDORS.is_sorted_by(|one, other| one.0 < other.0), "the table is searched by number");
    }
}
