//! A proposal as settings of Bottlerocket, in TOML.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde_json::Value;

use crate::changes::Change;

/// `[settings.kubernetes]` with the changed fields; those that no setting makes are named in a comment.
#[must_use]
pub fn settings(changes: &[Change]) -> String {
    let (mut plain, mut tables, mut others) = (String::new(), String::new(), Vec::new());
    for change in changes {
        let (field, to) = (change.field.as_str(), change.to.as_ref());
        match (field, to) {
            // They go with listed CPUs.
            ("kubeReservedCgroup" | "systemReservedCgroup", _) => {}
            ("cpuManagerPolicyOptions", options) => {
                let names = options.and_then(Value::as_object).into_iter().flatten();
                let on: Vec<_> = names
                    .filter(|(_, value)| *value == "true")
                    .map(|(name, _)| format!("{name:?}"))
                    .collect();
                let _ = writeln!(plain, "cpu-manager-policy-options = [{}]", on.join(", "));
            }
            ("reservedMemory", Some(Value::Array(nodes))) => {
                for node in nodes {
                    let id = node.get("numaNode").unwrap_or(&Value::Null);
                    let _ = writeln!(
                        tables,
                        "[settings.kubernetes.memory-manager-reserved-memory.{id}]\nenabled = true"
                    );
                    entries(&mut tables, node.get("limits"));
                }
            }
            (field, Some(Value::String(text))) if setting(field).is_some() => {
                let _ = writeln!(plain, "{} = {text:?}", setting(field).unwrap_or_default());
            }
            (field, Some(Value::Number(number))) if setting(field).is_some() => {
                let _ = writeln!(plain, "{} = {number}", setting(field).unwrap_or_default());
            }
            (field, Some(map @ Value::Object(_))) if setting(field).is_some() => {
                let _ = writeln!(tables, "[settings.kubernetes.{}]", setting(field).unwrap_or_default());
                entries(&mut tables, Some(map));
            }
            (field, _) => others.push(field),
        }
    }
    let mut text = format!("[settings.kubernetes]\n{plain}{tables}");
    if !others.is_empty() {
        let _ = writeln!(text, "# leave out, or set by kubelet-extra-config: {}", others.join(", "));
    }
    text
}

fn entries(to: &mut String, map: Option<&Value>) {
    for (key, value) in map.and_then(Value::as_object).into_iter().flatten() {
        let key = if key.contains('.') { format!("{key:?}") } else { key.clone() };
        let _ = writeln!(to, "{key} = {value}");
    }
}

/// The setting that makes a field of a `KubeletConfiguration`; the flags of a kubelet are called alike. `None`: none does.
#[must_use]
pub fn setting(field: &str) -> Option<&'static str> {
    Some(match field {
        "cpuManagerPolicy" => "cpu-manager-policy",
        "cpuManagerReconcilePeriod" => "cpu-manager-reconcile-period",
        "evictionHard" => "eviction-hard",
        "kubeReserved" => "kube-reserved",
        "maxPods" => "max-pods",
        "memoryManagerPolicy" => "memory-manager-policy",
        "reservedSystemCPUs" => "reserved-cpus",
        "systemReserved" => "system-reserved",
        "topologyManagerPolicy" => "topology-manager-policy",
        "topologyManagerPolicyOptions" => "topology-manager-policy-options",
        "topologyManagerScope" => "topology-manager-scope",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_become_settings() {
        let change = |field: &str, to: Value| Change {
            field: field.into(),
            from: None,
            to: Some(to).filter(|value| *value != Value::Null),
        };
        let text = settings(&[
            change("cpuManagerPolicyOptions", json!({"full-pcpus-only": "true"})),
            change("kubeReservedCgroup", Value::Null),
            change("podsPerCore", Value::Null),
            change("reservedMemory", json!([{"limits": {"memory": "1Gi"}, "numaNode": 0}])),
            change("topologyManagerPolicy", json!("restricted")),
            change("evictionHard", json!({"memory.available": "100Mi"})),
        ]);
        let expected = "[settings.kubernetes]\ncpu-manager-policy-options = [\"full-pcpus-only\"]\n\
            topology-manager-policy = \"restricted\"\n\
            [settings.kubernetes.memory-manager-reserved-memory.0]\nenabled = true\nmemory = \"1Gi\"\n\
            [settings.kubernetes.eviction-hard]\n\"memory.available\" = \"100Mi\"\n\
            # leave out, or set by kubelet-extra-config: podsPerCore\n";
        assert_eq!(text, expected);
    }
}
