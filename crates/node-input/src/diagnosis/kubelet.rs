//! The release and the configuration of a node's kubelet.
//!
//! The file that its command line names is the configuration, with the drop-ins of its folder and the flags over both; without a
//! command line a file where kubelets usually have theirs. What the kubelet answered at `/configz` comes next, then the
//! `MachineConfig` that OpenShift's node is annotated with, and an object of the cluster if there is only one.

use node_config::{KubeletConfiguration, KubeletFlags, Rules};
use support_bundle::{Document, DocumentKind, NodeEvidence};
use topology_manifest::{KubeletArgument, KubeletArguments, Source, read_kubelet_arguments};

use crate::base_choice::Reading;
use crate::found_config::FoundConfig;
use crate::kubelet_flags::{self, FlagRefusal};
use crate::kubelet_version::KubeletVersion;
use crate::this_node::CONFIGS;

/// What is known of a node's kubelet.
pub(super) struct FoundKubelet {
    pub(super) version: Option<KubeletVersion>,
    pub(super) config: Option<FoundConfig>,
    /// The files of the configuration, flags too.
    pub(super) files: Vec<String>,
    /// Its flags as they are written.
    arguments: Vec<KubeletArgument>,
}

impl FoundKubelet {
    pub(super) fn of(
        evidence: &NodeEvidence,
        cluster: &[Document],
        notes: &mut Vec<String>,
        contradictions: &mut Vec<String>,
    ) -> Self {
        let version = version(evidence);
        let flags = Flags::of(evidence, notes);
        let arguments = flags.arguments.clone();
        let (config, files) = match own(evidence, &flags, notes, contradictions) {
            Some((config, files)) => (Some(config), files),
            None => match of_cluster(evidence, cluster, notes) {
                Some(document) => {
                    let config = FoundConfig::new(document.path.clone(), document.text.clone());
                    (Some(config), vec![document.path.clone()])
                }
                None => flags.alone(),
            },
        };
        if let Some(config) = &config {
            let version = version.unwrap_or(KubeletVersion::DEFAULT);
            contradictions.extend(differs_from_running(evidence, config, version));
        }
        Self { version, config, files, arguments }
    }

    /// A flag with which a kubelet of these rules does not start.
    pub(super) fn refused_flag(&self, rules: Rules) -> Option<FlagRefusal> {
        let config = KubeletConfiguration { rules, ..KubeletConfiguration::default() };
        kubelet_flags::over(config, &self.arguments).refusal
    }
}

/// The release: what the Node object says, else the last that started by the log.
fn version(evidence: &NodeEvidence) -> Option<KubeletVersion> {
    let reported = evidence.object.as_ref().and_then(|object| object.value.kubelet_version.as_deref());
    let started = || evidence.logs.iter().rev().find_map(|log| log.starts.last());
    reported
        .and_then(KubeletVersion::of_node_object)
        .or_else(|| KubeletVersion::of_log(started()?.version.as_str()))
}

/// The flags of a kubelet.
#[derive(Default)]
struct Flags {
    words: Vec<String>,
    arguments: Vec<KubeletArgument>,
    files: Vec<String>,
}

impl Flags {
    /// The command line of the process that ran, else what units and files of variables make.
    fn of(evidence: &NodeEvidence, notes: &mut Vec<String>) -> Self {
        let (process, units): (Vec<&Document>, Vec<&Document>) =
            evidence.of_kind(DocumentKind::Flags).partition(|document| is_process(document));
        let taken = process.first().map_or(units, |process| vec![*process]);
        if taken.is_empty() {
            return Self::default();
        }
        let files: Vec<String> = taken.iter().map(|document| document.path.clone()).collect();
        let sources: Result<Vec<_>, _> =
            taken.iter().map(|document| Source::from_bytes(&document.path, &document.text)).collect();
        match sources.and_then(|sources| read_kubelet_arguments(&sources)) {
            Ok(KubeletArguments { arguments, missing, .. }) => {
                notes.extend(missing.into_iter().map(|missing| format!("{}: {missing}", files.join(", "))));
                let words = arguments.iter().map(|argument| argument.text().to_owned()).collect();
                Self { words, arguments, files }
            }
            Err(error) => {
                notes.push(format!("flags of the kubelet are not read: {error}"));
                Self::default()
            }
        }
    }

