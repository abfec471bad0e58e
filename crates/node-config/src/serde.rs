//! A configuration as the `KubeletConfiguration` that a kubelet reads: the fields that decide on resources and no
//! others, so that nothing of the cluster and nothing secret is in it.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use crate::{
    CacheAlignment, ClaimHints, CpuInterrupts, CpuPartition, DeviceLinks, Drift, KubeletConfiguration,
    MemoryNodes, MixUnit, OwnOptions, Placement, Regroup, Resize,
};

/// With `apiVersion` and `kind`; fields that are not set are left out.
impl Serialize for KubeletConfiguration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fields(self).serialize(serializer)
    }
}

/// The fields, those of one manager together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_manager_policy: Option<&'a String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cpu_manager_policy_options: BTreeMap<&'a String, &'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_manager_reconcile_period: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "reservedSystemCPUs")]
    reserved_system_cpus: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_manager_policy: Option<&'a String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reserved_memory: Vec<Reserved<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology_manager_policy: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology_manager_scope: Option<&'a String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    topology_manager_policy_options: BTreeMap<&'a String, &'a String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    kube_reserved: BTreeMap<&'a String, &'a String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    system_reserved: BTreeMap<&'a String, &'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eviction_hard: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_default_eviction_settings: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enforce_node_allocatable: Option<&'a Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_reserved_cgroup: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kube_reserved_cgroup: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_cgroups: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup_root: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "cgroupsPerQOS")]
    cgroups_per_qos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_pods: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods_per_core: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_throttling_factor: Option<f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    default_pod_sysctls: BTreeMap<&'a String, &'a String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_gates: BTreeMap<&'a String, bool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Reserved<'a> {
    numa_node: i32,
    limits: BTreeMap<&'a String, String>,
}

fn fields(config: &KubeletConfiguration) -> Fields<'_> {
    Fields {
        api_version: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        cpu_manager_policy: config.cpu_manager_policy.as_ref(),
        cpu_manager_policy_options: config.cpu_manager_policy_options.iter().collect(),
        cpu_manager_reconcile_period: config.cpu_manager_reconcile_period.map(|period| period.to_string()),
        reserved_system_cpus: config.reserved_system_cpus.as_ref(),
        memory_manager_policy: config.memory_manager_policy.as_ref(),
        reserved_memory: config
            .reserved_memory
            .iter()
            .map(|own| Reserved {
                numa_node: own.numa_node,
                limits: own.limits.iter().map(|(name, amount)| (name, amount.to_string())).collect(),
            })
            .collect(),
        topology_manager_policy: config.topology_manager_policy.as_ref(),
        topology_manager_scope: config.topology_manager_scope.as_ref(),
        topology_manager_policy_options: config.topology_manager_policy_options.iter().collect(),
        kube_reserved: config.kube_reserved.iter().collect(),
        system_reserved: config.system_reserved.iter().collect(),
        eviction_hard: config.eviction_hard.as_ref(),
        merge_default_eviction_settings: config.merge_default_eviction_settings,
        enforce_node_allocatable: config.enforce_node_allocatable.as_ref(),
        system_reserved_cgroup: config.system_reserved_cgroup.as_ref(),
        kube_reserved_cgroup: config.kube_reserved_cgroup.as_ref(),
        system_cgroups: config.system_cgroups.as_ref(),
        cgroup_root: config.cgroup_root.as_ref(),
        cgroups_per_qos: config.cgroups_per_qos,
        max_pods: config.max_pods,
        pods_per_core: config.pods_per_core,
        memory_throttling_factor: config.memory_throttling_factor,
        default_pod_sysctls: config.default_pod_sysctls.iter().collect(),
        feature_gates: config.feature_gates.iter().map(|(name, on)| (name, *on)).collect(),
    }
}

/// As the `TopoletConfiguration` that says the same, with every option but those that are off and new.
impl Serialize for OwnOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            cache_alignment,
            memory_nodes,
            regroup,
            drift,
            placement,
            pod_policy,
            device_links,
            claim_hints,
            defer,
            partition,
            interrupts,
            cpu_resize,
            memory_resize,
        } = self;
        OwnFields {
            api_version: "topolet.dev/v1alpha1",
            kind: "TopoletConfiguration",
            cpu: CpuFields {
                cache_alignment: match cache_alignment {
                    CacheAlignment::BestEffort => "bestEffort",
                    CacheAlignment::Required => "required",
                },
                resize: resize(*cpu_resize),
            },
            memory: MemoryFields {
                nodes: match memory_nodes {
                    MemoryNodes::All => "all",
                    MemoryNodes::WithCpus => "withCPUs",
                },
                regroup: *regroup == Regroup::WhenUnneeded,
                drift: match drift {
                    Drift::Refuse => "refuse",
                    Drift::Absorb => "absorb",
                },
                resize: resize(*memory_resize),
            },
            // A program that does not know these reads the rest.
            placement: (*placement != Placement::default()).then(|| PlacementFields {
                strategy: placement.strategy.name(),
                weights: &placement.weights,
                mix: placement.mix.iter().map(MixFields::of).collect(),
            }),
            pod_policy: pod_policy.is_on().then(|| PodPolicyFields { allow: pod_policy.words() }),
            devices: (*device_links != DeviceLinks::default()
                || *claim_hints != ClaimHints::default()
                || !defer.is_zero())
            .then(|| DeviceFields {
                defer_seconds: defer.as_secs(),
                links: device_links.rule.name(),
                groups: &device_links.groups,
                domains: &device_links.domains,
                addresses: &device_links.addresses,
                claims: (*claim_hints != ClaimHints::default()).then(|| claim_hints.name()),
            }),
            cgroup: (*partition != CpuPartition::None).then(|| CgroupFields {
                partition: partition.name(),
                interrupts: (*interrupts != CpuInterrupts::Leave).then(|| interrupts.name()),
            }),
        }
        .serialize(serializer)
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnFields<'a> {
    api_version: &'static str,
    kind: &'static str,
    cpu: CpuFields,
    memory: MemoryFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<PlacementFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_policy: Option<PodPolicyFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<DeviceFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<CgroupFields>,
}

#[derive(Debug, Serialize)]
struct CgroupFields {
    partition: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupts: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CpuFields {
    cache_alignment: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resize: Option<&'static str>,
}

/// The word where it is not the kubelet's way: a program that does not know the option reads the rest.
fn resize(option: Resize) -> Option<&'static str> {
    (option != Resize::default()).then(|| option.name())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it in")]
const fn is_zero(seconds: &u64) -> bool {
    *seconds == 0
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceFields<'a> {
    #[serde(skip_serializing_if = "is_zero")]
    defer_seconds: u64,
    links: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    groups: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    domains: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    addresses: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct PodPolicyFields {
    allow: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MemoryFields {
    nodes: &'static str,
    regroup: bool,
    drift: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resize: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct PlacementFields<'a> {
    strategy: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    weights: &'a BTreeMap<String, u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mix: Vec<MixFields<'a>>,
}

#[derive(Debug, Serialize)]
struct MixFields<'a> {
    count: u32,
    requests: BTreeMap<&'a String, String>,
}

impl<'a> MixFields<'a> {
    fn of(unit: &'a MixUnit) -> Self {
        let requests = unit.requests.iter().map(|(name, amount)| (name, amount.to_string()));
        Self { count: unit.count, requests: requests.collect() }
    }
}
