//! Bottlerocket's settings: the kubelet's configuration that the node makes of them when it boots.
//!
//! They are TOML in user data (`[settings.kubernetes]`) and JSON as `apiclient get settings.kubernetes` prints them. What
//! they leave out is worked out as on Amazon EKS: `kubeReserved` by the number of CPUs and of pods.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct UserData {
    settings: Settings,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    kubernetes: Kubernetes,
}

/// Those that a kubelet decides by; each goes into the configuration as it is.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct Kubernetes {
    cpu_manager_policy: Option<String>,
    cpu_manager_policy_options: Vec<String>,
    cpu_manager_reconcile_period: Option<String>,
    topology_manager_policy: Option<String>,
    topology_manager_scope: Option<String>,
    memory_manager_policy: Option<String>,
    /// By NUMA node.
    memory_manager_reserved_memory: BTreeMap<String, NodeMemory>,
    kube_reserved: BTreeMap<String, String>,
    system_reserved: BTreeMap<String, String>,
    eviction_hard: BTreeMap<String, String>,
    max_pods: Option<u32>,
}

#[derive(Deserialize)]
struct NodeMemory {
    #[serde(default)]
    enabled: bool,
    #[serde(flatten)]
    limits: BTreeMap<String, String>,
}

/// Whether a text is such settings, and no configuration in YAML or JSON.
pub(crate) fn is_one(text: &str) -> bool {
    toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("settings"))
        || serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|map| map.contains_key("settings"))
}

/// The `KubeletConfiguration` as JSON that a node with so many CPUs makes of settings.
///
/// # Errors
/// A setting is of another type than Bottlerocket takes.
pub(crate) fn configuration(name: &str, text: &str, cpus: usize) -> anyhow::Result<String> {
    let failed = || format!("failed to read {name} as settings of Bottlerocket");
    let read: UserData = match toml::from_str::<toml::Table>(text) {
        Ok(_) => toml::from_str(text).with_context(failed)?,
        Err(_) => serde_json::from_str(text).with_context(failed)?,
    };
    let settings = read.settings.kubernetes;
    let mut fields = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupRoot": "/",
        "kubeReservedCgroup": "/runtime",
        "staticPodPath": "/etc/kubernetes/static-pods/",
        "cpuManagerPolicy": settings.cpu_manager_policy.as_deref().unwrap_or("none"),
        "maxPods": settings.max_pods.unwrap_or(110),
        "kubeReserved": kube_reserved(&settings, cpus),
    });
    let mut set = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields[field] = value;
        }
    };
    let map = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| json!(map));
    set("cpuManagerReconcilePeriod", settings.cpu_manager_reconcile_period.map(Value::from));
    let options =
        settings.cpu_manager_policy_options.iter().map(|option| (option.clone(), "true".to_owned()));
    set("cpuManagerPolicyOptions", map(&options.collect()));
    set("topologyManagerPolicy", settings.topology_manager_policy.map(Value::from));
    set("topologyManagerScope", settings.topology_manager_scope.map(Value::from));
    set("systemReserved", map(&settings.system_reserved));
    set("systemReservedCgroup", map(&settings.system_reserved).map(|_| "/system".into()));
    set("evictionHard", map(&settings.eviction_hard));
    let reserved: Vec<Value> = settings
        .memory_manager_reserved_memory
        .iter()
        .filter(|(_, memory)| memory.enabled)
        .map(|(node, memory)| {
            let node = node.parse::<u32>().with_context(|| {
                format!("memory-manager-reserved-memory: {node:?} is no NUMA node, which has a number")
            })?;
            anyhow::Ok(json!({"numaNode": node, "limits": memory.limits}))
        })
        .collect::<Result<_, _>>()
        .with_context(failed)?;
    if !reserved.is_empty() {
        set("reservedMemory", Some(reserved.into()));
        // The policy is written only where something is reserved for it.
        set("memoryManagerPolicy", settings.memory_manager_policy.map(Value::from));
    }
    Ok(fields.to_string())
}