    fn parsed(&self) -> Option<KubeletFlags> {
        KubeletFlags::parse(self.words.iter().map(String::as_str)).ok()
    }

    /// Over the defaults of a kubelet, where they name no file.
    fn alone(self) -> (Option<FoundConfig>, Vec<String>) {
        let Some(flags) =
            self.parsed().filter(|flags| flags.config().is_none() && flags.overriding().next().is_some())
        else {
            return (None, Vec::new());
        };
        let name = format!("flags of {}", self.files.join(", "));
        (Some(FoundConfig::of_flags(name, Vec::new(), flags)), self.files)
    }
}

/// Whether it is the command line of a process.
pub(super) fn is_process(document: &Document) -> bool {
    document.text.split(|byte| *byte == b' ').next().is_some_and(|word| word.ends_with(b"kubelet"))
}

/// The node's own configuration with its flags, and the files that it is of.
fn own(
    evidence: &NodeEvidence,
    flags: &Flags,
    notes: &mut Vec<String>,
    contradictions: &mut Vec<String>,
) -> Option<(FoundConfig, Vec<String>)> {
    let parsed = flags.parsed();
    let named = parsed.as_ref().and_then(|flags| flags.config().map(str::to_owned));
    let folder = parsed.as_ref().and_then(|flags| flags.config_dir().map(str::to_owned));
    let is_drop_in = |document: &&Document| {
        let above = document.on_node.rsplit_once('/').map(|(above, _)| above).unwrap_or_default();
        folder
            .as_deref()
            .map_or_else(|| above.ends_with(".conf.d"), |folder| above.starts_with(folder.trim_matches('/')))
    };
    let (drop_ins, files): (Vec<&Document>, Vec<&Document>) =
        evidence.of_kind(DocumentKind::Configuration).partition(is_drop_in);
    let files = without_printed(files);
    let file = chosen(&files, named.as_deref());
    if let Some(path) = named.as_ref().filter(|path| file.is_none_or(|file| !is_at(file, path))) {
        let taken = file.map_or_else(String::new, |file| format!("; {} is taken for it", file.path));
        notes.push(format!("its kubelet reads {path}, which is not in the bundle{taken}"));
    }
    let Some(file) = file else {
        let configz = evidence.of_kind(DocumentKind::Configz).next()?;
        return Some((
            FoundConfig::new(configz.path.clone(), configz.text.clone()),
            vec![configz.path.clone()],
        ));
    };
    let others = files.iter().filter(|other| other.path != file.path && other.text != file.text);
    let others: Vec<&str> = others.map(|other| other.path.as_str()).collect();
    if !others.is_empty() && named.is_none() {
        contradictions.push(format!(
            "there are several configurations of a kubelet: {} is taken, and {} differs from it",
            file.path,
            others.join(", ")
        ));
    }
    let mut texts = vec![(file.path.clone(), file.text.clone())];
    texts.extend(drop_ins.iter().map(|document| (document.path.clone(), document.text.clone())));
    let mut paths: Vec<String> = texts.iter().map(|(path, _)| path.clone()).collect();
    let mut name = file.path.clone();
    if !drop_ins.is_empty() {
        let count =
            if drop_ins.len() == 1 { "1 drop-in".to_owned() } else { format!("{} drop-ins", drop_ins.len()) };
        name.push_str(&format!(" with {count}"));
    }
    let is_over = parsed.as_ref().is_some_and(|flags| flags.overriding().next().is_some());
    if !is_over && drop_ins.is_empty() {
        return Some((FoundConfig::new(name, file.text.clone()), paths));
    }
    if is_over {
        name.push_str(" with flags");
        paths.extend(flags.files.iter().cloned());
    }
    // A file lies beneath the flags, whether they name it or a unit that is not known does.
    let config = format!("--config=/{}", file.on_node);
    let words = flags.words.iter().map(String::as_str).chain(named.is_none().then_some(config.as_str()));
    let flags = KubeletFlags::parse(words).ok()?;
    Some((FoundConfig::of_flags(name, texts, flags), paths))
}

