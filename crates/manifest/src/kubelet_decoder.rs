//! The fields of a `KubeletConfiguration`, as the kubelet's own decoder reads them.
//!
//! The decoder's quirks are kept: values of string maps must be strings, field names are case-sensitive, unknown
//! and repeated fields only warn (the last one counts), and an empty string is an absent field.

use std::collections::BTreeMap;

use node_config::{
    Duration, KubeletConfiguration, NodeReporting, PodSysctls, RegisteredTaint, ReservedMemory, Rules,
};

use crate::kubelet_fields::{IGNORED, POD_SYSCTLS, READ};
use crate::node::{Field, MapEntry, Value};
use crate::quantity::any_resources;
use crate::warning::{Warning, unknown_fields};
use crate::{ManifestError, Problem};

/// The fields of a configuration.
pub(crate) fn decoded(
    body: Field<'_>,
    rules: Rules,
    warnings: &mut Vec<Warning>,
) -> Result<KubeletConfiguration, ManifestError> {
    let by_release: &[&str] = match rules.pod_sysctls {
        PodSysctls::Unknown => &[],
        PodSysctls::Gated => &[POD_SYSCTLS],
    };
    for entry in body.entries()? {
        // A taint may well have words in capitals.
        if READ.contains(&entry.key) && entry.key != "registerWithTaints" {
            filled_in(&entry.value)?;
        }
    }
    let known = [READ, IGNORED, by_release].concat();
    unknown_fields(&body, &known, OF_CONFIGURATION, warnings)?;
    Decoder { body, rules, warnings }.decode()
}

