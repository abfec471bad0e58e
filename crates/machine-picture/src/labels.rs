//! Names of the parts of a machine.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Amount;
use terminal_text::Glyphs;
use topology_model::{CacheKind, CoreKind, CpuCache, Machine, Node, NodeIds, PciDevice, Sriov};

use crate::nest::{CoreGroup, Nest, Part};

/// Label of a node where something other than a CPU, such as an accelerator, starts memory traffic.
pub(crate) const INITIATOR: &str = "generic initiator";
/// The same in front of the list of what the node lacks.
pub(crate) const INITIATOR_ONLY: &str = "generic initiator; ";

/// What a node without any contents lacks. PCI devices are mentioned only where the machine has some.
pub(crate) const fn nothing(has_pci: bool) -> &'static str {
    if has_pci { "no CPUs, no memory, no PCI devices" } else { "no CPUs, no memory" }
}

/// A line for each kind of nodes without CPUs, memory and PCI devices.
pub(crate) fn bare(nest: &Nest<'_>, machine: &Machine) -> Vec<String> {
    let nothing = nothing(!machine.devices().is_empty());
    let kinds = [(&nest.initiators, INITIATOR_ONLY), (&nest.empty, "")];
    let kinds = kinds.into_iter().filter(|(nodes, _)| !nodes.is_empty());
    let lines = kinds
        .map(|(nodes, what)| format!("NUMA {}: {what}{nothing}", nodes.iter().copied().collect::<NodeIds>()));
    lines.collect()
}

/// `package 0`, `NUMA 1 94Gi 16×1Gi`, `L3 32Mi`.
pub(crate) fn part(machine: &Machine, part: Part<'_>, glyphs: Glyphs) -> String {
    match part {
        Part::Package(package) if package.id.0 < 0 => "package of unknown number".to_owned(),
        Part::Package(package) => format!("package {}", package.id),
        Part::Node(numa) => node(machine, numa, glyphs),
        Part::Cache(own) => cache(own),
    }
}

/// `NUMA 1 94Gi 16×1Gi`.
pub(crate) fn node(machine: &Machine, node: &Node, glyphs: Glyphs) -> String {
    let mut text = format!("NUMA {}", node.id);
    match node.memory {
        Some(0) => text.push_str(" without memory"),
        Some(bytes) => text.push_str(&format!(" {}", Amount::Bytes(bytes))),
        None => text.push_str(" of unknown memory"),
    }
    for pages in node.hugepages.iter().filter(|pages| pages.num_pages > 0) {
        let size = Amount::Bytes(pages.page_size_kib.saturating_mul(1024));
        text.push_str(&format!(" {}{}{size}", pages.num_pages, glyphs.times()));
    }
    let initiators = machine.node_lists().has_generic_initiator.as_deref().unwrap_or_default();
    if initiators.contains(&node.id) {
        text.push_str(&format!(", {INITIATOR}"));
    }
    text
}

/// `L1d 32Ki`.
pub(crate) fn cache(cache: &CpuCache) -> String {
    let kind = match cache.kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    let size = cache
        .size_kib
        .map_or_else(String::new, |kib| format!(" {}", Amount::Bytes(kib.saturating_mul(1024))));
    format!("L{}{kind}{size}", cache.level)
}

/// `24 cores of 2 CPUs, L2 1Mi L1d 32Ki each`, without the caches.
pub(crate) fn cores(group: &CoreGroup<'_>) -> String {
    let kind = match group.kind {
        CoreKind::Plain => "",
        CoreKind::Performance => "performance ",
        CoreKind::Efficiency => "efficiency ",
    };
    let plural = if group.cores.len() == 1 { "" } else { "s" };
    let threads = if group.threads == 1 { String::new() } else { format!(" of {} CPUs", group.threads) };
    format!("{} {kind}core{plural}{threads}", group.cores.len())
}

/// `NIC VF Intel E810-C for QSFP`; of a device without a known name its numbers, `NIC Mellanox 15b3:fffe`.
pub(crate) fn device(device: &PciDevice) -> String {
    let mut text = match (device.kind(), device.class_name()) {
        (Some(kind), _) => kind.word().to_owned(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("class {:04x}", device.class_code()),
    };
    if matches!(device.sriov, Sriov::Virtual(_)) {
        text.push_str(" VF");
    }
    if let Some(vendor) = device.vendor.and_then(pci_names::vendor) {
        text.push_str(&format!(" {vendor}"));
    }
    match (model(device), numbers(device)) {
        (Some(model), _) => text.push_str(&format!(" {model}")),
        (None, Some(numbers)) => text.push_str(&format!(" {numbers}")),
        (None, None) => {}
    }
    text
}

/// The same with its numbers, and what the kernel calls it: `GPU NVIDIA A100 SXM4 40GB [10de:20b0] card0`.
pub(crate) fn device_in_full(device: &PciDevice) -> String {
    let mut text = self::device(device);
    if let Some(numbers) = model(device).and_then(|_| numbers(device)) {
        text.push_str(&format!(" [{numbers}]"));
    }
    for name in &device.kernel_names {
        text.push_str(&format!(" {name}"));
    }
    text
}

fn model(device: &PciDevice) -> Option<&'static str> {
    pci_names::device(device.vendor?, device.device?)
}

/// `8086:1889`.
fn numbers(device: &PciDevice) -> Option<String> {
    let shown =
        |number: Option<u16>| number.map_or_else(|| "????".to_owned(), |number| format!("{number:04x}"));
    let is_known = device.vendor.is_some() || device.device.is_some();
    is_known.then(|| format!("{}:{}", shown(device.vendor), shown(device.device)))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    #[test]
    fn devices_have_a_word_a_maker_and_a_model() {
        let plain = |class: u32| PciDevice::new("0000:01:00.0".parse().unwrap(), class << 8);
        let of = |class, vendor, model| PciDevice { vendor, device: model, ..plain(class) };
        for (shown, full, device) in [
            ("GPU NVIDIA A100 SXM4 40GB", " [10de:20b0]", of(0x0302, Some(0x10de), Some(0x20b0))),
            ("NIC Mellanox ConnectX-6", " [15b3:101b]", of(0x0200, Some(0x15b3), Some(0x101b))),
            ("NIC Mellanox 15b3:fffe", "", of(0x0200, Some(0x15b3), Some(0xfffe))),
            ("NIC fffe:0001", "", of(0x0200, Some(0xfffe), Some(1))),
            ("NIC Intel 8086:????", "", of(0x0200, Some(0x8086), None)),
            ("NIC", "", of(0x0200, None, None)),
            ("SATA", "", of(0x0106, None, None)),
            ("class 7700", "", of(0x7700, None, None)),
        ] {
            assert_eq!(self::device(&device), shown);
            assert_eq!(device_in_full(&device), shown.to_owned() + full);
        }
        let physical = "0000:18:00.0".parse().unwrap();
        let named = PciDevice {
            kernel_names: vec!["eth0".to_string(), "mlx5_0".to_string()],
            sriov: Sriov::Virtual(physical),
            ..of(0x0200, Some(0x8086), Some(0x1889))
        };
        assert_eq!(
            device_in_full(&named),
            "NIC VF Intel Ethernet Adaptive Virtual Function [8086:1889] eth0 mlx5_0"
        );
    }
}
