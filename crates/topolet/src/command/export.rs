//! `topolet export`: a node as other programs want it.

use std::path::PathBuf;

use admission_report::{Notice, claims_notice};
use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use node_input::{
    Asked, DeviceText, IdentitySource, LIVE, LoadedMachine, LoadedNode, MachineSlices, Wholeness,
};
use serde::Serialize;
use serde_json::json;
use topology_manifest::{ResourceObject, check_driver_name, check_node_name};

use crate::arguments::{MachineArguments, ReadingArguments, ResidentsArguments, RulesArguments};
use crate::examples;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    #[command(subcommand)]
    pub(crate) command: ExportCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ExportCommand {
    /// Prints a `NodeResourceTopology` (topology.node.k8s.io/v1alpha2) for schedulers that know NUMA nodes. Exit
    /// status 2 if a pod was refused.
    #[command(after_help = examples::NRT)]
    Nrt(Box<NrtArguments>),
    /// Prints the GPUs, NICs, NVMe disks and accelerators of a machine as `ResourceSlices` (resource.k8s.io/v1), with the standard
    /// attributes that a driver of dynamic resource allocation publishes of them: `numaNode`, `pcieRoot` and `pciBusID`.
    #[command(name = "resourceslices", after_help = examples::RESOURCE_SLICES)]
    ResourceSlices(SlicesArguments),
}

#[derive(Args, Debug)]
pub(crate) struct NrtArguments {
    /// What the node is called in its cluster. Without it the host name of this machine, or the name of the machine.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Pods that are admitted first, as YAML or JSON; `-` reads standard input.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: ObjectFormat,
}

#[derive(Args, Debug)]
pub(crate) struct SlicesArguments {
    /// `live` for this machine, the name of a built-in one (`topolet topology --list`), a folder with `sys` in it, or an archive
    /// of one.
    #[arg(short, long, value_name = "MACHINE", default_value = LIVE, value_hint = ValueHint::AnyPath)]
    pub(crate) machine: String,
    /// What the node is called in its cluster. Without it the host name of this machine, or the name of the machine.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// The name of the driver.
    #[arg(long, value_name = "NAME", default_value = "pci.topolet.dev")]
    pub(crate) driver: String,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: ObjectFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ObjectFormat {
    /// For `kubectl apply`.
    Yaml,
    /// The same as JSON.
    Json,
}

pub(super) fn run(arguments: &ExportArguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ExportCommand::Nrt(arguments) => nrt(arguments, screen),
        ExportCommand::ResourceSlices(arguments) => slices(arguments, screen),
    }
}

fn slices(arguments: &SlicesArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let SlicesArguments { machine, node_name, driver, output } = arguments;
    let name = node_name.clone().or_else(|| (machine == LIVE).then(crate::arguments::host_name).flatten());
    let name = match name {
        Some(name) => name,
        None => node_input::files_of(machine)?.0,
    };
    check_node_name(&name)
        .map_err(|wrong| anyhow!("no node can be called {name:?}: {wrong}; --node-name gives another"))?;
    check_driver_name(driver)
        .map_err(|wrong| anyhow!("no driver can be called {driver:?}: {wrong}; --driver gives another"))?;
    let MachineSlices { machine, slices, without_node } = MachineSlices::of(machine, &name, driver)?;
    if slices.is_empty() {
        screen.warn(Notice::warning(format!(
            "{machine} has no GPUs, NICs, NVMe disks or accelerators: no slices"
        )));
    }
    if without_node > 0 {
        let text = match without_node {
            1 => "1 device has no numaNode: the kernel reports none for it".to_owned(),
            many => format!("{many} devices have no numaNode: the kernel reports none for them"),
        };
        screen.warn(Notice::warning(text));
    }
    let items = slices.into_iter().map(|slice| ResourceObject::Slice(slice.into()).to_json());
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>() });
    screen.print(&output.written(&list)?)?;
    Ok(Outcome::Done)
}

impl ObjectFormat {
    fn written(self, object: &impl Serialize) -> anyhow::Result<String> {
        Ok(match self {
            Self::Yaml => serde_saphyr::to_string(object)?,
            Self::Json => serde_json::to_string_pretty(object)? + "\n",
        })
    }
}

fn nrt(arguments: &NrtArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let residents = arguments.residents.source();
    let rules = arguments.rules.source();
    let devices = DeviceText::on(&rules, &source, &residents)?;
    let rules = rules.of_node(&IdentitySource::default(), &residents, machine.packed.as_deref())?;
    let node = LoadedNode::on(&machine, &rules, devices)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    for note in node.first_notes() {
        screen.warn(Notice::warning(note));
    }
    for unbooked in node.unbooked() {
        screen.warn(unbooked);
    }
    let residents = node.residents(&residents)?;
    // The object says none of it, and no option names the state.
    if let Some(beside) = residents.line.as_ref().filter(|_| arguments.residents.state.is_none()) {
        let line = node.line.headline(screen.page);
        screen.warn(format_args!("{}, {beside}", line.trim_end().replace("\n  ", " ")));
    }
    for note in &residents.notes {
        screen.warn(Notice::warning(note.clone()));
    }
    let reading = arguments.reading.of_node(&node);
    let asked = Asked::from_files(&arguments.files, reading, node.node.pod_rules(), &screen)?;
    let mut outcome =
        if asked.wholeness == Wholeness::Whole { Outcome::Done } else { Outcome::SomethingWrong };
    if let Some(warning) = claims_notice(&asked.pods) {
        screen.warn(warning);
        outcome = Outcome::SomeRefused;
    }
    let name = arguments.node_name.clone().unwrap_or_else(|| host_name(arguments, &machine));
    let exported = node.exported(&name, &residents, &asked.pods, |warning| screen.warn(warning))?;
    if exported.refused > 0 {
        outcome = Outcome::SomeRefused;
    }
    screen.print(&arguments.output.written(&exported.object)?)?;
    Ok(outcome)
}

fn host_name(arguments: &NrtArguments, machine: &LoadedMachine) -> String {
    let own = (arguments.machine.machine == LIVE).then(crate::arguments::host_name).flatten();
    own.unwrap_or_else(|| machine.name.clone())
}
