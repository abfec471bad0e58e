//! Kubelet configurations: what the four resource managers are told, as the kubelet's own decoder reads it.
//!
//! The decoder's quirks are kept: values of string maps must be strings, field names are case-sensitive, unknown
//! and repeated fields only warn (the last one counts), and an empty string is an absent field.

use std::collections::BTreeMap;
use std::ops::Range;

use node_config::{
    Duration, KubeletConfiguration, NodeReporting, PodSysctls, RegisteredTaint, ReservedMemory, Rules,
};

use crate::kubelet_fields::{IGNORED, POD_SYSCTLS, READ};
use crate::node::{Field, MapEntry, Node, Value};
use crate::performance_profile::{self, Profile};
use crate::quantity::any_resources;
use crate::suggest::nearest;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source, Style};

/// Something that the kubelet lets pass, but that does not do what its writer meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning(pub(crate) ManifestError);

impl Warning {
    /// A key at `span` of `source` that is none of `known`, in a format that others read; `expected` says of what it
    /// should be a key.
    #[must_use]
    pub fn of_key(
        source: &Source<'_>,
        span: &Range<usize>,
        known: &[&'static str],
        expected: &'static str,
    ) -> Self {
        let found = source.text.get(span.clone()).unwrap_or_default().to_owned();
        let problem = match nearest(&found, known) {
            Some(meant) => Problem::MisspeltField { found, meant },
            None => Problem::UnknownField { found, expected },
        };
        Self(ManifestError::at(source, "", span, problem))
    }

    /// Text at `span` of `source` without effect: `what` says why, and `expected` with what it would have one.
    #[must_use]
    pub fn useless(source: &Source<'_>, span: &Range<usize>, what: String, expected: &'static str) -> Self {
        Self(ManifestError::at(source, "", span, Problem::Useless { what, expected }))
    }

    /// What and where it is, as an error.
    #[must_use]
    pub fn as_error(&self) -> &ManifestError {
        &self.0
    }

    /// The warning with the lines it is about, without a newline at the end.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        self.0.render_warning(style)
    }
}

/// A configuration file that could be read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KubeletConfigRead {
    /// The fields that topolet knows, as the file has them.
    pub config: KubeletConfiguration,
    /// `staticPodPath`: the folder with the manifests of static pods, or one such file.
    pub static_pod_path: Option<String>,
    /// What kind of file it is.
    pub kind: ConfigKind,
    /// What in it is without effect.
    pub warnings: Vec<Warning>,
    /// What in it decides beside [`config`](Self::config), and is not read.
    pub unread: Vec<Warning>,
    /// Whether the node works out what is reserved for the system by its size.
    pub is_sized_by_node: bool,
    /// What a `PerformanceProfile` says beside it.
    pub profile: Option<Profile>,
}

/// Who makes the kubelet's own configuration of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ConfigKind {
    /// It is the kubelet's own.
    #[default]
    Kubelet,
    /// `KubeletConfig`: OpenShift's machine config operator.
    OpenShift,
    /// `PerformanceProfile`: OpenShift's node tuning operator, which works most fields out.
    PerformanceProfile,
    /// `NodeConfig`: `nodeadm` of Amazon EKS, which adds what it works out of the instance.
    Eks,
    /// Settings of Bottlerocket, which others read.
    Bottlerocket,
}

/// Reads one configuration in YAML or JSON: `kind: KubeletConfiguration` (`kubelet.config.k8s.io/v1beta1`),
/// OpenShift's `kind: KubeletConfig` and `kind: PerformanceProfile`, the `kind: NodeConfig` of Amazon EKS, or what a
/// kubelet answers at `/configz`. The kubelet is of the default release.
///
/// # Errors
/// The first thing that the kubelet could not decode either, with its place; its own words for it are
/// [`ManifestError::kubelet_text`].
pub fn read_kubelet_config(source: &Source<'_>) -> Result<KubeletConfigRead, ManifestError> {
    read_kubelet_config_of(source, Rules::default())
}

/// The same for a kubelet with these rules, which the configuration then carries: a field that its release does not
/// know is without effect.
///
/// # Errors
/// As [`read_kubelet_config`].
pub fn read_kubelet_config_of(source: &Source<'_>, rules: Rules) -> Result<KubeletConfigRead, ManifestError> {
    let mut warnings = Vec::new();
    let (nodes, repeated) = documents_leniently(source)?;
    warnings.extend(repeated.map(Warning));
    let mut nodes = nodes.iter();
    let Some(first) = nodes.next() else {
        return Err(ManifestError::at(source, "", &(0..0), Problem::Empty));
    };
    if let Some(second) = nodes.next() {
        let problem =
            Problem::Unexpected { found: "another document".to_owned(), expected: "one configuration" };
        return Err(Field::document(source, second).fail(problem));
    }
    let document = Field::document(source, first);
    let kind = kind_of(&document)?;
    if kind == ConfigKind::PerformanceProfile {
        let config = performance_profile::configuration(&document, rules, &mut warnings)?;
        let profile = Some(Profile::of(&document)?);
        return Ok(KubeletConfigRead { config, kind, warnings, profile, ..KubeletConfigRead::default() });
    }
    let body = body(source, first)?;
    let sized = sized_by_the_node(&document)?;
    let is_sized_by_node = sized.is_some();
    let unread = sized.into_iter().chain(flags_of_nodeadm(&document)?).collect();
    let static_pods = body.get("staticPodPath")?;
    let static_pod_path = static_pods.and_then(|path| path.text("a path").ok()).map(str::to_owned);
    let config = decoded(body, rules, &mut warnings)?;
    Ok(KubeletConfigRead { config, static_pod_path, kind, warnings, unread, is_sized_by_node, profile: None })
}

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
    let known = [READ, IGNORED, by_release].concat();
    unknown_fields(&body, &known, OF_CONFIGURATION, warnings)?;
    Decoder { body, rules, warnings }.decode()
}

