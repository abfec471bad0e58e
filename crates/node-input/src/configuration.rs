//! The kubelet configuration: a file's, or a built-in one.

use admission_report::Notice;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use config_advice::pinned;
use distribution_config::{Base, Distribution, Reservation};
use node_config::{KubeletConfiguration, KubeletFlags, OwnOptions};
use node_output::manifest_error;
use topology_manifest::{
    ConfigKind, KubeletConfigRead, Profile, Source, Warning, read_kubelet_config_of, read_kubelet_drop_ins,
    read_own_options,
};
use topology_model::KubeletView;

use crate::base_choice::{BaseChoice, Reading, of_another_release};
use crate::bottlerocket;

/// The built-in configuration that pins as much as the kubelet can.
pub const PINNED: &str = "pinned";
/// What a kubelet without a configuration file does.
pub(crate) const DEFAULTS: &str = "kubelet-defaults";

/// A configuration and what it is called.
pub struct ReadConfiguration {
    /// As it is shown.
    pub name: String,
    /// Its fields that decide.
    pub config: KubeletConfiguration,
    /// Where the kubelet reads static pods.
    pub static_pods: Option<PathBuf>,
    /// Who makes the kubelet's own file of it.
    pub kind: ConfigKind,
    /// What in it has no effect.
    pub warnings: Vec<Warning>,
    /// What in it decides too, and is not read.
    pub unread: Vec<Warning>,
    /// What a `PerformanceProfile` says beside it.
    pub profile: Option<Profile>,
    /// The flags of the kubelet that decide over its files.
    pub(crate) flags: Option<Box<KubeletFlags>>,
    /// The kinds of the file's other documents.
    others: Vec<String>,
    /// What of [`config`](Self::config) is its distribution's.
    base: Base,
}

impl ReadConfiguration {
    /// What it is called where it is shown: with the base that it lies over.
    #[must_use]
    pub fn shown_name(&self) -> String {
        let name = &self.name;
        match (self.base.distribution(), self.base.reservation()) {
            (Some(base), _) => format!("{name} over base {base}"),
            (None, Reservation::Unknown) => format!("{name} over base unknown"),
            (None, _) => name.clone(),
        }
    }

    /// What is not sure about the base beneath the file: memory that the node reserves, and another release.
    pub fn notices(&self) -> impl Iterator<Item = Notice> {
        let distribution = self.base.distribution();
        let of_other = distribution.and_then(|base| of_another_release(base, self.config.rules));
        let others = (!self.others.is_empty()).then(|| {
            let (name, others) = (&self.name, self.others.join(", "));
            format!("{name}: of its documents one is the kubelet's configuration; not looked at: {others}")
        });
        self.gap().into_iter().chain(of_other.into_iter().chain(others).map(Notice::warning))
    }

    /// A warning that the node reserves memory that the file does not contain, and which amount is assumed.
    fn gap(&self) -> Option<Notice> {
        let name = &self.name;
        let who = self.who_reserves();
        let text = match self.base.reservation() {
            Reservation::Known | Reservation::BySize => return None,
            Reservation::Unknown => {
                let ConfigKind::Part(maker) = self.kind else { return None };
                format!(
                    "{name}: what {maker} sets beneath it is not known here; decided as if it set nothing. --base NAME says what \
                     it is"
                )
            }
            Reservation::ForPods(pods) => format!(
                "{name}: {who}; its reservedMemory is right where an instance has {pods} pods, and decided as if it had"
            ),
            Reservation::ForNoPods(pods) => format!(
                "{name}: {who}; its reservedMemory is right for no number of pods, and decided as if an instance had {pods}, the nearest"
            ),
            Reservation::UnlessPodsAreSet => format!(
                "{name}: {who}; decided as if nothing set max-pods, for which its reservedMemory is right"
            ),
            Reservation::ByPods => format!(
                "{name}: {who}, which is not known here; decided as if no memory were reserved for the kubelet"
            ),
        };
        Some(Notice::warning(text))
    }

