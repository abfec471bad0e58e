//! Files with kubelet configurations: the kubelet's own, and those of which others make it.

use node_config::{KubeletConfiguration, Rules};

use crate::config_forms::{
    Chosen, ConfigKind, Envelope, KARPENTER, NodeClass, body, chosen, envelope, flags, kind_of, warn_around,
};
use crate::kubelet_arguments::KubeletArgument;
use crate::kubelet_decoder::decoded;
use crate::node::{Field, Node, Value};
use crate::performance_profile::{self, Profile};
use crate::warning::Warning;
use crate::yaml::{Documents, configuration, manifests};
use crate::{ManifestError, Source};

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
    /// Who works out what is reserved for the system.
    pub sizing: NodeSizing,
    /// What a `PerformanceProfile` says beside it.
    pub profile: Option<Profile>,
    /// What an `EC2NodeClass` of Karpenter says beside it.
    pub node_class: Option<NodeClass>,
    /// Flags of the kubelet that the file sets beside the configuration: `--max-pods=20`.
    pub flags: Vec<KubeletArgument>,
    /// The kinds of the file's other documents, which are not looked at.
    pub others: Vec<String>,
}

/// Who works out what an OpenShift node reserves for the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NodeSizing {
    /// The file, and the base beneath it.
    #[default]
    Fixed,
    /// The node, by its size.
    Sized,
    /// The node, by its size, on workers of clusters that were installed with 4.21 or later; in clusters that were updated, the
    /// base.
    NotWritten,
}

/// Reads one configuration in YAML or JSON: `kind: KubeletConfiguration` (`kubelet.config.k8s.io/v1beta1`),
/// OpenShift's `kind: KubeletConfig` and `kind: PerformanceProfile`, the `kind: NodeConfig` of Amazon EKS, also within user
/// data in MIME, a machine configuration of Talos, a `config.yaml` of k3s, an `EC2NodeClass` of Karpenter, or what a
/// kubelet answers at `/configz`. Of several documents or of a list it is the one with a configuration; the `ConfigMap`
/// `kubelet-config` has it as a text. The kubelet is of the default release.
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
    match envelope(source)? {
        Some(Envelope { text, flags_of, .. }) => {
            let mut read = read_document(&Source { name: source.name, text: &text }, rules)?;
            read.kind = flags_of.filter(|_| read.kind == ConfigKind::Kubelet).unwrap_or(read.kind);
            Ok(read)
        }
        None => read_document(source, rules),
    }
}

fn read_document(source: &Source<'_>, rules: Rules) -> Result<KubeletConfigRead, ManifestError> {
    let mut warnings = Vec::new();
    let Documents { nodes, unnoticed } = read_documents(source)?;
    warnings.extend(unnoticed.into_iter().map(Warning));
    let Chosen { document, others, flags: flags_beside } = chosen(source, nodes)?;
    let document = Field::document(source, &document);
    let kind = kind_of(&document);
    if kind == ConfigKind::PerformanceProfile {
        let config = performance_profile::configuration(&document, rules, &mut warnings)?;
        let profile = Some(Profile::of(&document)?);
        return Ok(KubeletConfigRead { config, kind, warnings, profile, ..KubeletConfigRead::default() });
    }
    let body = body(&document)?;
    warn_around(&document, kind, &mut warnings)?;
    let mut unread = Vec::new();
    unread.extend(worked_out(&document)?);
    let switch = document.descend(&["spec", "autoSizingReserved"])?;
    let flags = flags_beside.into_iter().chain(flags(&document)?).collect();
    let static_pods = body.get("staticPodPath")?;
    let static_pod_path = static_pods.and_then(|path| path.text("a path").ok()).map(str::to_owned);
    let config = decoded(body, rules, &mut warnings)?;
    let is_reserved =
        ["cpu", "memory", "ephemeral-storage"].iter().any(|name| config.system_reserved.contains_key(*name));
    let sizing = match switch {
        Some(switch) if switch.is_true() => NodeSizing::Sized,
        None if kind == ConfigKind::OpenShift && !is_reserved && !is_of_masters(&document)? => {
            NodeSizing::NotWritten
        }
        _ => NodeSizing::Fixed,
    };
    Ok(KubeletConfigRead {
        config,
        static_pod_path,
        kind,
        warnings,
        unread,
        sizing,
        profile: None,
        node_class: (kind == ConfigKind::Part(KARPENTER)).then(|| NodeClass::of(&document)).transpose()?,
        flags,
        others,
    })
}

/// The documents of a configuration: the first, as the kubelet reads it, of a file that may be its own, else all, as kubectl
/// reads them.
fn read_documents(source: &Source<'_>) -> Result<Documents, ManifestError> {
    match manifests(source) {
        Ok(documents) if is_of_others(&documents.nodes) => Ok(documents),
        _ => configuration(source),
    }
}

/// Whether a file is one for another program than the kubelet: its first document has another kind, it has objects of kubeadm,
/// or objects stand behind a document without a kind, as Talos has it.
fn is_of_others(documents: &[Node]) -> bool {
    let text = |node: &Node, field: &str| match node.value.get(field).map(|field| &field.value) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let is_other = |node: &Node| text(node, "kind").is_some_and(|kind| kind != OWN_KIND);
    let is_kubeadms = |node: &Node| text(node, "apiVersion").is_some_and(|group| group.starts_with(KUBEADM));
    let [first, behind @ ..] = documents else { return false };
    let is_without = text(first, "kind").is_none();
    is_other(first) || behind.iter().any(|node| is_kubeadms(node) || is_without && is_other(node))
}

const OWN_KIND: &str = "KubeletConfiguration";
const KUBEADM: &str = "kubeadm.k8s.io/";

/// The documents with a configuration: one.
pub(crate) fn documents_of(source: &Source<'_>) -> Result<Vec<Node>, ManifestError> {
    Ok(vec![chosen(source, read_documents(source)?.nodes)?.document])
}

/// What a node works out itself, so that the file does not say it: with a switch of OpenShift, and by an expression of EKS.
fn worked_out(document: &Field<'_>) -> Result<Option<Warning>, ManifestError> {
    const SIZED: &str = "false: what a node reserves by its size is not known here, so that whether reservedMemory is right is not either";
    const COUNTED: &str = "maxPods in spec.kubelet.config: the expression is worked out on the instance, and what is reserved by it";
    let switch = document.descend(&["spec", "autoSizingReserved"])?.filter(Field::is_true);
    let expression = document.descend(&["spec", "kubelet", "maxPodsExpression"])?;
    let sized = switch.map(|switch| Warning(switch.unexpected(SIZED)));
    Ok(sized.or_else(|| expression.map(|expression| Warning(expression.unexpected(COUNTED)))))
}

/// Whether a `KubeletConfig` selects the machines of the control plane, which are never sized unless they are to be.
fn is_of_masters(document: &Field<'_>) -> Result<bool, ManifestError> {
    let labels = document.descend(&["spec", "machineConfigPoolSelector", "matchLabels"])?;
    let Some(labels) = labels.filter(Field::is_mapping) else { return Ok(false) };
    Ok(labels.entries()?.iter().any(|label| label.key.ends_with("/master")))
}