/// What kind of file a document is. What is none is found out when its fields are looked for.
fn kind_of(document: &Field<'_>) -> Result<ConfigKind, ManifestError> {
    if !document.is_mapping() {
        return Ok(ConfigKind::Kubelet);
    }
    let word = |key| document.get(key).map(|field| field.and_then(|field| field.text("a name").ok()));
    let (kind, version) = (word("kind")?.unwrap_or_default(), word("apiVersion")?.unwrap_or_default());
    Ok(match (kind, version) {
        ("KubeletConfig", _) => ConfigKind::OpenShift,
        (EKS_KIND, _) => ConfigKind::Eks,
        (kind, version) if performance_profile::is_one(kind, version) => ConfigKind::PerformanceProfile,
        _ => ConfigKind::Kubelet,
    })
}

const EKS_KIND: &str = "NodeConfig";

/// Flags for the kubelet that stand beside the configuration.
fn flags_of_nodeadm(document: &Field<'_>) -> Result<Option<Warning>, ManifestError> {
    let flags = document.descend(&["spec", "kubelet", "flags"])?;
    let expected = "fields of spec.kubelet.config: flags of the kubelet are not read";
    Ok(flags.map(|flags| Warning(flags.unexpected(expected))))
}

/// What is read as a configuration, for people.
pub(crate) const ACCEPTED_CONFIGS: &str = "a KubeletConfiguration (kubelet.config.k8s.io/v1beta1), a KubeletConfig or PerformanceProfile of OpenShift, a NodeConfig of EKS, settings of Bottlerocket, or what a kubelet answers at /configz, which has its flags and drop-ins in it";

/// The documents of a configuration as the kubelet reads them: strictly first, and leniently if a repeated key was the
/// only matter, which is given too.
fn documents_leniently(source: &Source<'_>) -> Result<(Vec<Node>, Option<ManifestError>), ManifestError> {
    match documents(source, RepeatedKey::Refused) {
        Ok(nodes) => Ok((nodes, None)),
        Err(error) if matches!(error.problem(), Problem::DuplicateKey(_)) => {
            Ok((documents(source, RepeatedKey::LastCounts)?, Some(error)))
        }
        Err(error) => Err(error),
    }
}

/// The documents of a configuration.
pub(crate) fn documents_of(source: &Source<'_>) -> Result<Vec<Node>, ManifestError> {
    documents_leniently(source).map(|(nodes, _)| nodes)
}

/// The mapping that holds the fields.
pub(crate) fn body<'a>(source: &'a Source<'a>, node: &'a Node) -> Result<Field<'a>, ManifestError> {
    const VERSION: &str = "apiVersion kubelet.config.k8s.io/v1beta1";
    const KIND: &str = ACCEPTED_CONFIGS;
    const CONFIG: &str = "the fields of a KubeletConfiguration";
    let document = Field::document(source, node);
    if !document.is_mapping() {
        return Err(document.unexpected(ACCEPTED_CONFIGS));
    }
    if let Some(configz) = document.get("kubeletconfig")? {
        return Ok(configz);
    }
    let kind_field = document.require("kind", KIND)?;
    let version_field = document.require("apiVersion", VERSION)?;
    let (kind, version) = (kind_field.text(KIND)?, version_field.text(VERSION)?);
    match (kind, version) {
        ("KubeletConfiguration", "kubelet.config.k8s.io/v1beta1") => Ok(document),
        ("KubeletConfig", "machineconfiguration.openshift.io/v1") => {
            document.require("spec", CONFIG)?.require("kubeletConfig", CONFIG)
        }
        (EKS_KIND, version) if version.starts_with("node.eks.aws/") => {
            document.require("spec", CONFIG)?.require("kubelet", CONFIG)?.require("config", CONFIG)
        }
        _ => {
            let at = if matches!(kind, "KubeletConfiguration" | "KubeletConfig" | EKS_KIND) {
                version_field
            } else {
                kind_field
            };
            Err(at.fail(Problem::NotRegistered { kind: kind.to_owned(), version: version.to_owned() }))
        }
    }
}

/// OpenShift can have a node work out what it reserves, and then the configuration does not say it.
fn sized_by_the_node(document: &Field<'_>) -> Result<Option<Warning>, ManifestError> {
    let switch = document.descend(&["spec", "autoSizingReserved"])?.filter(Field::is_true);
    let expected = "false: what a node reserves by its size is not known here, so that whether reservedMemory is right is not either";
    Ok(switch.map(|switch| Warning(switch.unexpected(expected))))
}

const OF_CONFIGURATION: &str = "a field of KubeletConfiguration; this one has no effect";

/// Warns of fields that are none of `known`; `expected` says of what they should be fields.
pub(crate) fn unknown_fields(
    field: &Field<'_>,
    known: &[&'static str],
    expected: &'static str,
    warnings: &mut Vec<Warning>,
) -> Result<(), ManifestError> {
    for MapEntry { key, key_span, .. } in field.entries()? {
        if !known.contains(&key) {
            let found = key.to_owned();
            let problem = if let Some(meant) = nearest(key, known) {
                Problem::MisspeltField { found, meant }
            } else {
                Problem::UnknownField { found, expected }
            };
            warnings.push(Warning(field.fail_at(key_span, problem)));
        }
    }
    Ok(())
}

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
        let Some(field) = self.body.get(name)? else { return Ok(None) };
        let text = string(&field, name)?;
        if field.is_null() {
            return Ok(None);
        }
        let parsed = text.parse().map_err(|_| {
            field.fail(Problem::Unexpected { found: text, expected: "a duration such as 10s or 1m30s" })
        });
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
