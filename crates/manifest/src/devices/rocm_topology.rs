//! What `rocm-smi --showtoponuma` prints: GPUs of AMD with the NUMA node that each is near to.
//!
//! ```text
//! GPU[0]          : (Topology) Numa Node: 0
//! GPU[0]          : (Topology) Numa Affinity: 0
//! ```

use std::collections::BTreeMap;

use pod_spec::ResourceName;

use super::entry::{DeviceEntry, DeviceHealth, DeviceSource, ListedDevice};
use crate::Source;

/// Whether a text has such lines.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(|line| gpu(line).is_some())
}

/// The GPUs of a text.
pub(super) fn read(source: &Source<'_>) -> Vec<DeviceEntry> {
    let mut gpus: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (number, node) in source.text.lines().filter_map(gpu) {
        gpus.entry(number).or_default().extend(node);
    }
    let listed = gpus.into_iter().map(|(number, nodes)| ListedDevice {
        id: format!("GPU[{number}]"),
        nodes,
        health: DeviceHealth::Healthy,
        pci: None,
    });
    let assumed = vec![
        "its devices are called as rocm-smi numbers them, and not by the PCI addresses that the plugin has"
            .to_owned(),
    ];
    vec![DeviceEntry {
        resource: ResourceName::new("amd.com/gpu"),
        source: DeviceSource::Listed(listed.collect()),
        assumed,
    }]
}

/// The number of a GPU, and its NUMA node; `None` of a node: the kernel has none.
fn gpu(line: &str) -> Option<(u32, Option<u32>)> {
    let (number, rest) = line.trim().strip_prefix("GPU[")?.split_once(']')?;
    let (_, node) = rest.split_once("Numa Node:")?;
    Some((number.parse().ok()?, node.trim().parse().ok()))
}
