//! `topolet capture`: a machine's topology as a file that can be read elsewhere, and whether it is still that machine.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use admission_report::Notice;
use anyhow::{Context as _, bail};
use clap::Args;
use node_input::{
    Gathered, Given, LoadedMachine, MachineSource, MissingMemory, ObjectText, Packing, armored,
    changed_problems, changes, files_of,
};
use topology_discovery::{Capture, Discovery, fold, read};

use crate::cluster_arguments::ClaimServerArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

/// How names of captures end.
const SUFFIX: &str = ".tar.zst";

#[derive(Args, Debug)]
pub(crate) struct CaptureArguments {
    /// The file to write, NAME.tar.zst; `--machine FILE` reads it anywhere. `-` prints it as text instead, for where only a log can be
    /// read (`sed -n '/^-----BEGIN/,/^-----END/{/^-----/!p;}' | base64 --decode`).
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Writes nothing, but tells in what the machine and the problems of its files differ from those captured in FILE.
    /// Exit status 2 if they do.
    #[arg(long)]
    pub(crate) check: bool,
    /// Packs a node file: beside the topology the kubelet's state, the fields of its configuration that decide,
    /// names of pods, and devices. What is not given is looked for on `live`.
    #[arg(long, conflicts_with = "check")]
    pub(crate) node: bool,
    #[command(flatten)]
    pub(crate) of_node: OfNode,
    /// `live` for this machine, the name of a built-in one, a folder, or an archive.
    #[arg(short, long, value_name = "MACHINE", default_value = "live")]
    pub(crate) machine: String,
}

/// What is packed into a node file.
#[derive(Args, Debug)]
pub(crate) struct OfNode {
    /// With --node: the kubelet's root folder, or a copy of it.
    #[arg(long, value_name = "DIR", requires = "node")]
    pub(crate) state: Option<PathBuf>,
    /// With --node: the kubelet's configuration, or the name of a built-in one.
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
    /// With --node: slices, device classes, claims and templates of claims, as `topolet admit -f` takes them. Can be given more
    /// than once.
    #[arg(long, value_name = "FILE", requires = "node")]
    pub(crate) claims: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ClaimServerArguments,
    /// With --node: what slices call the node. Those of other nodes are left out; without it
    /// those of all nodes are packed.
    #[arg(long, value_name = "NAME", requires = "node")]
    pub(crate) node_name: Option<String>,
    /// With --node: the process id of the kubelet that is meant, where several run.
    #[arg(long, value_name = "PID", requires = "node")]
    pub(crate) kubelet_pid: Option<u32>,
}

pub(super) fn run(arguments: &CaptureArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let path = arguments.file.display();
    let is_printed = arguments.file.as_os_str() == "-" && !arguments.check;
    if let Some(option) = arguments.of_node.server.given().filter(|_| !arguments.node) {
        bail!("{option} goes with --node: a machine has no claims");
    }
    if !arguments.check && !is_printed && !arguments.file.to_string_lossy().ends_with(SUFFIX) {
        bail!("a capture is packed as {SUFFIX}, and its name ends so: {path}{SUFFIX}");
    }
    let (name, tree) = files_of(&arguments.machine)?;
    if arguments.check {
        return check(arguments, &name, &tree, screen);
    }
    let found = read(&tree).with_context(|| format!("failed to read {name}"))?;
    let capture = Capture::of(&tree).with_context(|| format!("failed to capture {name}"))?;
    let lost = changes(&found.machine, &capture.found().machine);
    if !lost.is_empty() || found.info != capture.found().info {
        bail!("the capture of {name} would be another machine: {}", lost.join("; "));
    }
    for change in changed_problems(&found.problems, &capture.found().problems) {
        screen.warn(Notice::warning(format!("the capture has other problems than {name}: {change}")));
    }
    let mut told = Vec::new();
    let capture = if arguments.node {
        let packing;
        (packing, told) = contents(arguments, screen)?;
        packing.files.iter().fold(capture, |capture, (path, content)| capture.with_file(path, content))
    } else {
        capture
    };
    let archive = capture.archive()?;
    if is_printed {
        screen.print(&armored(&archive))?;
        return Ok(Outcome::Done);
    }
    let mut file = match File::create_new(&arguments.file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{path} is there already, and is not written over")
        }
        created => created.with_context(|| format!("failed to create {path}"))?,
    };
    file.write_all(&archive)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("failed to write {path}"))?;
    screen
        .print(&format!("{path}: {} bytes, no serial numbers and no network addresses\n", archive.len()))?;
    screen.print(&screen.page.columns(told, "  "))?;
    for problem in fold(&found.problems) {
        screen.warn(problem);
    }
    if let Some(missing) = MissingMemory::of(&found, &tree, &arguments.machine) {
        screen.warn(Notice::warning(missing.to_string()));
    }
    Ok(Outcome::Done)
}

/// What goes into the node file, and a line about each part of it.
fn contents(arguments: &CaptureArguments, screen: Screen) -> anyhow::Result<(Packing, Vec<Vec<String>>)> {
    let OfNode { state, config, topolet_config, pods, devices, claims, server, node_name, kubelet_pid } =
        &arguments.of_node;
    let mut objects = server.listed(screen)?;
    objects.extend(ObjectText::of_files(claims)?);
    let given = Given {
        state: state.as_deref(),
        config: config.as_deref(),
        own_config: topolet_config.as_deref(),
        pods: pods.as_deref(),
        devices: devices.as_deref(),
        objects: &objects,
        node_name: node_name.as_deref(),
    };
    let source = MachineSource { kubelet_pid: *kubelet_pid, ..MachineSource::named(&arguments.machine) };
    let Gathered { contents, mut told } = given.gather(&LoadedMachine::load_node(&source)?)?;
    let packing = contents.pack()?;
    told.extend(packing.notes.iter().map(|note| vec!["note".to_owned(), note.clone()]));
    Ok((packing, told))
}

fn check(
    arguments: &CaptureArguments,
    name: &str,
    tree: &topology_discovery::SysfsTree,
    screen: Screen,
) -> anyhow::Result<Outcome> {
    let file = &arguments.file.to_string_lossy();
    let captured = if file.contains(['/', '.']) { file.to_string() } else { format!("./{file}") };
    let loaded = LoadedMachine::named(&captured)?;
    let Some(captured) = loaded.machine else {
        bail!("{file} says what cAdvisor sees, not what the machine is");
    };
    // As it would be captured now: files that cannot be read are no change.
    let now = Capture::of(tree).with_context(|| format!("failed to read {name}"))?;
    let Discovery { machine, problems, .. } = now.found();
    let mut changes = changes(&captured, machine);
    changes.extend(changed_problems(&loaded.problems, problems));
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