    /// How the memory of the kubelet is reserved where the file does not say it.
    const fn who_reserves(&self) -> &'static str {
        match self.base.distribution() {
            Some(Distribution::Bottlerocket) => {
                "Bottlerocket on Amazon's instances sets max-pods by the instance type, and reserves memory for the kubelet by \
                 that, 255Mi and 11Mi for each pod"
            }
            _ => {
                "nodeadm reserves memory for the kubelet by the instance type, 255Mi and 11Mi for each of its pods"
            }
        }
    }

    /// Whether a kubelet starts with its `reservedMemory` is not known, since what is reserved in all is not; as text to be
    /// shown.
    #[must_use]
    pub fn start_not_known(&self) -> Option<String> {
        match self.base.reservation() {
            Reservation::UnlessPodsAreSet => Some(format!(
                "right only where nothing sets max-pods: {}. kube-reserved with memory, or max-pods, makes it known",
                self.who_reserves()
            )),
            _ => None,
        }
    }

    /// Whether the memory that is reserved is worked out by the node, so that nothing that has to fit it can be judged or
    /// proposed.
    #[must_use]
    pub fn leaves_memory_open(&self) -> bool {
        matches!(self.base.reservation(), Reservation::BySize | Reservation::Unknown)
    }

    /// Whether it is not known what is set beneath the configuration.
    #[must_use]
    pub fn is_over_unknown(&self) -> bool {
        self.base.reservation() == Reservation::Unknown
    }

    /// What a proposal that reserves memory for the kubelet writes over, as text to be shown; `None`: nothing that is not in
    /// the file.
    #[must_use]
    pub fn written_over(&self, proposal: &KubeletConfiguration) -> Option<String> {
        let is_open = matches!(
            self.base.reservation(),
            Reservation::ByPods | Reservation::ForNoPods(_) | Reservation::UnlessPodsAreSet
        );
        let memory = proposal.kube_reserved.get("memory").filter(|_| is_open)?;
        Some(format!(
            "kubeReserved with memory: {memory} takes the place of what the node reserves by itself, which may be more: {}",
            self.who_reserves()
        ))
    }

    /// The same with flags of the kubelet that the file sets.
    fn with_flags(mut self, flags: &[String]) -> anyhow::Result<Self> {
        if flags.is_empty() {
            return Ok(self);
        }
        let failed = || format!("the kubelet does not start with its flags over {}", self.name);
        // Each of these distributions starts its kubelet with a file or a folder of them.
        let arguments = ["--config-dir=."].into_iter().chain(flags.iter().map(String::as_str));
        let flags = KubeletFlags::parse(arguments).with_context(failed)?;
        self.config = flags.over(self.config.clone()).with_context(failed)?;
        self.flags = Some(Box::new(flags));
        Ok(self)
    }

    /// That flags decide over what a proposal changes in files, as text to be shown; `None`: no flag does.
    #[must_use]
    pub fn flags_over<'f>(&self, fields: impl IntoIterator<Item = &'f str>) -> Option<String> {
        let flags = self.flags.as_ref()?;
        let of_field = |field: &'f str| Some(format!("--{} decides on {field}", flags.over_field(field)?));
        let decide: Vec<String> = fields.into_iter().filter_map(of_field).collect();
        (!decide.is_empty()).then(|| {
            format!(
                "{} over every file: change it on the kubelet's command line, or take it away there",
                decide.join(", ")
            )
        })
    }

    /// The configuration without an assumed reservation that fits no node.
    #[must_use]
    pub fn without_assumed(&self) -> KubeletConfiguration {
        let mut config = self.config.clone();
        if matches!(self.base.reservation(), Reservation::ForNoPods(_)) {
            config.kube_reserved.remove("memory");
        }
        config
    }

    /// The configuration that a proposal starts from: also without a `reservedMemory` that fits no node.
    #[must_use]
    pub fn proposed_from(&self) -> KubeletConfiguration {
        let mut config = self.without_assumed();
        if matches!(self.base.reservation(), Reservation::ForNoPods(_)) {
            config.reserved_memory.clear();
        }
        config
    }

    /// A proposal for the kubelet's configuration, as it has to be written over what the distribution sets.
    #[must_use]
    pub fn written(&self, proposal: KubeletConfiguration) -> KubeletConfiguration {
        let mut written = self.base.over(proposal);
        if self.kind == ConfigKind::PerformanceProfile {
            // The node tuning operator always sets it.
            written.cpu_manager_reconcile_period = self.config.cpu_manager_reconcile_period;
        }
        if !self.leaves_memory_open() {
            return written;
        }
        let own = self.config.clone();
        KubeletConfiguration {
            memory_manager_policy: own.memory_manager_policy,
            reserved_memory: own.reserved_memory,
            system_reserved: own.system_reserved,
            kube_reserved: own.kube_reserved,
            eviction_hard: own.eviction_hard,
            ..written
        }
    }
}

