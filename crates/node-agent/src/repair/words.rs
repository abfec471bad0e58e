//! Lists in words.

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// `CPU 3` or `CPUs 3-5`.
pub(super) fn cpus(cpus: &cpuset::CpuSet) -> String {
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {cpus}")
}
