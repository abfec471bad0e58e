//! OpenShift's `PerformanceProfile`: the kubelet's configuration that the node tuning operator makes of it.
//!
//! As `cluster-node-tuning-operator` does (`kubeletconfig.New`): CPU manager `static`, the profile's reserved CPUs, with
//! those for a virtual switch and, under the hint `mixedCpus`, those that pods share, and topology policy (`best-effort`
//! where it names none), 500Mi of memory reserved for the kubelet and as much for the
//! system, the usual hard evictions. With `restricted` or `single-numa-node` the memory manager is `Static` and reserves on
//! NUMA node 0 all that is reserved or evicted; with `single-numa-node` only whole cores are given. The annotation
//! `kubeletconfig.experimental` comes first, and what it sets of memory and options stays. With the annotation for
//! dynamic resource allocation no manager pins anything: drivers do.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{Duration, KubeletConfiguration, ReservedMemory, Rules};

use crate::forbidden_fields::forbidden;
use crate::kubelet_decoder::decoded;
use crate::node::Field;
use crate::profile_refusals::{DRA, ProfileRefusal, refusals};
use crate::warning::{Warning, unknown_fields};
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// The annotation with fields of a `KubeletConfiguration` as JSON.
pub const SNIPPET: &str = "kubeletconfig.experimental";

/// What a profile says beside the kubelet's configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// Its lists of CPUs, as far as they are lists, with the line of each from 1, by their names below `spec.cpu`.
    pub cpus: BTreeMap<&'static str, (CpuSet, usize)>,
    /// Whether pods share the CPUs of `shared`: hint `mixedCpus`.
    pub mixes_cpus: bool,
    /// Huge pages that the kernel reserves when it boots.
    pub pages: Vec<ProfilePages>,
    /// Whether every entry of the pages could be read.
    pub has_all_pages: bool,
    /// What the operator refuses in it, but for CPUs in two lists.
    pub refusals: Vec<ProfileRefusal>,
    /// The text of the annotation with fields of the kubelet, such as `{"maxPods": 50}`.
    pub annotation: Option<String>,
}

/// Huge pages of one entry of `spec.hugepages.pages`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfilePages {
    /// Bytes of a page.
    pub size: u64,
    /// How many.
    pub count: u64,
    /// On which NUMA node; `None`: evenly on all.
    pub node: Option<i64>,
    /// Its line in the file, from 1.
    pub line: usize,
}

impl ProfilePages {
    /// `None`: a size that the operator does not take, or amounts that are no numbers.
    fn of(entry: &Field<'_>) -> Result<Option<Self>, ManifestError> {
        let number = |name| -> Result<Option<i64>, ManifestError> {
            Ok(entry.get(name)?.and_then(|field| field.scalar("a number").ok()?.parse().ok()))
        };
        let written = entry.get("size")?.and_then(|field| field.text("a size").ok()).unwrap_or_default();
        let Some((_, size)) = PAGE_SIZES.iter().find(|(text, _)| *text == written) else { return Ok(None) };
        let Some(count) = number("count")?.and_then(|count| u64::try_from(count).ok()) else {
            return Ok(None);
        };
        Ok(Some(Self { size: *size, count, node: number("node")?, line: entry.place().position.line }))
    }

    /// The size as a profile has it, such as `1G`; empty for one that no profile can have.
    #[must_use]
    pub fn size_text(&self) -> &'static str {
        PAGE_SIZES.iter().find(|(_, bytes)| *bytes == self.size).map_or("", |(text, _)| text)
    }
}

/// Sizes of huge pages, and their bytes.
const PAGE_SIZES: [(&str, u64); 6] = [
    ("2M", 2 << 20),
    ("1G", 1 << 30),
    ("64K", 64 << 10),
    ("32M", 32 << 20),
    ("512M", 512 << 20),
    ("16G", 16 << 30),
];

/// The fields of a profile by the path of what they are in, which only the lists of pages differ from.
const FIELDS: [(&[&str], &[&str]); 6] = [
    (
        &["spec"],
        &[
            "additionalKernelArgs",
            "cpu",
            "globallyDisableIrqLoadBalancing",
            "hardwareTuning",
            "hugepages",
            "kernelPageSize",
            "machineConfigLabel",
            "machineConfigPoolSelector",
            "net",
            "nodeSelector",
            "numa",
            "realTimeKernel",
            "workloadHints",
        ],
    ),
    (&["spec", "cpu"], &["balanceIsolated", "isolated", "offlined", "ovsDpdk", "reserved", "shared"]),
    (&["spec", "numa"], &["topologyPolicy"]),
    (&["spec", "hugepages"], &["defaultHugepagesSize", "pages"]),
    (&["spec", "realTimeKernel"], &["enabled"]),
    (&["spec", "workloadHints"], &["highPowerConsumption", "mixedCpus", "perPodPowerManagement", "realTime"]),
];
const PAGES: &[&str] = &["count", "node", "size"];

