//! Names of the parts of a machine.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use k8s_quantity::Amount;
use terminal_text::Glyphs;
use topology_model::{CacheKind, CoreKind, CpuCache, Machine, Node, PciDevice, Sriov};

use crate::nest::{CoreGroup, Part};

/// Said of a node where something other than a CPU, such as an accelerator, starts memory traffic.
pub(crate) const INITIATOR: &str = "generic initiator";
/// The same in front of the list of what the node lacks.
pub(crate) const INITIATOR_ONLY: &str = "generic initiator; ";

/// What a node without any contents lacks. PCI devices are mentioned only where the machine has some.
pub(crate) const fn nothing(has_pci: bool) -> &'static str {
    if has_pci { "no CPUs, no memory, no PCI devices" } else { "no CPUs, no memory" }
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

/// `Ethernet VF 8086:1889`.
pub(crate) fn device(device: &PciDevice) -> String {
    let mut text = match device.class_name() {
        Some(name) => name.to_owned(),
        None => format!("class {:04x}", device.class_code()),
    };
    if matches!(device.sriov, Sriov::Virtual(_)) {
        text.push_str(" VF");
    }
    let number =
        |number: Option<u16>| number.map_or_else(|| "????".to_owned(), |number| format!("{number:04x}"));
    if device.vendor.is_some() || device.device.is_some() {
        text.push_str(&format!(" {}:{}", number(device.vendor), number(device.device)));
    }
    text
}