/// What is reserved for the kubelet: the settings, else 60m of the first CPU, 10m of the second, 5m of each of the next two
/// and 2.5m of each further one; 255Mi and 11Mi for each pod where the number of pods is set; 1Gi of storage.
fn kube_reserved(settings: &Kubernetes, cpus: usize) -> BTreeMap<String, String> {
    let mut reserved = settings.kube_reserved.clone();
    let of_cpus = match cpus {
        0 => 0,
        1 => 60,
        2 => 70,
        3 => 75,
        more => 80 + (more - 4) * 5 / 2,
    };
    reserved.entry("cpu".to_owned()).or_insert_with(|| format!("{of_cpus}m"));
    if let Some(pods) = settings.max_pods {
        reserved.entry("memory".to_owned()).or_insert_with(|| format!("{}Mi", 255 + 11 * u64::from(pods)));
    }
    reserved.entry("ephemeral-storage".to_owned()).or_insert_with(|| "1Gi".to_owned());
    reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, cpus: usize, field: &str, expected: &Value) {
        assert!(is_one(text), "{text}");
        let made =
            configuration("user-data.toml", text, cpus).map(|text| serde_json::from_str::<Value>(&text));
        let Ok(Ok(made)) = made else { panic!("{made:?}") };
        assert_eq!(&made[field], expected, "{text}");
    }

    #[test]
    fn settings_become_fields() {
        let text = "[settings.kubernetes]\ncpu-manager-policy = \"static\"\n\
                    cpu-manager-policy-options = [\"full-pcpus-only\"]\nmax-pods = 58\n\
                    memory-manager-policy = \"Static\"\ntopology-manager-policy = \"restricted\"\n\
                    [settings.kubernetes.memory-manager-reserved-memory.0]\nenabled = true\nmemory = \"1Gi\"\n\
                    [settings.kubernetes.memory-manager-reserved-memory.1]\nenabled = false\nmemory = \"2Gi\"\n";
        check(text, 96, "cpuManagerPolicy", &json!("static"));
        check(text, 96, "cpuManagerPolicyOptions", &json!({"full-pcpus-only": "true"}));
        check(text, 96, "memoryManagerPolicy", &json!("Static"));
        check(text, 96, "reservedMemory", &json!([{"numaNode": 0, "limits": {"memory": "1Gi"}}]));
        let reserved = json!({"cpu": "310m", "memory": "893Mi", "ephemeral-storage": "1Gi"});
        check(text, 96, "kubeReserved", &reserved);
    }

    #[test]
    fn what_is_left_out_is_worked_out() {
        for (cpus, reserved) in [(1, "60m"), (2, "70m"), (3, "75m"), (4, "80m"), (5, "82m"), (512, "1350m")] {
            let expected = json!({"cpu": reserved, "ephemeral-storage": "1Gi"});
            check("[settings.kubernetes]\n", cpus, "kubeReserved", &expected);
        }
        let printed = r#"{"settings": {"kubernetes": {"kube-reserved": {"cpu": "1", "memory": "1Gi"}}}}"#;
        let expected = json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"});
        check(printed, 96, "kubeReserved", &expected);
        check(printed, 96, "memoryManagerPolicy", &Value::Null);
    }

    #[test]
    fn others_are_not_taken_for_settings() {
        for text in [
            "kind: KubeletConfiguration",
            "{\"kind\": \"KubeletConfiguration\"}",
            "[package]\nname = \"a\"\n",
            "",
        ] {
            assert!(!is_one(text), "{text}");
        }
        let wrong = "[settings.kubernetes]\nmax-pods = \"many\"\n";
        let error = configuration("user-data.toml", wrong, 4).map_err(|error| format!("{error:#}"));
        assert!(
            error.as_ref().is_err_and(|error| error.contains("user-data.toml") && error.contains("max-pods")),
            "{error:?}"
        );
    }
}
