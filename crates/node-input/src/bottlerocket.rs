//! Bottlerocket's settings: the kubelet's configuration that the node makes of them when it boots.
//!
//! They are TOML in user data (`[settings.kubernetes]`) and JSON as `apiclient get settings.kubernetes` prints them. What
//! they leave out is worked out as on Amazon EKS: `kubeReserved` by the number of CPUs and of pods. Cgroups for what is
//! reserved are set unless CPUs are listed, which the kubelet does not take beside them.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use topology_manifest::{Problem, Source, Warning};

use distribution_config::{memory_for_pods, milli_cpus_of_kubelet};

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
    topology_manager_policy_options: BTreeMap<String, Value>,
    reserved_cpus: Option<String>,
    memory_manager_policy: Option<String>,
    /// By NUMA node.
    memory_manager_reserved_memory: BTreeMap<String, NodeMemory>,
    kube_reserved: BTreeMap<String, String>,
    system_reserved: BTreeMap<String, String>,
    eviction_hard: BTreeMap<String, String>,
    max_pods: Option<u32>,
    static_pods_enabled: Option<bool>,
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
    if settings.static_pods_enabled != Some(false) {
        set("staticPodPath", Some("/etc/kubernetes/static-pods/".into()));
    }
    set("systemReserved", map(&settings.system_reserved));
    if settings.reserved_cpus.is_none() {
        set("kubeReservedCgroup", Some("/runtime".into()));
        set("systemReservedCgroup", map(&settings.system_reserved).map(|_| "/system".into()));
    }
    set("reservedSystemCPUs", settings.reserved_cpus.map(Value::from));
    // Booleans and numbers are written with quotes or without.
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let options = settings.topology_manager_policy_options.iter();
    let options = options.map(|(option, value)| (option.clone(), text(value)));
    set("topologyManagerPolicyOptions", map(&options.collect()));
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

/// The settings in a text that have no effect, each as a warning: those that Bottlerocket does not have, and a policy that it
/// does not write.
pub(crate) fn without_effect(source: &Source<'_>) -> Vec<Warning> {
    let text = source.text;
    let table: Option<toml::Table> =
        toml::from_str(text).ok().or_else(|| serde_json::from_str::<toml::Table>(text).ok());
    let all = table.as_ref().and_then(|table| table.get("settings")?.as_table());
    let settings = all.and_then(|all| all.get("kubernetes")?.as_table());
    let keys = settings.into_iter().flat_map(toml::Table::keys);
    let unknown = keys.filter(|key| !SETTINGS.contains(&key.as_str()));
    let unknown = unknown.map(|key| Warning::of_key(source, &place(text, key), SETTINGS, EXPECTED));
    // There are many more tables, of which a misspelt one is the kubelet's.
    let tables =
        [table.as_ref().map(|table| (table, &["settings"][..])), all.map(|all| (all, &["kubernetes"][..]))];
    let misspelt = tables.into_iter().flatten().flat_map(|(table, known)| {
        let others = table.keys().filter(move |key| !known.contains(&key.as_str()));
        others.filter_map(move |key| {
            let warning = Warning::of_key(source, &place(text, key), known, EXPECTED);
            matches!(warning.as_error().problem(), Problem::MisspeltField { .. }).then_some(warning)
        })
    });
    unknown.chain(misspelt).chain(settings.and_then(|settings| unwritten_policy(source, settings))).collect()
}

/// A policy of the memory manager beside which no NUMA node reserves memory: it is not written.
fn unwritten_policy(source: &Source<'_>, settings: &toml::Table) -> Option<Warning> {
    const POLICY: &str = "memory-manager-policy";
    let policy = settings.get(POLICY)?.as_str().filter(|policy| *policy != "None")?;
    let reserved = settings.get("memory-manager-reserved-memory").and_then(toml::Value::as_table);
    let is_enabled = |node: &toml::Value| node.get("enabled").and_then(toml::Value::as_bool) == Some(true);
    if reserved.is_some_and(|nodes| nodes.values().any(is_enabled)) {
        return None;
    }
    let what = format!("{POLICY} {policy} is not written into the kubelet's configuration");
    let expected = "memory-manager-reserved-memory with enabled = true for at least one NUMA node beside it";
    Some(Warning::useless(source, &place(source.text, POLICY), what, expected))
}

const EXPECTED: &str = "a setting of Bottlerocket below settings.kubernetes; this one has no effect";

