//! `topolet capture`: a machine's topology as a file that can be read elsewhere, and whether it is still that machine.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use device_manager::Device;
use pod_spec::ResourceName;
use topology_discovery::{Capture, read};
use topology_model::KubeletView;

use crate::Outcome;
use crate::document;
use crate::machine_change::changes;
use crate::node::{self, DeviceText, LoadedMachine, files_of};
use crate::node_file::{Contents, Packing};
use crate::render::{Screen, columns};
use crate::state::{self, PodNames, StateFolder};

#[derive(Args, Debug)]
pub(crate) struct CaptureArguments {
    /// The file to write, NAME.tar.zst; `--machine FILE` reads it anywhere.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Writes nothing, but tells in what the machine differs from the one captured in FILE. Exit status 2 if it does.
    #[arg(long)]
    pub(crate) check: bool,
    /// Packs a node file: beside the topology the kubelet's state, the fields of its configuration that decide,
    /// names of pods, and devices. What is not given is looked for on `live`.
    #[arg(long, conflicts_with = "check")]
    pub(crate) node: bool,
    #[command(flatten)]
    pub(crate) of_node: OfNode,
    /// `live` for this machine, the name of a built-in one, a folder, or a .tar.zst.
    #[arg(short, long, value_name = "MACHINE", default_value = "live")]
    pub(crate) machine: String,
}

/// What is packed into a node file.
#[derive(Args, Debug)]
pub(crate) struct OfNode {
    /// With --node: the kubelet's root folder, or a copy of it.
    #[arg(long, value_name = "DIR", requires = "node")]
    pub(crate) state: Option<PathBuf>,
    /// With --node: the kubelet's configuration.
    #[arg(short, long, value_name = "FILE", requires = "node")]
    pub(crate) config: Option<PathBuf>,
    /// With --node: options of topolet's own.
    #[arg(long, value_name = "FILE", requires = "node")]
    pub(crate) topolet_config: Option<PathBuf>,
    /// With --node: which pods there are, as a folder like /var/log/pods or manifests with UIDs.
    #[arg(long, value_name = "PATH", requires = "node")]
    pub(crate) pods: Option<PathBuf>,
    /// With --node: the devices, as `topolet admit --devices` takes them.
    #[arg(long, value_name = "FILE", requires = "node")]
    pub(crate) devices: Option<PathBuf>,
}

/// Where a kubelet's configuration usually is.
const CONFIGS: [&str; 5] = [
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/home/kubernetes/kubelet-config.yaml",
];

pub(super) fn run(arguments: &CaptureArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (name, tree) = files_of(&arguments.machine)?;
    if arguments.check {
        return check(arguments, &name, &tree, screen);
    }
    let found = read(&tree).with_context(|| format!("failed to read {name}"))?;
    let capture = Capture::of(&tree).with_context(|| format!("failed to capture {name}"))?;
    let lost = changes(&found.machine, &capture.found().machine);
    if !lost.is_empty() {
        bail!("the capture of {name} would be another machine: {}", lost.join("; "));
    }
    let mut told = Vec::new();
    let capture = if arguments.node {
        let packing;
        (packing, told) = contents(arguments)?;
        packing.files.iter().fold(capture, |capture, (path, content)| capture.with_file(path, content))
    } else {
        capture
    };
    let archive = capture.archive()?;
    let path = arguments.file.display();
    let mut file = File::create_new(&arguments.file).with_context(|| format!("failed to create {path}"))?;
    file.write_all(&archive)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("failed to write {path}"))?;
    screen
        .print(&format!("{path}: {} bytes, no serial numbers and no network addresses\n", archive.len()))?;
    screen.print(&columns(told, "  "))?;
    for problem in &found.problems {
        screen.warn(problem);
    }
    Ok(Outcome::Done)
}

