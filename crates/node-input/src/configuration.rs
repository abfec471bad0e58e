//! The kubelet configuration: a file's, or a built-in one.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use config_advice::pinned;
use distribution_config::{Base, Distribution, InstanceType};
use node_config::{KubeletConfiguration, OwnOptions};
use node_output::manifest_error;
use topology_manifest::{
    ConfigKind, ImageFamily, KubeletArguments, KubeletConfigRead, MachinePool, NodeSizing, Source,
    is_bootstrap_script, is_kubelet_arguments, read_bootstrap_script, read_kubelet_arguments,
    read_kubelet_config_of, read_kubelet_drop_ins, read_own_options,
};
use topology_model::KubeletView;

use crate::base_choice::{BaseChoice, Reading};
use crate::bottlerocket;
use crate::k3s_folder;
use crate::kubelet_flags;
use crate::node_class::with_user_data;
use crate::read_configuration::{KUBEADM_PATCH, ReadConfiguration, WITHOUT_KIND};
use crate::stated_release;

/// The built-in configuration that pins as much as the kubelet can.
pub const PINNED: &str = "pinned";
/// What a kubelet without a configuration file does.
pub(crate) const DEFAULTS: &str = "kubelet-defaults";

/// The configuration `argument`: a built-in one or a file. Without an argument [`PINNED`], or where a base is given the
/// kubelet's defaults over it.
pub(crate) fn read(
    argument: Option<&str>,
    view: &KubeletView,
    reading: Reading<'_>,
) -> anyhow::Result<ReadConfiguration> {
    let base = reading.base.filter(|base| *base != BaseChoice::None);
    let argument = argument.unwrap_or(if base.is_some() { DEFAULTS } else { PINNED });
    ensure!(
        argument != PINNED || base.is_none(),
        "--base lies beneath the file of --config; {PINNED} has none beneath it"
    );
    let built_in = |config| ReadConfiguration {
        name: argument.to_owned(),
        config: KubeletConfiguration { rules: reading.rules, ..config },
        static_pods: None,
        kind: ConfigKind::Kubelet,
        warnings: Vec::new(),
        unread: Vec::new(),
        profile: None,
        flags: None,
        refusal: None,
        missing: Vec::new(),
        others: Vec::new(),
        choice: None,
        arguments: Vec::new(),
        left_out: Vec::new(),
        command_line: None,
        fields: None,
        place: None,
        sets_nothing: false,
        is_template: false,
        release: None,
        base: Base::default(),
    };
    match argument {
        PINNED => Ok(built_in(pinned(view))),
        DEFAULTS => {
            let made = built_in(KubeletConfiguration::default());
            let base = base.map(|base| base_of(base, &made.config, view.cpus().num_cpus()));
            let base = base.unwrap_or_default();
            Ok(ReadConfiguration { config: base.under(made.config.clone()), base, ..made })
        }
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
pub(crate) fn from_file(path: &str, cpus: usize, reading: Reading<'_>) -> anyhow::Result<ReadConfiguration> {
    if Path::new(path).is_dir() {
        return from_folder(path, cpus, reading);
    }
    from_text(path, &bytes(path)?, cpus, reading)
}

/// What a kubelet makes of a `--config-dir`: the files below it that are called `*.conf`, merged in the order of their
/// names.
pub(crate) fn from_folder(
    folder: &str,
    cpus: usize,
    reading: Reading<'_>,
) -> anyhow::Result<ReadConfiguration> {
    let mut files = Vec::new();
    let failed = || format!("failed to read folder {folder}");
    drop_ins(Path::new(folder), &mut files).with_context(failed)?;
    if files.is_empty()
        && let Some((read, missing)) =
            k3s_folder::read(Path::new(folder), reading.rules).with_context(failed)?
    {
        let made = of_read(folder, read, cpus, reading.base);
        return Ok(ReadConfiguration { missing: [made.missing, missing].concat(), ..made });
    }
    ensure!(
        !files.is_empty(),
        "{folder} is a folder without a drop-in: a kubelet's --config-dir has files called *.conf; its --config can be put \
         there as {BASE}. k3s and RKE2 read config.yaml, and config.yaml.d with files called *.yaml"
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
    reading: Reading<'_>,
) -> anyhow::Result<ReadConfiguration> {
    let Reading { rules, base, .. } = reading;
    if let Some(settings) = settings(text) {
        let made = bottlerocket::configuration(name, settings, cpus)?;
        let source = Source { name, text: &made };
        let read = read_kubelet_config_of(&source, rules).map_err(manifest_error)?;
        let warnings = bottlerocket::without_effect(&Source { name, text: settings });
        let read = KubeletConfigRead { kind: ConfigKind::Bottlerocket, ..read };
        return Ok(ReadConfiguration { warnings, ..of_read(name, read, cpus, base) });
    }
    let source = Source::from_bytes(name, text).map_err(manifest_error)?;
    if is_bootstrap_script(source.text) {
        let read = read_bootstrap_script(&source).map_err(manifest_error)?;
        return Ok(of_arguments(name, &read, cpus, reading));
    }
    if is_kubelet_arguments(source.text) {
        let read = read_kubelet_arguments(&[source]).map_err(manifest_error)?;
        return Ok(of_arguments(name, &read, cpus, reading));
    }
    let mut read = read_kubelet_config_of(&source, rules).map_err(manifest_error)?;
    if let Some(class) = read.node_class.clone() {
        read = with_user_data(name, &class, read, cpus)?;
    }
    if is_kubeadm_patch(name) && matches!(read.kind, ConfigKind::Kubelet | ConfigKind::Part(WITHOUT_KIND)) {
        read.kind = ConfigKind::Part(KUBEADM_PATCH);
    }
    let release = stated_release::notice(&source, reading);
    Ok(ReadConfiguration { release, ..of_read(name, read, cpus, base) })
}

/// Whether a file is called as those are that `kubeadm --patches` lays over the kubelet's configuration:
/// `kubeletconfiguration0+merge.yaml`.
fn is_kubeadm_patch(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let rest = name.strip_prefix("kubeletconfiguration").unwrap_or_default();
    let (suffix, kind) =
        rest.split_once('+').or_else(|| Some(("", rest.strip_prefix('.')?))).unwrap_or(("+", ""));
    suffix.chars().all(|letter| letter.is_ascii_alphanumeric()) && !kind.is_empty()
}

/// Flags that are given in the place of a configuration.
pub(crate) fn of_flags(cpus: usize, reading: Reading<'_>) -> anyhow::Result<ReadConfiguration> {
    let name = match reading.flags {
        [one] if Path::new(one).exists() => one.clone(),
        _ => "--kubelet-flags".to_owned(),
    };
    Ok(of_arguments(&name, &kubelet_flags::given(reading.flags)?, cpus, reading))
}

fn of_arguments(name: &str, read: &KubeletArguments, cpus: usize, reading: Reading<'_>) -> ReadConfiguration {
    let made = of_read(name, kubelet_flags::alone(read, reading.rules), cpus, reading.base);
    let missing = [made.missing.as_slice(), &read.missing].concat();
    ReadConfiguration { missing, ..made }
}

/// Settings of Bottlerocket, if the text is such.
fn settings(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok().filter(|text| bottlerocket::is_one(text))
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
        (Some(base), _) => base_of(base, &read.config, cpus),
        (None, ConfigKind::Part(_) | ConfigKind::Flags) => {
            let class = read.node_class.as_ref();
            let instance = class.and_then(|class| InstanceType::named(class.instance.as_deref()?));
            match class.map(|class| class.family) {
                Some(ImageFamily::AmazonLinux2023) => {
                    let on = |instance| Base::on_instance(instance, &read.config, cpus);
                    instance.map_or_else(|| of(Distribution::Eks), on)
                }
                Some(ImageFamily::Bottlerocket) => of(Distribution::Bottlerocket),
                Some(ImageFamily::Other) | None => Base::unknown(),
            }
        }
        (None, kind) => distribution_of(kind).map_or_else(Base::default, of),
    };
    let base = if read.is_whole_file && base.distribution() == Some(Distribution::OpenShift) {
        base.with_file_replaced()
    } else {
        base
    };
    let base = match read.pool {
        MachinePool::ControlPlane => base.on_control_plane(),
        MachinePool::Workers => base,
    };
    let base = match read.sizing {
        NodeSizing::Sized => base.sized_by_node(),
        NodeSizing::NotWritten if base.distribution() == Some(Distribution::OpenShift) => {
            base.sized_unless_updated()
        }
        NodeSizing::Fixed | NodeSizing::NotWritten => base,
    };
    ReadConfiguration {
        name: name.to_owned(),
        config: base.under(read.config),
        static_pods: read.static_pod_path.map(PathBuf::from),
        kind: read.kind,
        warnings: read.warnings,
        unread: read.unread,
        profile: read.profile,
        flags: None,
        refusal: None,
        missing: Vec::new(),
        others: read.others,
        choice: read.choice,
        arguments: Vec::new(),
        left_out: Vec::new(),
        command_line: None,
        fields: read.fields,
        place: read.place,
        sets_nothing: read.sets_nothing,
        is_template: read.is_template,
        release: None,
        base,
    }
    .with_own_flags(&read.flags)
}

/// The base that is asked for, beneath `own` on a machine with so many CPUs.
fn base_of(base: BaseChoice, own: &KubeletConfiguration, cpus: usize) -> Base {
    match base {
        BaseChoice::None => Base::default(),
        BaseChoice::Of(distribution) => Base::of(distribution, own, cpus),
        BaseChoice::Instance(instance) => Base::on_instance(instance, own, cpus),
    }
}

/// Who makes the kubelet's own file of a form.
const fn distribution_of(kind: ConfigKind) -> Option<Distribution> {
    match kind {
        ConfigKind::Kubelet | ConfigKind::Flags | ConfigKind::Part(_) => None,
        ConfigKind::OpenShift | ConfigKind::PerformanceProfile => Some(Distribution::OpenShift),
        ConfigKind::Eks => Some(Distribution::Eks),
        ConfigKind::Bottlerocket => Some(Distribution::Bottlerocket),
        ConfigKind::Talos => Some(Distribution::Talos),
        ConfigKind::TalosControlPlane => Some(Distribution::TalosControlPlane),
        ConfigKind::K3s => Some(Distribution::K3s),
        ConfigKind::Rke2 => Some(Distribution::Rke2),
    }
}
