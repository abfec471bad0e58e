//! The matrix of `nvidia-smi topo --matrix`: GPUs with the CPUs and the NUMA node that they are near to.

use cpuset::CpuSet;
use pod_spec::ResourceName;

use super::entry::{DeviceEntry, DeviceHealth, DeviceSource, ListedDevice};
use crate::{ManifestError, Problem, Source};

/// Whether a text has such a matrix.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(is_header)
}

fn is_header(line: &str) -> bool {
    line.contains("GPU0") && line.contains("CPU Affinity")
}

/// The GPUs of the first matrix of a text.
pub(super) fn read(source: &Source<'_>) -> Result<Vec<DeviceEntry>, ManifestError> {
    let plain = without_escapes(source.text);
    let mut lines = plain.lines().skip_while(|line| !is_header(line));
    let header = lines.next().unwrap_or_default();
    let (devices, _) = header.split_once("CPU Affinity").unwrap_or((header, ""));
    let columns = devices.split_whitespace().count();
    let has_nodes = header.contains("NUMA Affinity");
    let (mut listed, mut near) = (Vec::new(), Vec::new());
    for line in lines {
        let mut words = line.split_whitespace();
        let Some(id) = words.next() else { break };
        let is_gpu = id.strip_prefix("GPU").is_some_and(|number| number.parse::<u32>().is_ok());
        if !is_gpu {
            continue;
        }
        let mut affinity = words.skip(columns);
        let cpus = affinity.next().unwrap_or_default();
        if has_nodes {
            let node = affinity.next().and_then(nodes);
            let nodes = node.unwrap_or_default();
            listed.push(ListedDevice { id: id.to_owned(), nodes, health: DeviceHealth::Healthy, pci: None });
        } else {
            near.push((id.to_owned(), CpuSet::from_kernel_list(cpus).unwrap_or_default()));
        }
    }
    if listed.is_empty() && near.is_empty() {
        let what = "the matrix of nvidia-smi has no line of a GPU".to_owned();
        let problem = Problem::OtherForm { what, instead: "the whole output of `nvidia-smi topo --matrix`" };
        return Err(ManifestError::at(source, "", &(0..0), problem));
    }
    let source = if has_nodes { DeviceSource::Listed(listed) } else { DeviceSource::Near(near) };
    let assumed =
        vec!["its devices are called as in the matrix, and not by the UUIDs that the plugin has".to_owned()];
    Ok(vec![DeviceEntry { resource: ResourceName::new("nvidia.com/gpu"), source, assumed }])
}

/// `0`, `0-1`, `N/A`
fn nodes(text: &str) -> Option<Vec<u32>> {
    let nodes = CpuSet::from_kernel_list(text).ok()?;
    nodes.iter().map(|node| u32::try_from(node.get()).ok()).collect()
}

/// Without the sequences that underline its header.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain.push_str(rest);
    plain
}
