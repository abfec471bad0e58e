//! Configurations of a kubelet: the fields and flags that decide, with the values that are public.

use kubernetes_yaml::read_stream;
use node_config::KubeletFlags;
use serde_json::{Value, json};
use support_bundle::{Document, DocumentKind, NodeEvidence};
use topology_manifest::{Source, read_kubelet_arguments};

use super::super::kubelet::is_process;
use super::names::{NameKind, Names};
use super::shape::{LeftOut, Shape};
use crate::base_choice::Reading;
use crate::found_config::FoundConfig;
use crate::this_node::CONFIGS;

const OPTIONS: Shape = Shape::Map(&Shape::Scalar, &Shape::Scalar);
const AMOUNTS: Shape = Shape::Map(&Shape::Resource, &Shape::Scalar);

/// The fields of a `KubeletConfiguration` that decide on pods, or on whether a kubelet starts.
const FIELDS: &[(&str, Shape)] = &[
    ("apiVersion", Shape::Scalar),
    ("kind", Shape::Scalar),
    ("cpuManagerPolicy", Shape::Scalar),
    ("cpuManagerPolicyOptions", OPTIONS),
    ("cpuManagerReconcilePeriod", Shape::Scalar),
    ("memoryManagerPolicy", Shape::Scalar),
    ("reservedMemory", Shape::List(&Shape::Object(&[("numaNode", Shape::Number), ("limits", AMOUNTS)]))),
    ("topologyManagerPolicy", Shape::Scalar),
    ("topologyManagerScope", Shape::Scalar),
    ("topologyManagerPolicyOptions", OPTIONS),
    ("kubeReserved", AMOUNTS),
    ("systemReserved", AMOUNTS),
    ("reservedSystemCPUs", Shape::Scalar),
    ("evictionHard", OPTIONS),
    ("evictionSoft", OPTIONS),
    ("evictionSoftGracePeriod", OPTIONS),
    ("evictionMinimumReclaim", OPTIONS),
    ("evictionMaxPodGracePeriod", Shape::Number),
    ("evictionPressureTransitionPeriod", Shape::Scalar),
    ("mergeDefaultEvictionSettings", Shape::Scalar),
    ("enforceNodeAllocatable", Shape::List(&Shape::Scalar)),
    ("systemReservedCgroup", Shape::Scalar),
    ("kubeReservedCgroup", Shape::Scalar),
    ("systemCgroups", Shape::Scalar),
    ("kubeletCgroups", Shape::Scalar),
    ("cgroupRoot", Shape::Scalar),
    ("cgroupsPerQOS", Shape::Scalar),
    ("cgroupDriver", Shape::Scalar),
    ("maxPods", Shape::Number),
    ("podsPerCore", Shape::Number),
    ("podPidsLimit", Shape::Number),
    ("featureGates", Shape::Map(&Shape::Gate, &Shape::Scalar)),
    ("memoryThrottlingFactor", Shape::Number),
    ("failSwapOn", Shape::Scalar),
    ("failCgroupV1", Shape::Scalar),
    ("localStorageCapacityIsolation", Shape::Scalar),
    ("nodeLeaseDurationSeconds", Shape::Number),
    ("nodeStatusReportFrequency", Shape::Scalar),
    ("nodeStatusUpdateFrequency", Shape::Scalar),
    (
        "registerWithTaints",
        Shape::List(&Shape::Object(&[
            ("key", Shape::LabelKey),
            ("value", Shape::Name(NameKind::LabelValue)),
            ("effect", Shape::Scalar),
            ("timeAdded", Shape::Emptied),
        ])),
    ),
];

const CONFIGURATION: Shape = Shape::Object(FIELDS);
/// An allow list of sysctls that releases check: only that they are there counts here.
const POD_SYSCTLS: &str = "defaultPodSysctls";