/// The configuration `argument`: a built-in one or a file; without an argument [`PINNED`].
pub(crate) fn read(
    argument: Option<&str>,
    view: &KubeletView,
    reading: Reading,
) -> anyhow::Result<ReadConfiguration> {
    let argument = argument.unwrap_or(PINNED);
    let built_in = |config| ReadConfiguration {
        name: argument.to_owned(),
        config: KubeletConfiguration { rules: reading.rules, ..config },
        static_pods: None,
        kind: ConfigKind::Kubelet,
        warnings: Vec::new(),
        unread: Vec::new(),
        profile: None,
        flags: None,
        others: Vec::new(),
        base: Base::default(),
    };
    match argument {
        PINNED => Ok(built_in(pinned(view))),
        DEFAULTS => Ok(built_in(KubeletConfiguration::default())),
        path => from_file(path, view.cpus().num_cpus(), reading),
    }
}

/// The options of topolet's own in the file `path`.
pub(crate) fn own_options(path: &Path) -> anyhow::Result<OwnOptions> {
    own_options_of(&path.display().to_string(), &crate::files::read(path)?)
}

/// The same from the text `name`.
pub(crate) fn own_options_of(name: &str, text: &[u8]) -> anyhow::Result<OwnOptions> {
    let read = Source::from_bytes(name, text).and_then(|source| read_own_options(&source));
    Ok(read.map_err(manifest_error)?)
}

/// The configuration in a file, or in a folder of drop-ins, on a machine with so many CPUs.
pub(crate) fn from_file(path: &str, cpus: usize, reading: Reading) -> anyhow::Result<ReadConfiguration> {
    if Path::new(path).is_dir() {
        return from_folder(path, cpus, reading);
    }
    from_text(path, &bytes(path)?, cpus, reading)
}

/// What a kubelet makes of a `--config-dir`: the files below it that are called `*.conf`, merged in the order of their
/// names.
pub(crate) fn from_folder(folder: &str, cpus: usize, reading: Reading) -> anyhow::Result<ReadConfiguration> {
    let mut files = Vec::new();
    drop_ins(Path::new(folder), &mut files).with_context(|| format!("failed to read folder {folder}"))?;
    ensure!(
        !files.is_empty(),
        "{folder} is a folder without a drop-in: a kubelet's --config-dir has files called *.conf; its --config can be put \
         there as {BASE}"
    );
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let texts = files.iter().map(|path| crate::files::read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let named = names.iter().zip(&texts);
    let read = named
        .map(|(name, text)| Source::from_bytes(name, text))
        .collect::<Result<Vec<_>, _>>()
        .and_then(|sources| match sources.as_slice() {
            [file, drop_ins @ ..] if is_base(file.name) => {
                read_kubelet_drop_ins(Some(file), drop_ins, reading.rules)
            }
            drop_ins => read_kubelet_drop_ins(Some(&PLAIN), drop_ins, reading.rules),
        })
        .map_err(manifest_error)?;
    Ok(of_read(folder, read, cpus, reading.base))
}

/// A configuration file that sets nothing.
const PLAIN: Source<'static> = Source {
    name: "--config",
    text: "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
};

