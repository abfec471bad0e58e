//! Lists and amounts in words.

use std::collections::BTreeSet;

use cpuset::CpuSet;
use device_manager::DeviceId;
use k8s_quantity::Amount;
use memory_manager::StoredBlock;
use pod_spec::ResourceName;

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// More names are not shown: a folder can name one pod for every few bytes, and each of them can have a line with all.
const NAMES: usize = 10;

/// `a, b and c`, or the first ten and how many more there are.
pub(crate) fn names<T: ToString>(items: &[T]) -> String {
    let more = items.len().saturating_sub(NAMES);
    let shown = items.iter().take(NAMES).map(ToString::to_string);
    list(shown.chain((more > 0).then(|| format!("{more} more"))))
}

/// Longer lists are cut.
pub(crate) const SHOWN: usize = 4;

/// `a; b`, or the first four and how many more there are.
pub(crate) fn shortened(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(SHOWN);
    let mut text = items.take(SHOWN).collect::<Vec<_>>().join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// `CPU 3` or `CPUs 3-5`.
pub(crate) fn cpus(cpus: &CpuSet) -> String {
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {cpus}")
}

/// `is` or `are`, of CPUs.
pub(crate) fn are(cpus: &CpuSet) -> &'static str {
    if cpus.len() == 1 { "is" } else { "are" }
}

/// Two amounts of bytes, so that a person sees which is larger: `94.49Gi` and `94.51Gi`.
pub(crate) fn apart(amounts: [u64; 2]) -> [String; 2] {
    Amount::told_apart(amounts.map(Amount::Bytes)).map(|text| {
        let is_bare = text.bytes().all(|byte| byte.is_ascii_digit());
        if is_bare { format!("{text} bytes") } else { text }
    })
}

/// By how much an amount is less or more than one that is written, where both are there: ` (16Mi less)`.
pub(crate) fn difference(actual: u64, stored: u64) -> String {
    if actual == 0 || stored == 0 {
        return String::new();
    }
    let [difference, _] = apart([actual.abs_diff(stored), actual]);
    let word = if actual < stored { "less" } else { "more" };
    format!(" ({difference} {word})")
}

/// Bytes, exactly: `4Gi`, `1536Mi` or `1000 bytes`.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        _ if bytes == 0 => "0 bytes".to_owned(),
        30.. => format!("{}Gi", bytes >> 30),
        20.. => format!("{}Mi", bytes >> 20),
        _ => format!("{bytes} bytes"),
    }
}

/// `4Gi of memory on NUMA 0 and 1`.
pub(crate) fn block(block: &StoredBlock) -> String {
    let StoredBlock { nodes, resource, size } = block;
    let nodes = list(nodes.iter().map(ToString::to_string));
    format!("{} of {resource} on NUMA {nodes}", bytes(*size))
}

/// `vendor.com/gpu 0 and vendor.com/gpu 1`.
pub(crate) fn devices(devices: &BTreeSet<(ResourceName, DeviceId)>) -> String {
    list(devices.iter().map(|(resource, id)| format!("{resource} {id}")))
}