/// What goes into the node file, and a line about each part of it.
fn contents(arguments: &CaptureArguments) -> anyhow::Result<(Packing, Vec<Vec<String>>)> {
    let OfNode { state, config, topolet_config, pods, devices } = &arguments.of_node;
    let is_live = arguments.machine == "live";
    let mut told: Vec<Vec<String>> = Vec::new();
    let mut tell = |part: &str, text: String| told.push(vec![part.to_owned(), text]);

    let own = |paths: &[&str]| paths.iter().map(PathBuf::from).find(|path| is_live && path.exists());
    let config = config.clone().or_else(|| own(&CONFIGS));
    let text = config.as_deref().map(decisive_fields).transpose()?;
    tell(
        "config",
        match &config {
            Some(path) => format!("{}: the fields that decide, no others", path.display()),
            None => "none: whoever reads it decides by the built-in configuration `pinned` (--config FILE)"
                .to_owned(),
        },
    );
    let own_config = topolet_config.as_deref().map(|path| -> anyhow::Result<String> {
        node::own_options(path)?;
        Ok(String::from_utf8(document::read(path)?)?)
    });
    let own_config = own_config.transpose()?;

    let has_state = |path: &PathBuf| StateFolder::read(path).is_ok();
    let root = state.clone().or_else(|| own(&[state::OWN]).filter(has_state));
    let folder = root.as_deref().map(StateFolder::read).transpose()?;
    tell(
        "state",
        match &root {
            Some(path) => format!("{}, without what plugins answered", path.display()),
            None => "none: nothing runs there for whoever reads it (--state DIR)".to_owned(),
        },
    );
    let names_from = pods.clone().or_else(|| own(&[state::POD_LOGS]));
    let names = names_from.as_deref().map(PodNames::from_path).transpose()?.unwrap_or_default();
    tell(
        "pods",
        match (&names_from, names.known()) {
            (Some(path), Some(known)) => format!("{}: {} names and UIDs", path.display(), known.len()),
            _ => "none: pods are called by their UIDs (--pods PATH)".to_owned(),
        },
    );
    let found = devices.as_deref().map(|path| devices_of(&arguments.machine, path)).transpose()?;
    let found = found.unwrap_or_default();
    tell(
        "devices",
        match devices {
            Some(path) => format!("{}: {} resources", path.display(), found.len()),
            None => "none: device plugins are not asked (--devices FILE)".to_owned(),
        },
    );
    let contents = Contents { config: text, own_config, state: folder, pods: names, devices: found };
    let packing = contents.pack()?;
    told.extend(packing.notes.iter().map(|note| vec!["note".to_owned(), note.clone()]));
    Ok((packing, told))
}

/// The fields of a configuration that decide, as a text.
fn decisive_fields(path: &Path) -> anyhow::Result<String> {
    let read = node::read_configuration(&path.display().to_string())?;
    node::configuration_text(&read.config)
}

/// The devices that an inventory means on the machine.
fn devices_of(machine: &str, path: &Path) -> anyhow::Result<Vec<(ResourceName, Vec<Device>)>> {
    let machine = LoadedMachine::named(machine)?;
    let view = KubeletView::new(&machine.info)
        .with_context(|| format!("the kubelet could not use machine {}", machine.name))?;
    DeviceText::read(path)?.devices(&machine, view.nodes())
}

fn check(
    arguments: &CaptureArguments,
    name: &str,
    tree: &topology_discovery::SysfsTree,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let file = &arguments.file.to_string_lossy();
    let captured = if file.contains(['/', '.']) { file.to_string() } else { format!("./{file}") };
    let Some(captured) = LoadedMachine::named(&captured)?.machine else {
        bail!("{file} says what cAdvisor sees, not what the machine is");
    };
    let now = read(tree).with_context(|| format!("failed to read {name}"))?.machine;
    let changes = changes(&captured, &now);
    if !changes.is_empty() {
        screen.print(&format!(
            "{name} is no longer what was captured in {file}:\n  {}\n",
            changes.join("\n  ")
        ))?;
        return Ok(Outcome::SomethingWrong);
    }
    screen.print(&format!("{name} is what was captured in {file}\n"))?;
    Ok(Outcome::Done)
}