/// Refuses a value that is to be filled in first.
fn filled_in(field: &Field<'_>) -> Result<(), ManifestError> {
    match &field.node.value {
        Value::Text(_) => {
            let open = field.unexpected("a value");
            if open.problem().is_open() { Err(open) } else { Ok(()) }
        }
        Value::List(_) => field.items()?.iter().try_for_each(filled_in),
        Value::Map(_) => field.entries()?.iter().try_for_each(|entry| filled_in(&entry.value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

const OF_CONFIGURATION: &str = "a field of KubeletConfiguration; this one has no effect";

struct Decoder<'a, 'w> {
    body: Field<'a>,
    rules: Rules,
    warnings: &'w mut Vec<Warning>,
}

impl Decoder<'_, '_> {
    fn decode(mut self) -> Result<KubeletConfiguration, ManifestError> {
        Ok(KubeletConfiguration {
            rules: self.rules,
            cpu_manager_policy: self.text("cpuManagerPolicy")?,
            cpu_manager_policy_options: self.strings("cpuManagerPolicyOptions")?.unwrap_or_default(),
            cpu_manager_reconcile_period: self.duration("cpuManagerReconcilePeriod")?,
            memory_manager_policy: self.text("memoryManagerPolicy")?,
            reserved_memory: self.reserved_memory()?,
            topology_manager_policy: self.text("topologyManagerPolicy")?,
            topology_manager_scope: self.text("topologyManagerScope")?,
            topology_manager_policy_options: self
                .strings("topologyManagerPolicyOptions")?
                .unwrap_or_default(),
            kube_reserved: self.strings("kubeReserved")?.unwrap_or_default(),
            system_reserved: self.strings("systemReserved")?.unwrap_or_default(),
            reserved_system_cpus: self.text("reservedSystemCPUs")?,
            eviction_hard: self.strings("evictionHard")?,
            merge_default_eviction_settings: self.boolean("mergeDefaultEvictionSettings")?,
            enforce_node_allocatable: self.list("enforceNodeAllocatable")?,
            system_reserved_cgroup: self.text_or_empty("systemReservedCgroup")?,
            kube_reserved_cgroup: self.text_or_empty("kubeReservedCgroup")?,
            system_cgroups: self.text("systemCgroups")?,
            cgroup_root: self.text("cgroupRoot")?,
            cgroups_per_qos: self.boolean("cgroupsPerQOS")?,
            max_pods: self.integer("maxPods")?,
            pods_per_core: self.integer("podsPerCore")?,
            memory_throttling_factor: self.number("memoryThrottlingFactor")?,
            default_pod_sysctls: match self.rules.pod_sysctls {
                PodSysctls::Unknown => BTreeMap::new(),
                PodSysctls::Gated => self.strings(POD_SYSCTLS)?.unwrap_or_default(),
            },
            feature_gates: self.gates()?,
            reporting: NodeReporting {
                register_with_taints: self.taints()?,
                node_status_update_frequency: self.duration("nodeStatusUpdateFrequency")?,
                node_status_report_frequency: self.duration("nodeStatusReportFrequency")?,
                node_lease_duration_seconds: self.integer("nodeLeaseDurationSeconds")?,
            },
        })
    }

    fn text(&self, name: &str) -> Result<Option<String>, ManifestError> {
        Ok(self.text_or_empty(name)?.filter(|text| !text.is_empty()))
    }

    /// The same of a field in which an empty text takes away what a distribution sets.
    fn text_or_empty(&self, name: &str) -> Result<Option<String>, ManifestError> {
        self.body.get(name)?.map(|field| string(&field, name)).transpose()
    }

    fn duration(&self, name: &str) -> Result<Option<Duration>, ManifestError> {
        const EXPECTED: &str = "a duration such as 10s or 1m30s";
        let Some(field) = self.body.get(name)? else {
            // Go takes `null` for an empty text, which is no duration.
            let found = Problem::Unexpected { found: "nothing".to_owned(), expected: EXPECTED };
            let null = self.body.node.value.get(name);
            return null.map_or(Ok(None), |null| Err(self.body.fail_at(&null.span, found)));
        };
        let text = string(&field, name)?;
        let parsed =
            text.parse().map_err(|_| field.fail(Problem::Unexpected { found: text, expected: EXPECTED }));
        parsed.map(Some)
    }

    fn strings(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, ManifestError> {
        let Some(field) = self.body.get(name)? else { return Ok(None) };
        let entries = mapping(&field, name, "map[string]string")?;
        let strings =
            entries.into_iter().map(|entry| Ok((entry.key.to_owned(), string(&entry.value, name)?)));
        strings.collect::<Result<_, _>>().map(Some)
    }

    fn list(&self, name: &str) -> Result<Option<Vec<String>>, ManifestError> {
        let Some(field) = self.body.get(name)? else { return Ok(None) };
        let items = members(&field, name, "[]string")?;
        items.iter().map(|item| string(item, name)).collect::<Result<_, _>>().map(Some)
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, ManifestError> {
        self.body.get(name)?.map(|field| boolean(&field, name)).transpose()
    }

    fn integer(&self, name: &str) -> Result<Option<i32>, ManifestError> {
        self.body.get(name)?.map(|field| integer(&field, name)).transpose()
    }

    fn number(&self, name: &str) -> Result<Option<f64>, ManifestError> {
        let Some(field) = self.body.get(name)?.filter(|field| !field.is_null()) else { return Ok(None) };
        let number = match &field.node.value {
            Value::Number(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        };
        number.map(Some).ok_or_else(|| wrong_type(&field, name, FLOAT64))
    }

    fn gates(&self) -> Result<BTreeMap<String, bool>, ManifestError> {
        const NAME: &str = "featureGates";
        let Some(field) = self.body.get(NAME)? else { return Ok(BTreeMap::new()) };
        let entries = mapping(&field, NAME, "map[string]bool")?;
        entries.into_iter().map(|entry| Ok((entry.key.to_owned(), boolean(&entry.value, NAME)?))).collect()
    }

    fn taints(&mut self) -> Result<Vec<RegisteredTaint>, ManifestError> {
        const NAME: &str = "registerWithTaints";
        let Some(field) = self.body.get(NAME)? else { return Ok(Vec::new()) };
        let mut taints = Vec::new();
        for item in members(&field, NAME, "[]v1.Taint")? {
            mapping(&item, NAME, "v1.Taint")?;
            unknown_fields(&item, &["key", "value", "effect", "timeAdded"], OF_CONFIGURATION, self.warnings)?;
            let text = |name: &str| item.get(name)?.map(|field| string(&field, NAME)).transpose();
            taints.push(RegisteredTaint {
                key: text("key")?.unwrap_or_default(),
                value: text("value")?.unwrap_or_default(),
                effect: text("effect")?.unwrap_or_default(),
            });
        }
        Ok(taints)
    }

    fn reserved_memory(&mut self) -> Result<Vec<ReservedMemory>, ManifestError> {
        const NAME: &str = "reservedMemory";
        let Some(field) = self.body.get(NAME)? else { return Ok(Vec::new()) };
        let mut reserved = Vec::new();
        for item in members(&field, NAME, "[]v1beta1.MemoryReservation")? {
            mapping(&item, NAME, "v1beta1.MemoryReservation")?;
            unknown_fields(&item, &["numaNode", "limits"], OF_CONFIGURATION, self.warnings)?;
            let node =
                item.get("numaNode")?.map(|node| integer(&node, "reservedMemory.numaNode")).transpose()?;
            let limits = item.get("limits")?.map(|limits| any_resources(&limits)).transpose()?;
            reserved.push(ReservedMemory {
                numa_node: node.unwrap_or_default(),
                limits: limits
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, amount)| (name.to_string(), amount))
                    .collect(),
            });
        }
        Ok(reserved)
    }
}

fn wrong_type(field: &Field<'_>, name: &str, wanted: &'static str) -> ManifestError {
    let found = match &field.node.value {
        // Go names the number where it would take another one.
        Value::Number(text) if matches!(wanted, INT32 | FLOAT64) => format!("number {text}"),
        other => other.json_type().to_owned(),
    };
    field.fail(Problem::Decode { found, field: format!("KubeletConfiguration.{name}"), wanted })
}

const INT32: &str = "int32";
const FLOAT64: &str = "float64";

/// Go leaves a string empty where JSON has `null`.
fn string(field: &Field<'_>, name: &str) -> Result<String, ManifestError> {
    match &field.node.value {
        Value::Null => Ok(String::new()),
        Value::Text(text) => Ok(text.clone()),
        _ => Err(wrong_type(field, name, "string")),
    }
}

fn boolean(field: &Field<'_>, name: &str) -> Result<bool, ManifestError> {
    match field.node.value {
        Value::Null => Ok(false),
        Value::Bool(value) => Ok(value),
        _ => Err(wrong_type(field, name, "bool")),
    }
}

fn integer(field: &Field<'_>, name: &str) -> Result<i32, ManifestError> {
    let number = match &field.node.value {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| wrong_type(field, name, INT32))
}

fn mapping<'a>(
    field: &Field<'a>,
    name: &str,
    wanted: &'static str,
) -> Result<Vec<MapEntry<'a>>, ManifestError> {
    field.entries().map_err(|_| wrong_type(field, name, wanted))
}

fn members<'a>(field: &Field<'a>, name: &str, wanted: &'static str) -> Result<Vec<Field<'a>>, ManifestError> {
    field.items().map_err(|_| wrong_type(field, name, wanted))
}