/// The files without what `topolet config show` has printed of one, unless there are no others.
fn without_printed(files: Vec<&Document>) -> Vec<&Document> {
    let is_printed = |document: &&Document| {
        let head = document.text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        head.starts_with(b"# ") && String::from_utf8_lossy(head).contains(", of kubelet v")
    };
    let (printed, others): (Vec<&Document>, Vec<&Document>) = files.into_iter().partition(is_printed);
    if others.is_empty() { printed } else { others }
}

/// The file that is named, else one where kubelets usually have theirs, else the first.
fn chosen<'d>(files: &[&'d Document], named: Option<&str>) -> Option<&'d Document> {
    let at = |path: &str| files.iter().find(|file| is_at(file, path)).copied();
    let usual = || CONFIGS.into_iter().find_map(at);
    named.and_then(at).or_else(usual).or_else(|| files.first().copied())
}

fn is_at(file: &Document, path: &str) -> bool {
    file.on_node == path.trim_start_matches('/')
}

/// The object of the cluster that makes the node's configuration.
fn of_cluster<'d>(
    evidence: &NodeEvidence,
    cluster: &'d [Document],
    notes: &mut Vec<String>,
) -> Option<&'d Document> {
    let is_called = |document: &&Document, name: &str| {
        let file = document.path.rsplit('/').next().unwrap_or_default();
        file.trim_end_matches(".yaml").trim_end_matches(".json") == name
    };
    let rendered = evidence.object.as_ref().and_then(|object| object.value.machine_config.as_deref());
    if let Some(name) = rendered
        && let Some(document) = cluster.iter().find(|document| is_called(document, name))
    {
        return Some(document);
    }
    // A MachineConfig that is not the node's may write any file.
    let of_operator: Vec<&Document> =
        cluster.iter().filter(|document| !document.path.contains("/machineconfigs/")).collect();
    match of_operator.as_slice() {
        [] => None,
        [only] => {
            notes.push(format!(
                "its configuration is taken to be what {} makes: the node's own file is not in the bundle",
                only.path
            ));
            Some(only)
        }
        several => {
            let paths: Vec<&str> = several.iter().map(|document| document.path.as_str()).collect();
            notes.push(format!(
                "which of several objects makes its configuration is not known: {}",
                paths.join(", ")
            ));
            None
        }
    }
}

/// In which fields the file differs from what the kubelet runs with.
fn differs_from_running(
    evidence: &NodeEvidence,
    config: &FoundConfig,
    version: KubeletVersion,
) -> Option<String> {
    let configz = evidence.of_kind(DocumentKind::Configz).next()?;
    if config.name() == configz.path {
        return None;
    }
    let reading = Reading::from(version.rules());
    // The number of CPUs matters to distributions' bases alone, which are in neither.
    let fields = |config: &FoundConfig| {
        let read = config.read(1, reading).ok()?;
        serde_json::to_value(read.config).ok()?.as_object().cloned()
    };
    let file = fields(config)?;
    let runs = fields(&FoundConfig::new(configz.path.clone(), configz.text.clone()))?;
    let keys: std::collections::BTreeSet<&String> = file.keys().chain(runs.keys()).collect();
    let differ: Vec<&str> =
        keys.into_iter().filter(|key| file.get(*key) != runs.get(*key)).map(String::as_str).collect();
    (!differ.is_empty()).then(|| {
        format!(
            "{} differs from what the kubelet runs with ({}) in {}: it has not restarted since, or reads another file; the file \
             decides here",
            config.name(),
            configz.path,
            differ.join(", ")
        )
    })
}
