//! Files with kubelet configurations: the kubelet's own, and those of OpenShift and Amazon EKS.

use node_config::{KubeletConfiguration, Rules};

use crate::kubelet_decoder::decoded;
use crate::node::{Field, Node};
use crate::performance_profile::{self, Profile};
use crate::problem::ACCEPTED_CONFIGS;
use crate::warning::Warning;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

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
