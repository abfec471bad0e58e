//! Files with kubelet configurations: the kubelet's own, and those of which others make it.

use node_config::{KubeletConfiguration, Rules};

use crate::cloud_config::{CLOUD_INIT, CloudConfig, cloud_config};
use crate::config_forms::{
    Chosen, ConfigKind, Envelope, KUBEADM_GROUP, NodeClass, ObjectChoice, body, chosen, envelope, fields_of,
    flags, is_of_control_plane, kernel_arguments, kind_of, refused_by_operator, refused_form,
    supported_fields, warn_around, warn_of_zeros,
};
use crate::kubelet_arguments::{FREE_FLAGS, KubeletArgument};
use crate::kubelet_decoder::decoded;
use crate::kubelet_fields::READ;
use crate::node::{Field, Node, Value};
use crate::performance_profile::{self, Profile};
use crate::template::{OPEN, has_open_key, open_part, with_open_places};
use crate::warning::Warning;
use crate::yaml::{Documents, configuration, manifests};
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
    /// Who works out what is reserved for the system.
    pub sizing: NodeSizing,
    /// Which machines of OpenShift it is for.
    pub pool: MachinePool,
    /// What a `PerformanceProfile` says beside it.
    pub profile: Option<Profile>,
    /// What an `EC2NodeClass` of Karpenter or a node group of eksctl says beside it.
    pub node_class: Option<NodeClass>,
    /// Flags of the kubelet that the file sets beside the configuration: `--max-pods=20`.
    pub flags: Vec<KubeletArgument>,
    /// The kinds of the file's other documents, which are not looked at.
    pub others: Vec<String>,
    /// Which of several objects for different nodes is read.
    pub choice: Option<ObjectChoice>,
    /// The fields that decide and that its form has; `None`: all.
    pub fields: Option<&'static [&'static str]>,
    /// The mapping of the file that has these fields, by the keys on the way to it; `None`: it is within a list, or the form has all.
    pub place: Option<Vec<String>>,
    /// Whether nothing in it is the kubelet's.
    pub sets_nothing: bool,
    /// Whether it is a template that is not rendered yet, of which no open place is the kubelet's.
    pub is_template: bool,
    /// Whether it takes the place of the file that the distribution writes, as one in a `MachineConfig` of OpenShift does.
    pub is_whole_file: bool,
}

/// The machines that a file of OpenShift is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MachinePool {
    /// Workers, or it does not say.
    #[default]
    Workers,
    /// Those of the control plane.
    ControlPlane,
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
    if let Some(written) = cloud_config(source)? {
        return of_cloud_config(source, written, rules);
    }
    match envelope(source)? {
        Some(Envelope { text, flags_of, is_of_masters, is_whole_file, unread, .. }) => {
            let mut read = read_document(&Source { name: source.name, text: &text }, rules)?;
            read.kind = flags_of.filter(|_| read.kind == ConfigKind::Kubelet).unwrap_or(read.kind);
            read.is_whole_file = is_whole_file;
            read.unread.extend(unread);
            if read.kind == ConfigKind::OpenShift && is_of_masters {
                read.pool = MachinePool::ControlPlane;
            } else if read.kind == ConfigKind::OpenShift && (is_whole_file || !is_reserved(&read.config)) {
                read.sizing = NodeSizing::NotWritten;
            }
            Ok(read)
        }
        None => match read_document(source, rules) {
            Err(error) if matches!(error.problem(), Problem::Template { .. }) => {
                of_template(source, rules).ok_or(error)
            }
            read => read,
        },
    }
}

/// What a node gets that is made with a `#cloud-config`.
fn of_cloud_config(
    source: &Source<'_>,
    CloudConfig { configuration, kind, flags }: CloudConfig,
    rules: Rules,
) -> Result<KubeletConfigRead, ManifestError> {
    let mut read = match &configuration {
        Some(text) => read_document(&Source { name: source.name, text }, rules)?,
        None => KubeletConfigRead {
            config: KubeletConfiguration { rules, ..KubeletConfiguration::default() },
            kind: ConfigKind::Part(CLOUD_INIT),
            sets_nothing: flags.is_empty(),
            ..KubeletConfigRead::default()
        },
    };
    read.kind = kind.unwrap_or(read.kind);
    read.flags.extend(flags);
    Ok(read)
}

/// What a template sets that is not rendered yet, where none of its places is in a key, or in anything that is read.
fn of_template(source: &Source<'_>, rules: Rules) -> Option<KubeletConfigRead> {
    let text = with_open_places(source.text)?;
    let filled = Source { name: source.name, text: &text };
    if read_documents(&filled).ok()?.nodes.iter().any(has_open_key) {
        return None;
    }
    let mut read = read_document(&filled, rules).ok()?;
    for Warning(error) in read.warnings.iter_mut().chain(&mut read.unread) {
        *error = error.clone().in_text(source.text);
    }
    // Of a flag that decides nothing of resources the value may be open.
    let is_free = |flag: &str| FREE_FLAGS.contains(&flag.split('=').next().unwrap_or_default());
    read.flags.retain(|flag| !flag.text().contains(OPEN) || !is_free(flag.text()));
    let flags = core::mem::take(&mut read.flags);
    let is_open = flags.iter().any(|flag| flag.text().contains(OPEN)) || format!("{read:?}").contains(OPEN);
    (!is_open).then_some(KubeletConfigRead { is_template: true, flags, ..read })
}

