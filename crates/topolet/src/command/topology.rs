//! `topolet topology`: a machine as it is, and where the kubelet sees it otherwise.

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum, ValueHint};
use machine_picture::{Reserved, Shares, svg, tree};
use node_input::{IdentitySource, LoadedMachine, RulesSource};
use node_output::{Document, Format, Machines, Shown};
use terminal_text::Glyphs;
use topology_discovery::machine_info_to_json;
use topology_model::Machine;

use crate::arguments::{MachineArguments, ResidentsArguments};
use crate::help_forms;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct TopologyArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    /// The kubelet's configuration.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath, long_help = help_forms::DRAWN_CONFIG)]
    pub(crate) config: Option<String>,
    /// Names the built-in machines.
    #[arg(long, conflicts_with_all = ["machine", "hugepages", "memory", "config", "state", "pods", "empty"])]
    pub(crate) list: bool,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: TopologyFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum TopologyFormat {
    /// For people: a line for each NUMA node, and the distances.
    Table,
    /// For people: what lies in what, what is plugged in where, how far devices are from each other.
    Tree,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// A picture, as lstopo draws it.
    Svg,
    /// What cAdvisor tells the kubelet of this machine, as JSON.
    #[value(name = "machineinfo")]
    MachineInfo,
}

pub(super) fn run(arguments: &TopologyArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let format = arguments.output;
    if arguments.list {
        return list(format, screen);
    }
    let loaded = LoadedMachine::load_node(&arguments.machine.source())?;
    let mut view = loaded.view();
    match reserved(arguments, &loaded) {
        Ok(reserved) => view.reserved = reserved,
        // The machine can be drawn without the node's own configuration, not without the one that was asked for.
        Err(error) if arguments.config.is_none() => {
            view.problems.push(format!("what is reserved is not known: {error:#}"));
        }
        Err(error) => return Err(error),
    }
    let shown = held(arguments, &loaded)?;
    let shares = shown.as_ref().map(|shown| node_output::shares(shown, loaded.machine.as_ref()));
    view.problems.extend(loaded.packed.iter().flat_map(|packed| &packed.gaps).map(ToString::to_string));
    view.problems
        .extend(loaded.missing_memory(&arguments.machine.machine).map(|missing| missing.to_string()));
    view.problems.extend(shares.iter().flat_map(|shares| shares.notes.clone()));
    let pods = shown
        .as_ref()
        .map_or_else(String::new, |shown| format!("\n{}", node_output::holders(shown, screen.page)));
    let is_whole = shown.iter().flat_map(|shown| &shown.files).all(|line| line.readable);
    view.containers = shown.map(|shown| shown.containers);
    let document = |format| Document::new("Topology", &view).text(format).map(Option::unwrap_or_default);
    let hardware = || -> anyhow::Result<&Machine> {
        loaded
            .machine
            .as_ref()
            .with_context(|| format!("{} says what cAdvisor sees, not what lies where", view.machine))
    };
    match format {
        TopologyFormat::Table => screen.show(&node_output::topology(&view, &pods, screen.page))?,
        TopologyFormat::Tree => {
            let none = Shares::default();
            let drawing = tree(hardware()?, shares.as_ref().unwrap_or(&none), screen.page);
            screen.show(&node_output::frame(&view, &(drawing + &pods), screen.page))?;
        }
        TopologyFormat::Json => screen.print(&document(Format::Json)?)?,
        TopologyFormat::Yaml => screen.print(&document(Format::Yaml)?)?,
        TopologyFormat::Svg => {
            let summary = view.summary.line(Glyphs::Unicode);
            let heading = svg::Heading { title: &view.machine, summary: &summary };
            let contents = svg::Contents { shares: shares.as_ref(), reserved: view.reserved.as_ref() };
            screen.print_picture(&svg::picture_of(hardware()?, heading, contents), "machine.svg")?;
        }
        TopologyFormat::MachineInfo => screen.print(&(machine_info_to_json(&loaded.info)? + "\n"))?,
    }
    Ok(if is_whole { Outcome::Done } else { Outcome::SomethingWrong })
}

/// What the configuration keeps from pods, if there is one.
fn reserved(arguments: &TopologyArguments, loaded: &LoadedMachine) -> anyhow::Result<Option<Reserved>> {
    if arguments.output == TopologyFormat::MachineInfo && arguments.config.is_some() {
        bail!("cAdvisor's MachineInfo has no reservations in it: expected no --config");
    }
    let rules = RulesSource { config: arguments.config.clone(), ..RulesSource::default() };
    let identity = IdentitySource::default();
    let rules = rules.of_node(&identity, &arguments.residents.source(), loaded.packed.as_deref())?;
    loaded.reserved(&rules)
}

/// What the machine's containers hold, if it is known.
fn held(arguments: &TopologyArguments, loaded: &LoadedMachine) -> anyhow::Result<Option<Shown>> {
    if arguments.output == TopologyFormat::MachineInfo && arguments.residents.state.is_some() {
        bail!("cAdvisor's MachineInfo has no pods in it: expected no --state");
    }
    let found = arguments.residents.source().of_node(loaded.packed.as_deref())?;
    Ok(found.map(|resident| node_output::shown(&resident.folder.contents_of_any(), &resident.names)))
}

/// Names the built-in machines.
fn list(format: TopologyFormat, screen: Screen) -> anyhow::Result<Outcome> {
    let format = match format {
        TopologyFormat::Json => Format::Json,
        TopologyFormat::Yaml => Format::Yaml,
        TopologyFormat::Table | TopologyFormat::Tree => Format::Table,
        TopologyFormat::Svg | TopologyFormat::MachineInfo => {
            bail!("--list names machines: it is no machine itself")
        }
    };
    let machines: Vec<&str> = machine_fixtures::names().collect();
    let names: String = machines.iter().map(|name| format!("{name}\n")).collect();
    let text = Document::new("Machines", Machines::new(machines)).text(format)?;
    screen.print(&text.unwrap_or(names))?;
    Ok(Outcome::Done)
}