/// A `KubeletConfiguration` as JSON with the fields that decide; `None`: the text is none.
fn renamed(text: &[u8], names: &mut Names, left_out: &mut LeftOut) -> Option<Value> {
    let text = String::from_utf8_lossy(text);
    let documents = read_stream(text.trim_start_matches('\u{feff}')).ok()?;
    let mut found =
        documents.nodes.iter().filter_map(|node| serde_json::from_str::<Value>(&node.to_json()).ok());
    let found =
        found.find(|value| value.get("kind").and_then(Value::as_str) == Some("KubeletConfiguration"))?;
    Some(fields(found, names, left_out))
}

/// The fields that decide; those of a kubelet that decide nothing are not there, and others are known to be there.
fn fields(mut configuration: Value, names: &mut Names, left_out: &mut LeftOut) -> Value {
    if let Some(members) = configuration.as_object_mut() {
        let decides = |field: &str| FIELDS.iter().any(|(own, _)| own.eq_ignore_ascii_case(field));
        let before = members.len();
        members.retain(|field, _| {
            field != POD_SYSCTLS && (decides(field) || !topology_manifest::is_kubelet_field(field))
        });
        left_out.members += before - members.len();
    }
    CONFIGURATION.kept(&configuration, names, left_out)
}

/// A configuration as its kubelet answers it, or as it lies in a file of any form: a text and what it is called on the node.
pub(super) struct Written {
    /// Its path on the node.
    pub(super) path: String,
    pub(super) text: String,
}

/// What is taken of a node's kubelet, for how many CPUs.
pub(super) struct Chosen<'c> {
    pub(super) config: Option<&'c FoundConfig>,
    pub(super) reading: Reading<'c>,
    pub(super) cpus: usize,
}

/// The configurations and flags of a node's kubelet.
pub(super) fn written(
    evidence: &NodeEvidence,
    chosen: &Chosen<'_>,
    names: &mut Names,
    left_out: &mut LeftOut,
    notes: &mut Vec<String>,
) -> Vec<Written> {
    let mut all = Vec::new();
    for (at, document) in evidence.of_kind(DocumentKind::Configz).enumerate() {
        let inner = serde_json::from_slice::<Value>(&document.text).ok();
        if let Some(inner) = inner.and_then(|mut value| value.get_mut("kubeletconfig").map(Value::take)) {
            let text = json!({"kubeletconfig": fields(inner, names, left_out)}).to_string();
            all.push(Written { path: numbered("configz", "json", at), text });
        }
    }
    let mut is_of_other_form = false;
    for document in evidence.of_kind(DocumentKind::Configuration) {
        match renamed(&document.text, names, left_out) {
            Some(value) => {
                all.push(Written { path: path(&document.on_node, names), text: value.to_string() });
            }
            None => is_of_other_form = true,
        }
    }
    // What other forms make, those of the cluster too, is written in place of them.
    let config = chosen.config.filter(|config| !config.text().is_empty());
    if let Some(config) = config.filter(|_| is_of_other_form || all.is_empty()) {
        match of_other_form(config, chosen, names, left_out) {
            Some(text) => {
                all.push(Written { path: "etc/kubernetes/kubelet.conf".to_owned(), text });
                notes.push(
                    "a configuration of another form is written as the KubeletConfiguration that it makes"
                        .to_owned(),
                );
            }
            None => notes.push("a configuration of the kubelet is left out: it cannot be read".to_owned()),
        }
    }
    all.extend(flags(evidence, names, notes));
    all
}

/// The `KubeletConfiguration` that a configuration makes.
pub(super) fn of_other_form(
    config: &FoundConfig,
    chosen: &Chosen<'_>,
    names: &mut Names,
    left_out: &mut LeftOut,
) -> Option<String> {
    let read = config.read(chosen.cpus, chosen.reading).ok()?;
    let value = serde_json::to_value(read.config).ok()?;
    Some(fields(value, names, left_out).to_string())
}

fn numbered(name: &str, end: &str, number: usize) -> String {
    if number == 0 { format!("{name}.{end}") } else { format!("{name}-{number}.{end}") }
}

