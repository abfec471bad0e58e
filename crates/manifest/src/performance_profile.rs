//! OpenShift's `PerformanceProfile`: the kubelet's configuration that the node tuning operator makes of it.
//!
//! As `cluster-node-tuning-operator` does (`kubeletconfig.New`): CPU manager `static`, the profile's reserved CPUs and
//! topology policy (`best-effort` where it names none), 500Mi of memory reserved for the kubelet and as much for the
//! system, the usual hard evictions. With `restricted` or `single-numa-node` the memory manager is `Static` and reserves on
//! NUMA node 0 all that is reserved or evicted; with `single-numa-node` only whole cores are given. The annotation
//! `kubeletconfig.experimental` comes first, and what it sets of memory and options stays.

use std::collections::BTreeMap;

use k8s_quantity::{Format, Quantity};
use node_config::{Duration, KubeletConfiguration, ReservedMemory, Rules};

use crate::kubelet::{Warning, decoded};
use crate::node::Field;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// The annotation with fields of a `KubeletConfiguration` as JSON.
const SNIPPET: &str = "kubeletconfig.experimental";
/// What the kubelet and the system are given, each.
const RESERVED: &str = "500Mi";
const EVICTIONS: [(&str, &str); 4] = [
    ("memory.available", "100Mi"),
    ("nodefs.available", "10%"),
    ("imagefs.available", "15%"),
    ("nodefs.inodesFree", "5%"),
];

/// Whether a document is a profile.
pub(crate) fn is_one(kind: &str, version: &str) -> bool {
    kind == "PerformanceProfile" && version.starts_with("performance.openshift.io/")
}

/// The configuration that is made of a profile.
pub(crate) fn configuration(
    document: &Field<'_>,
    rules: Rules,
    warnings: &mut Vec<Warning>,
) -> Result<KubeletConfiguration, ManifestError> {
    let mut config = match document.descend(&["metadata", "annotations", SNIPPET])? {
        Some(annotation) => of_annotation(&annotation, rules, warnings)?,
        None => KubeletConfiguration { rules, ..KubeletConfiguration::default() },
    };
    let text = |path: &[&str], expected| -> Result<Option<String>, ManifestError> {
        let field = document.descend(path)?;
        field.map(|field| field.text(expected).map(str::to_owned)).transpose()
    };
    config.cpu_manager_policy = Some("static".to_owned());
    config.cpu_manager_reconcile_period = Some(Duration::from_seconds(5));
    let evictions = config.eviction_hard.get_or_insert_default();
    for (signal, threshold) in EVICTIONS {
        evictions.entry(signal.to_owned()).or_insert_with(|| threshold.to_owned());
    }
    for reserved in [&mut config.kube_reserved, &mut config.system_reserved] {
        reserved.entry("memory".to_owned()).or_insert_with(|| RESERVED.to_owned());
    }
    if let Some(reserved) = text(&["spec", "cpu", "reserved"], "a list of CPUs such as 0-3")? {
        config.reserved_system_cpus = Some(reserved);
    }
    let policy = text(&["spec", "numa", "topologyPolicy"], "a topology manager policy")?;
    let policy = policy.unwrap_or_else(|| "best-effort".to_owned());
    if matches!(policy.as_str(), "restricted" | "single-numa-node") {
        config.memory_manager_policy = Some("Static".to_owned());
        if config.reserved_memory.is_empty() {
            config.reserved_memory = vec![on_first_node(document, &config)?];
        }
    }
    if policy == "single-numa-node" {
        let options = &mut config.cpu_manager_policy_options;
        options.entry("full-pcpus-only".to_owned()).or_insert_with(|| "true".to_owned());
    }
    config.topology_manager_policy = Some(policy);
    Ok(config)
}

/// The fields of the annotation.
fn of_annotation(
    annotation: &Field<'_>,
    rules: Rules,
    warnings: &mut Vec<Warning>,
) -> Result<KubeletConfiguration, ManifestError> {
    let text = annotation.text("fields of a KubeletConfiguration as JSON")?;
    let name = format!("annotation {SNIPPET}");
    let source = Source { name: &name, text };
    let nodes = documents(&source, RepeatedKey::LastCounts)?;
    let Some(first) = nodes.first() else {
        return Ok(KubeletConfiguration { rules, ..KubeletConfiguration::default() });
    };
    decoded(Field::document(&source, first), rules, warnings)
}

/// All that is reserved or evicted, on NUMA node 0.
fn on_first_node(
    document: &Field<'_>,
    config: &KubeletConfiguration,
) -> Result<ReservedMemory, ManifestError> {
    let kube = config.kube_reserved.get("memory");
    let system = config.system_reserved.get("memory");
    let evicted = config.eviction_hard.as_ref().and_then(|evictions| evictions.get("memory.available"));
    let mut sum = Quantity::from_units(0, Format::DecimalSi);
    for text in [kube, system, evicted].into_iter().flatten() {
        let amount = text.parse::<Quantity>();
        sum += amount.map_err(|error| document.fail(Problem::Quantity { text: text.clone(), error }))?;
    }
    Ok(ReservedMemory { numa_node: 0, limits: BTreeMap::from([("memory".to_owned(), sum)]) })
}