/// Whether a drop-in stands for the file of `--config`.
fn is_base(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name == BASE)
}

const BASE: &str = "00-base.conf";

/// Adds the drop-ins below a folder in the kubelet's order: by name, those of a folder where its name stands.
pub(crate) fn drop_ins(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links to folders are files to the kubelet, too.
        if entry.file_type()?.is_dir() {
            drop_ins(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "conf") {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a configuration of this name is built in.
pub(crate) fn is_built_in(name: &str) -> bool {
    matches!(name, PINNED | DEFAULTS)
}

/// What is in the file of a configuration.
pub(crate) fn bytes(path: &str) -> anyhow::Result<Vec<u8>> {
    let path = Path::new(path);
    crate::files::read(path).with_context(|| {
        format!("failed to read configuration {} (built in are {PINNED} and {DEFAULTS})", path.display())
    })
}

/// The configuration in a text that is called `name`, on a machine with so many CPUs.
///
/// # Errors
/// It is none.
pub fn from_text(
    name: &str,
    text: &[u8],
    cpus: usize,
    reading: Reading,
) -> anyhow::Result<ReadConfiguration> {
    let Reading { rules, base } = reading;
    if let Some(settings) = settings(text) {
        let made = bottlerocket::configuration(name, settings, cpus)?;
        let source = Source { name, text: &made };
        let read = read_kubelet_config_of(&source, rules).map_err(manifest_error)?;
        let warnings = bottlerocket::without_effect(&Source { name, text: settings });
        let read = KubeletConfigRead { kind: ConfigKind::Bottlerocket, ..read };
        return Ok(ReadConfiguration { warnings, ..of_read(name, read, cpus, base) });
    }
    let read = Source::from_bytes(name, text)
        .and_then(|source| read_kubelet_config_of(&source, rules))
        .map_err(manifest_error)?;
    let flags = read.flags.clone();
    of_read(name, read, cpus, base).with_flags(&flags)
}

/// Settings of Bottlerocket, if the text is such.
fn settings(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok().filter(|text| bottlerocket::is_one(text))
}

/// Whether a text is settings of Bottlerocket, which are no configuration themselves.
pub(crate) fn is_settings(text: &[u8]) -> bool {
    settings(text).is_some()
}

/// On a machine with so many CPUs, over the base that is asked for, else over the one that the form of the file tells.
pub(crate) fn of_read(
    name: &str,
    read: KubeletConfigRead,
    cpus: usize,
    base: Option<BaseChoice>,
) -> ReadConfiguration {
    let of = |one| Base::of(one, &read.config, cpus);
    let base = match (base, read.kind) {
        (Some(BaseChoice::None), _) => Base::default(),
        (Some(BaseChoice::Of(distribution)), _) => of(distribution),
        (None, ConfigKind::Part(_)) => Base::unknown(),
        (None, kind) => distribution_of(kind).map_or_else(Base::default, of),
    };
    let base = if read.is_sized_by_node { base.sized_by_node() } else { base };
    ReadConfiguration {
        name: name.to_owned(),
        config: base.under(read.config),
        static_pods: read.static_pod_path.map(PathBuf::from),
        kind: read.kind,
        warnings: read.warnings,
        unread: read.unread,
        profile: read.profile,
        flags: None,
        others: read.others,
        base,
    }
}

/// Who makes the kubelet's own file of a form.
const fn distribution_of(kind: ConfigKind) -> Option<Distribution> {
    match kind {
        ConfigKind::Kubelet | ConfigKind::Part(_) => None,
        ConfigKind::OpenShift | ConfigKind::PerformanceProfile => Some(Distribution::OpenShift),
        ConfigKind::Eks => Some(Distribution::Eks),
        ConfigKind::Bottlerocket => Some(Distribution::Bottlerocket),
        ConfigKind::Talos => Some(Distribution::Talos),
        ConfigKind::TalosControlPlane => Some(Distribution::TalosControlPlane),
        ConfigKind::K3s => Some(Distribution::K3s),
    }
}