/// Where a file lies: where kubelets usually have theirs, else in a place without a name.
fn path(on_node: &str, names: &mut Names) -> String {
    let at = on_node.trim_start_matches('/');
    if CONFIGS.iter().any(|usual| usual.trim_start_matches('/') == at) {
        return at.to_owned();
    }
    let (above, name) = at.rsplit_once('/').unwrap_or(("", at));
    let file = names.name(NameKind::File, name);
    if above.is_empty() {
        return format!("{file}.yaml");
    }
    format!("{}/{file}.conf", folder(above, names))
}

/// The folder of drop-ins stays one.
fn folder(at: &str, names: &mut Names) -> String {
    let end = if at.ends_with(".conf.d") { ".conf.d" } else { "" };
    format!("etc/kubernetes/{}{end}", names.name(NameKind::File, at.trim_end_matches('/')))
}

/// The flags of the kubelet as one command line, in a unit.
fn flags(evidence: &NodeEvidence, names: &mut Names, notes: &mut Vec<String>) -> Option<Written> {
    let (process, units): (Vec<&Document>, Vec<&Document>) =
        evidence.of_kind(DocumentKind::Flags).partition(|document| is_process(document));
    let taken = process.first().map_or(units, |process| vec![*process]);
    if taken.is_empty() {
        return None;
    }
    let sources: Result<Vec<_>, _> =
        taken.iter().map(|document| Source::from_bytes(&document.path, &document.text)).collect();
    let Ok(read) = sources.and_then(|sources| read_kubelet_arguments(&sources)) else {
        notes.push("flags of the kubelet are left out: they cannot be read".to_owned());
        return None;
    };
    let words: Vec<String> = read.arguments.iter().map(|argument| argument.text().to_owned()).collect();
    let mut kept = Vec::new();
    let mut others = 0;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(long) = word.strip_prefix("--") else { continue };
        let (name, value) =
            long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.to_owned())));
        let value = value.or_else(|| words.next_if(|next| !next.starts_with('-')));
        let flag = name.replace('_', "-");
        match (flag.as_str(), value) {
            ("config", Some(value)) => kept.push(format!("--config=/{}", path(&value, names))),
            ("config-dir", Some(value)) => {
                kept.push(format!("--config-dir=/{}", folder(value.trim_matches('/'), names)));
            }
            ("hostname-override", Some(value)) => {
                kept.push(format!("--hostname-override={}", names.name(NameKind::Node, &value)));
            }
            (flag, value) if DECIDING.contains(&flag) => kept.push(match value {
                Some(value) => format!("--{flag}={}", names.scalars(&value)),
                None => format!("--{flag}"),
            }),
            // It decides nothing.
            (flag, _) if KubeletFlags::names().any(|known| known == flag) => others += 1,
            // A kubelet that has lost it does not start.
            (flag, _) if KubeletFlags::removed_by(flag).is_some() => kept.push(format!("--{flag}=0")),
            (flag, _) => kept.push(format!("--{}=0", names.name(NameKind::Text, flag))),
        }
    }
    if others > 0 {
        notes.push(format!("flags of the kubelet that do not decide are left out: {others}"));
    }
    let text = format!("[Service]\nExecStart=/usr/bin/kubelet {}\n", kept.join(" "));
    Some(Written { path: "etc/systemd/system/kubelet.service".to_owned(), text })
}

/// The flags of which the value is kept.
const DECIDING: [&str; 26] = [
    "cpu-manager-policy",
    "cpu-manager-policy-options",
    "cpu-manager-reconcile-period",
    "memory-manager-policy",
    "reserved-memory",
    "topology-manager-policy",
    "topology-manager-policy-options",
    "topology-manager-scope",
    "kube-reserved",
    "kube-reserved-cgroup",
    "system-reserved",
    "system-reserved-cgroup",
    "reserved-cpus",
    "eviction-hard",
    "eviction-soft",
    "eviction-soft-grace-period",
    "experimental-allocatable-ignore-eviction",
    "enforce-node-allocatable",
    "system-cgroups",
    "kubelet-cgroups",
    "cgroup-root",
    "cgroups-per-qos",
    "cgroup-driver",
    "max-pods",
    "pods-per-core",
    "feature-gates",
];
