//! A proposal as flags of the kubelet.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use crate::changes::Change;
use crate::settings::setting;

/// The changed fields as flags, one a line; those that are to be left out, and fields that no flag sets, are named in a comment.
///
/// The values of a flag with a map or a list replace those of files as a whole.
#[must_use]
pub fn kubelet_flags(changes: &[Change]) -> String {
    let (mut lines, mut left_out, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for Change { field, to, .. } in changes {
        let Some(name) = flag_of(field) else {
            others.push(field.as_str());
            continue;
        };
        match to {
            None => left_out.push(format!("--{name}")),
            Some(value) => {
                lines.extend(values(name, value).into_iter().map(|value| format!("--{name}={value}")));
            }
        }
    }
    let comment = |what: &str, of: &[String]| format!("# {what}: {}", of.join(", "));
    if !left_out.is_empty() {
        lines.push(comment("leave out", &left_out));
    }
    if !others.is_empty() {
        let others: Vec<String> = others.into_iter().map(String::from).collect();
        lines.push(comment("no flag sets", &others));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The values of a flag: several where it takes one entry at a time.
fn values(name: &str, value: &Value) -> Vec<String> {
    let separator = if name == "eviction-hard" { '<' } else { '=' };
    let pair = |(key, value): (&String, &Value)| format!("{key}{separator}{}", plain(value));
    match value {
        Value::Object(entries) if name == "cpu-manager-policy-options" => entries.iter().map(pair).collect(),
        Value::Object(entries) => [quoted(&entries.iter().map(pair).collect::<Vec<_>>().join(","))].into(),
        Value::Array(nodes) if name == "reserved-memory" => nodes.iter().map(reserved_on).collect(),
        Value::Array(items) => [items.iter().map(plain).collect::<Vec<_>>().join(",")].into(),
        other => [plain(other)].into(),
    }
}

/// Memory that is reserved on a NUMA node: `0:memory=1Gi`.
fn reserved_on(node: &Value) -> String {
    let limits = node.get("limits").and_then(Value::as_object).into_iter().flatten();
    let limits: Vec<String> = limits.map(|(name, amount)| format!("{name}={}", plain(amount))).collect();
    format!("{}:{}", node.get("numaNode").map(ToString::to_string).unwrap_or_default(), limits.join(","))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// A shell reads `<` as something else.
fn quoted(text: &str) -> String {
    if text.contains('<') { format!("'{text}'") } else { text.into() }
}

/// The flag that sets a field of a `KubeletConfiguration`, without dashes; `None`: none does.
#[must_use]
pub fn flag_of(field: &str) -> Option<&'static str> {
    setting(field).or(match field {
        "reservedMemory" => Some("reserved-memory"),
        "cpuManagerPolicyOptions" => Some("cpu-manager-policy-options"),
        "kubeReservedCgroup" => Some("kube-reserved-cgroup"),
        "systemReservedCgroup" => Some("system-reserved-cgroup"),
        "enforceNodeAllocatable" => Some("enforce-node-allocatable"),
        "featureGates" => Some("feature-gates"),
        "cgroupsPerQOS" => Some("cgroups-per-qos"),
        "podsPerCore" => Some("pods-per-core"),
        "systemCgroups" => Some("system-cgroups"),
        "cgroupRoot" => Some("cgroup-root"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use node_config::{KubeletConfiguration, KubeletFlags};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kubelet_reads_the_flags_as_the_fields() {
        let change = |field: &str, to: Value| Change {
            field: field.into(),
            from: None,
            to: Some(to).filter(|value| *value != Value::Null),
        };
        let text = kubelet_flags(&[
            change("cpuManagerPolicyOptions", json!({"full-pcpus-only": "true", "align-by-socket": "true"})),
            change("reservedSystemCPUs", json!("0-1")),
            change("evictionHard", json!({"memory.available": "1Gi", "nodefs.available": "10%"})),
            change("reservedMemory", json!([{"numaNode": 0, "limits": {"memory": "1Gi"}}])),
            change("kubeReserved", json!({"cpu": "1", "memory": "1Gi"})),
            change("maxPods", json!(20)),
            change("topologyManagerScope", Value::Null),
            change("memoryThrottlingFactor", json!(0.9)),
        ]);
        let (flags, comments): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("--"));
        assert_eq!(
            comments,
            ["# leave out: --topology-manager-scope", "# no flag sets: memoryThrottlingFactor"]
        );
        let flags: Vec<String> = flags.iter().map(|flag| flag.replace('\'', "")).collect();
        let flags = KubeletFlags::parse(flags.iter().map(String::as_str));
        let read = flags.and_then(|flags| flags.over(KubeletConfiguration::default()));
        let Ok(read) = read else { panic!("{read:?}") };
        assert_eq!((read.reserved_cpus(), read.max_pods), ("0-1", Some(20)));
        assert_eq!(read.cpu_manager_policy_options.len(), 2);
        assert_eq!(read.eviction_hard.map(|evictions| evictions.len()), Some(2));
        assert_eq!((read.reserved_memory.len(), read.kube_reserved.len()), (1, 2));
    }
}