/// Warns of fields that a profile does not have: an API server leaves them out.
fn warn_of_unknown(document: &Field<'_>, warnings: &mut Vec<Warning>) -> Result<(), ManifestError> {
    const EXPECTED: &str = "a field of PerformanceProfile; this one has no effect";
    for (path, known) in FIELDS {
        if let Some(field) = document.descend(path)?.filter(Field::is_mapping) {
            unknown_fields(&field, known, EXPECTED, warnings)?;
        }
    }
    for entry in pages(document)?.iter().filter(|entry| entry.is_mapping()) {
        unknown_fields(entry, PAGES, EXPECTED, warnings)?;
    }
    Ok(())
}

/// The entries of `spec.hugepages.pages`.
fn pages<'a>(document: &Field<'a>) -> Result<Vec<Field<'a>>, ManifestError> {
    let pages = document.descend(&["spec", "hugepages", "pages"])?;
    Ok(pages.and_then(|pages| pages.items().ok()).unwrap_or_default())
}

impl Profile {
    pub(crate) fn of(document: &Field<'_>) -> Result<Self, ManifestError> {
        let mut profile = Self { refusals: refusals(document)?, ..Self::default() };
        for name in ["reserved", "isolated", "shared", "ovsDpdk", "offlined"] {
            let Some(field) = document.descend(&["spec", "cpu", name])? else { continue };
            if let Ok(cpus) = field.text(CPUS)?.parse() {
                profile.cpus.insert(name, (cpus, field.place().position.line));
            }
        }
        profile.mixes_cpus =
            document.descend(&["spec", "workloadHints", "mixedCpus"])?.is_some_and(|field| field.is_true());
        let entries = pages(document)?;
        for entry in &entries {
            profile.pages.extend(ProfilePages::of(entry)?);
        }
        profile.has_all_pages = profile.pages.len() == entries.len();
        let annotation = document.descend(&["metadata", "annotations", SNIPPET])?;
        profile.annotation = annotation.and_then(|field| field.text("").ok()).map(str::to_owned);
        Ok(profile)
    }
}

const CPUS: &str = "a list of CPUs in quotes, such as \"0-3\" or \"0\"";
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
    warn_of_unknown(document, warnings)?;
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
    let is_true = |path: &[&str]| -> Result<bool, ManifestError> {
        Ok(document.descend(path)?.is_some_and(|field| field.is_true()))
    };
    let mut reserved = text(&["spec", "cpu", "reserved"], CPUS)?;
    let beside = [("shared", is_true(&["spec", "workloadHints", "mixedCpus"])?), ("ovsDpdk", true)];
    for (name, _) in beside.iter().filter(|(_, counts)| *counts) {
        if let Some(more) = text(&["spec", "cpu", name], CPUS)? {
            reserved = Some(together(reserved.as_deref().unwrap_or_default(), &more));
        }
    }
    config.reserved_system_cpus = reserved.or(config.reserved_system_cpus);
    if text(&["metadata", "annotations", DRA], "true or false")?.as_deref() == Some("true") {
        return Ok(KubeletConfiguration {
            cpu_manager_policy: Some("none".to_owned()),
            cpu_manager_policy_options: BTreeMap::new(),
            memory_manager_policy: Some("None".to_owned()),
            reserved_memory: Vec::new(),
            topology_manager_policy: Some("none".to_owned()),
            ..config
        });
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

/// Two lists of CPUs as one. One that is none is left for the kubelet to refuse.
fn together(one: &str, other: &str) -> String {
    match (one.parse::<CpuSet>(), other.parse::<CpuSet>()) {
        (Ok(one), Ok(other)) => (&one | &other).to_string(),
        _ => format!("{one},{other}"),
    }
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
    let fields = Field::document(&source, first);
    // The operator that makes a KubeletConfig of them hands it to one that refuses it.
    match forbidden(&fields)? {
        Some(error) => Err(error),
        None => decoded(fields, rules, warnings),
    }
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