fn read_document(source: &Source<'_>, rules: Rules) -> Result<KubeletConfigRead, ManifestError> {
    let mut warnings = Vec::new();
    let Documents { nodes, unnoticed } = read_documents(source)?;
    warnings.extend(unnoticed.into_iter().map(Warning));
    let of_kernel: Vec<Warning> =
        nodes.iter().filter_map(|node| kernel_arguments(&Field::document(source, node))).collect();
    let Chosen { document: chosen, others, flags: flags_beside, choice, warnings: of_others, mut unread } =
        chosen(source, nodes)?;
    warnings.extend(of_others);
    unread.extend(of_kernel);
    let document = Field::document(source, &chosen);
    let kind = kind_of(&document);
    if kind == ConfigKind::PerformanceProfile {
        let config = performance_profile::configuration(&document, rules, &mut warnings)?;
        let profile = Some(Profile::of(&document)?);
        return Ok(KubeletConfigRead {
            config,
            kind,
            warnings,
            profile,
            others,
            choice,
            ..KubeletConfigRead::default()
        });
    }
    if let Some(error) = open_part(&document) {
        return Err(error);
    }
    let body = body(&document)?;
    if let Some(error) = refused_form(&document) {
        return Err(error);
    }
    if let Some(error) = refused_by_operator(&document)? {
        return Err(error);
    }
    warn_around(&document, kind, &mut warnings)?;
    warn_of_zeros(&document, &body, &mut warnings)?;
    unread.extend(worked_out(&document)?);
    let switch = document.descend(&["spec", "autoSizingReserved"])?;
    let flags: Vec<KubeletArgument> = flags_beside.into_iter().chain(flags(&document)?).collect();
    let node_class = NodeClass::of(&document)?;
    let is_user_data = node_class.as_ref().is_some_and(|class| class.user_data.is_some());
    let fields = fields_of(&document, kind)?;
    let keys = || body.path.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
    let place = fields.filter(|_| !body.path.contains('[')).map(|_| keys());
    let kept = supported_fields(&document, &body, kind, &mut warnings)?;
    let body = match &kept {
        Some(node) => Field { source: body.source, node, path: body.path.clone() },
        None => body,
    };
    let is_empty = matches!(&body.node.value, Value::Map(entries) if entries.is_empty());
    let sets_nothing = is_empty && kind != ConfigKind::Kubelet && flags.is_empty() && !is_user_data;
    let static_pods = body.get("staticPodPath")?;
    let static_pod_path = static_pods.and_then(|path| path.text("a path").ok()).map(str::to_owned);
    let mut of_fields = Vec::new();
    let mut config = decoded(body, rules, &mut of_fields)?;
    if let Some(gate) = gate_beside(&document, kind)? {
        config.feature_gates.entry(gate.to_owned()).or_insert(true);
    }
    warnings.extend(of_fields.into_iter().filter(|warning| !is_name_of_form(kind, warning)));
    let is_reserved = is_reserved(&config);
    let pool = match kind {
        ConfigKind::OpenShift if is_of_control_plane(&chosen) => MachinePool::ControlPlane,
        _ => MachinePool::Workers,
    };
    let sizing = match switch {
        Some(switch) if switch.is_true() => NodeSizing::Sized,
        None if kind == ConfigKind::OpenShift && !is_reserved && pool == MachinePool::Workers => {
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
        pool,
        profile: None,
        node_class,
        flags,
        others,
        choice,
        fields,
        place,
        sets_nothing,
        is_template: false,
        is_whole_file: false,
    })
}

/// Whether a configuration names what is reserved for the system.
fn is_reserved(config: &KubeletConfiguration) -> bool {
    ["cpu", "memory", "ephemeral-storage"].iter().any(|name| config.system_reserved.contains_key(*name))
}

/// Whether a form has a field that is none of the kubelet's, or is called otherwise: kops has `anonymousAuth`. A name that is like
/// one of a field that decides is a mistake there too.
fn is_name_of_form(kind: ConfigKind, Warning(warning): &Warning) -> bool {
    let has_names = matches!(kind, ConfigKind::Part("kops" | "AKS" | "GKE" | "Gardener"));
    has_names
        && match warning.problem() {
            Problem::UnknownField { .. } => true,
            Problem::MisspeltField { meant, .. } => !READ.contains(meant),
            _ => false,
        }
}

/// The documents of a configuration: the first, as the kubelet reads it, of a file that may be its own, else all, as kubectl
/// reads them.
pub(crate) fn read_documents(source: &Source<'_>) -> Result<Documents, ManifestError> {
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
    let is_kubeadms =
        |node: &Node| text(node, "apiVersion").is_some_and(|group| group.starts_with(KUBEADM_GROUP));
    let [first, behind @ ..] = documents else { return false };
    let is_without = text(first, "kind").is_none();
    is_other(first) || behind.iter().any(|node| is_kubeadms(node) || is_without && is_other(node))
}

const OWN_KIND: &str = "KubeletConfiguration";

/// The documents with a configuration: one.
pub(crate) fn documents_of(source: &Source<'_>) -> Result<Vec<Node>, ManifestError> {
    if cloud_config(source)?.is_some() {
        let what = "a #cloud-config, in which the files of a node are texts".to_owned();
        let problem = Problem::OtherForm { what, instead: "the file in it that configures the kubelet" };
        return Err(ManifestError::at(source, "", &(0..0), problem));
    }
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

/// The feature gate that a form turns on beside the kubelet's fields: Talos counts the storage of pods by quotas.
fn gate_beside(document: &Field<'_>, kind: ConfigKind) -> Result<Option<&'static str>, ManifestError> {
    if !matches!(kind, ConfigKind::Talos | ConfigKind::TalosControlPlane) {
        return Ok(None);
    }
    let quotas = document.descend(&["machine", "features", "diskQuotaSupport"])?;
    Ok(quotas.filter(Field::is_true).map(|_| "LocalStorageCapacityIsolationFSQuotaMonitoring"))
}