/// Where a text has this key, comments aside.
fn place(text: &str, key: &str) -> Range<usize> {
    let is_in_word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let bytes = text.as_bytes();
    let is_key = |at: &usize| {
        let line = text.get(..*at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !line.contains('#') && !is_in_word(before) && !is_in_word(bytes.get(at + key.len()))
    };
    let at = text.match_indices(key).map(|(at, _)| at).find(is_key).unwrap_or_default();
    at..at + key.len()
}

/// What Bottlerocket has below `settings.kubernetes`.
const SETTINGS: &[&str] = &[
    "allowed-unsafe-sysctls",
    "api-server",
    "authentication-mode",
    "bootstrap-token",
    "cloud-provider",
    "cluster-certificate",
    "cluster-dns-ip",
    "cluster-domain",
    "cluster-name",
    "container-log-max-files",
    "container-log-max-size",
    "container-log-max-workers",
    "container-log-monitor-interval",
    "cpu-cfs-quota-enforced",
    "cpu-manager-policy",
    "cpu-manager-policy-options",
    "cpu-manager-reconcile-period",
    "credential-providers",
    "device-ownership-from-security-context",
    "event-burst",
    "event-qps",
    "eviction-hard",
    "eviction-max-pod-grace-period",
    "eviction-soft",
    "eviction-soft-grace-period",
    "fail-cgroup-v1",
    "fail-cgroupv1",
    "hostname-override",
    "hostname-override-source",
    "ids-per-pod",
    "image-gc-high-threshold-percent",
    "image-gc-low-threshold-percent",
    "image-maximum-gc-age",
    "image-minimum-gc-age",
    "kube-api-burst",
    "kube-api-qps",
    "kube-reserved",
    "kubelet-extra-config",
    "log-level",
    "max-parallel-image-pulls",
    "max-pods",
    "memory-manager-policy",
    "memory-manager-reserved-memory",
    "memory-swap-behavior",
    "node-ip",
    "node-labels",
    "node-taints",
    "pod-infra-container-image",
    "pod-pids-limit",
    "provider-id",
    "registry-burst",
    "registry-qps",
    "reserved-cpus",
    "seccomp-default",
    "server-certificate",
    "server-key",
    "server-tls-bootstrap",
    "shutdown-grace-period",
    "shutdown-grace-period-for-critical-pods",
    "single-process-oom-kill",
    "standalone-mode",
    "static-pods",
    "static-pods-enabled",
    "system-reserved",
    "topology-manager-policy",
    "topology-manager-policy-options",
    "topology-manager-scope",
];

/// What is reserved for the kubelet: the settings, else what Amazon does of CPUs, and of memory where the number of pods
/// is set; 1Gi of storage.
fn kube_reserved(settings: &Kubernetes, cpus: usize) -> BTreeMap<String, String> {
    let mut reserved = settings.kube_reserved.clone();
    reserved.entry("cpu".to_owned()).or_insert_with(|| format!("{}m", milli_cpus_of_kubelet(cpus)));
    if let Some(pods) = settings.max_pods {
        let memory = memory_for_pods(pods.into());
        reserved.entry("memory".to_owned()).or_insert_with(|| format!("{memory}Mi"));
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
    fn options_of_the_topology_manager_and_listed_cpus_are_read() {
        let text = "[settings.kubernetes]\nreserved-cpus = \"0-1\"\n\
                    [settings.kubernetes.topology-manager-policy-options]\n\
                    prefer-closest-numa-nodes = true\nmax-allowable-numa-nodes = \"34\"\n";
        let options = json!({"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "34"});
        check(text, 96, "topologyManagerPolicyOptions", &options);
        check(text, 96, "reservedSystemCPUs", &json!("0-1"));
        check(text, 96, "kubeReservedCgroup", &Value::Null);
        check("[settings.kubernetes]\n", 96, "kubeReservedCgroup", &json!("/runtime"));
        let path = json!("/etc/kubernetes/static-pods/");
        check("[settings.kubernetes]\n", 96, "staticPodPath", &path);
        check("[settings.kubernetes]\nstatic-pods-enabled = false\n", 96, "staticPodPath", &Value::Null);
    }

    #[test]
    fn settings_that_there_are_not_are_told_with_their_place() {
        let text = "# topology-manager-polcy\n[settings.kubernetes]\ntopology-manager-polcy = \"none\"\n\
                    max-pods = 110\nno-such-thing = 1\n";
        let found = without_effect(&Source { name: "user-data.toml", text });
        let found: Vec<_> =
            found.iter().map(Warning::as_error).map(|own| (own.line(), own.problem().to_string())).collect();
        let expected = [
            (5, "there is no field \"no-such-thing\"".to_owned()),
            (3, "there is no field \"topology-manager-polcy\"".to_owned()),
        ];
        assert_eq!(found, expected);
        assert!(
            without_effect(&Source { name: "a", text: "[settings.kubernetes]\nnode-ip = \"::1\"" })
                .is_empty()
        );
        for misspelt in
            ["[settings.kubernete]\nmax-pods = 3\n", "[settings]\n[setings.kubernetes]\nmax-pods = 3\n"]
        {
            assert_eq!(without_effect(&Source { name: "a", text: misspelt }).len(), 1, "{misspelt}");
        }
        assert!(
            without_effect(&Source { name: "a", text: "[settings.kernel]\nlockdown = \"none\"" }).is_empty()
        );
        let reserved = "memory-manager-reserved-memory.0 = {enabled = true, memory = \"1Gi\"}\n";
        for (more, expected) in [("", 1), (reserved, 0)] {
            let text = format!("[settings.kubernetes]\nmemory-manager-policy = \"Static\"\n{more}");
            assert_eq!(without_effect(&Source { name: "a", text: &text }).len(), expected, "{text}");
        }
        let json = r#"{"settings": {"kubernetes": {"max-pod": 3}}}"#;
        assert_eq!(without_effect(&Source { name: "a", text: json }).len(), 1);
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
