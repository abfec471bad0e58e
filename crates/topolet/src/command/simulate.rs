//! `topolet simulate`: many pods on many machines under several configurations; and how many of one pod fit.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use node_input::{Asked, DeviceText, LIVE, LoadedMachine, Wholeness};
use node_output::{Document, Format};
use pod_spec::{PodLevelResources, PodRules};
use scenario_runs::{Prepared, Question, Report};

use crate::arguments::{
    BesideConfigArguments, DeviceArguments, IdentityArguments, ImaginedArguments, MachineArguments,
    ReadingArguments, ResidentsArguments, RulesArguments,
};
use crate::bar;
use crate::claim_arguments::ClaimArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;
use crate::shown::legend_needs_table;

#[derive(Args, Debug)]
pub(crate) struct SimulateArguments {
    /// A scenario (`kind: Scenario`); with --find-max one pod, where slices, device classes and claims beside it decide on its
    /// claims. `-` reads standard input.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) file: PathBuf,
    /// Finds out how many of the pod fit on one machine, beside what runs there (--empty leaves that out), under each policy, scope and option, and with which
    /// reservation for the system the most fit.
    #[arg(long)]
    pub(crate) find_max: bool,
    /// Draws from this seed instead of the scenario's.
    #[arg(long, value_name = "NUMBER", conflicts_with = "find_max")]
    pub(crate) seed: Option<u64>,
    /// Runs as many times, each with the next seed: figures are means and ranges, and a difference has its error.
    #[arg(long, value_name = "NUMBER", conflicts_with = "find_max")]
    pub(crate) seeds: Option<NonZeroU32>,
    /// Says below the tables what their columns mean.
    #[arg(long)]
    pub(crate) legend: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) imagined: ImaginedArguments,
    #[command(flatten)]
    pub(crate) rules: RulesArguments,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) residents: ResidentsArguments,
    #[command(flatten)]
    pub(crate) claims: ClaimArguments,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: SimulateFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum SimulateFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// A line for each run of each configuration.
    Csv,
    /// Charts: bars for each configuration, steps over time.
    Svg,
}

pub(super) fn run(arguments: &SimulateArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if arguments.legend {
        legend_needs_table(&arguments.output)?;
    }
    if arguments.find_max {
        return find_max(arguments, screen);
    }
    simulate(arguments, screen)
}

fn simulate(arguments: &SimulateArguments, screen: Screen) -> anyhow::Result<Outcome> {
    refuse_what_a_scenario_says(arguments)?;
    let mut prepared = Prepared::read(&arguments.file, arguments.rules.program.decided_by)?;
    if let Some(seed) = arguments.seed {
        prepared.seed = seed;
    }
    if let Some(seeds) = arguments.seeds {
        prepared = prepared.with_runs(seeds)?;
    }
    for warning in &prepared.warnings {
        screen.warn(warning);
    }
    let report = Report::new(&prepared, &bar::run_with_bar(&prepared));
    let document = |format| Document::new("Simulation", &report).text(format).map(Option::unwrap_or_default);
    match arguments.output {
        SimulateFormat::Table => {
            let legend =
                if arguments.legend { scenario_runs::legend(&report, screen.page) } else { String::new() };
            screen.show(&(scenario_runs::simulation(&report, screen.page) + &legend))
        }
        SimulateFormat::Json => screen.print(&document(Format::Json)?),
        SimulateFormat::Yaml => screen.print(&document(Format::Yaml)?),
        SimulateFormat::Csv => screen.print(&scenario_runs::simulation_csv(&report)),
        SimulateFormat::Svg => screen.print_picture(&scenario_runs::charts(&report), "charts.svg"),
    }?;
    Ok(if report.has_undecided_claims() { Outcome::SomethingWrong } else { Outcome::Done })
}

/// A scenario has machines, rules and pods; arguments about them would be ignored.
fn refuse_what_a_scenario_says(arguments: &SimulateArguments) -> anyhow::Result<()> {
    let RulesArguments {
        config,
        beside: BesideConfigArguments { kubelet_flags, base },
        kubelet,
        program: _,
        topolet_config,
        policy,
        scope,
        devices,
    } = &arguments.rules;
    let DeviceArguments { devices, selected } = devices;
    let ReadingArguments { lenient, strict, are_static } = arguments.reading;
    let said = [
        ("--lenient", lenient),
        ("--strict", strict),
        ("--static", are_static),
        ("--machine", arguments.machine.machine != LIVE),
        ("--hugepages", arguments.machine.hugepages.is_some()),
        ("--memory", arguments.machine.memory.is_some()),
        ("--add", !arguments.imagined.add.is_empty()),
        ("--config", config.is_some()),
        ("--kubelet-flags", !kubelet_flags.is_empty()),
        ("--base", base.is_some()),
        ("--kubelet", kubelet.is_some()),
        ("--topolet-config", topolet_config.is_some()),
        ("--policy", policy.is_some()),
        ("--scope", scope.is_some()),
        ("--devices", devices.is_some()),
        ("--device", !selected.is_empty()),
        ("--state", arguments.residents.state.is_some()),
        ("--pods", arguments.residents.pods.is_some()),
        ("--empty", arguments.residents.empty),
        ("--node", arguments.identity.node.is_some()),
        ("--node-name", arguments.identity.node_name.is_some()),
    ];
    let said = said.into_iter().find(|(_, is_said)| *is_said).map(|(name, _)| name);
    match said.or_else(|| arguments.claims.given()) {
        Some(name) => {
            bail!("{name} goes with --find-max: a scenario names its own machines, rules and pods")
        }
        None => Ok(()),
    }
}

fn find_max(arguments: &SimulateArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let files = std::slice::from_ref(&arguments.file);
    let reading = arguments.reading.beside(None);
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let (identity, residents) = (arguments.identity.source(), arguments.residents.source());
    let rules = arguments.rules.source().of_node(&identity, &residents, machine.packed.as_deref())?;
    let pod_rules = PodRules::of(&rules.kubelet_rules(), PodLevelResources::Count);
    let asked = Asked::from_files(files, reading, pod_rules, &screen)?;
    let Asked { pods: found, objects, wholeness, .. } =
        asked.in_cluster(&arguments.claims.listed(screen)?)?;
    // The copies of a workload are one kind of pod.
    let Some((pod, _)) = found.split_first().filter(|(pod, others)| {
        others.iter().all(|other| other.containers == pod.containers && other.resources == pod.resources)
    }) else {
        bail!("--find-max is for one kind of pod, and {} has {}", arguments.file.display(), found.len());
    };
    let devices = DeviceText::on(&rules, &source, &residents)?;
    let features = arguments.claims.features()?;
    let (identity, residents, objects) = (&identity, &residents, &objects);
    let find_max = |machine: &LoadedMachine| {
        let devices = devices.clone();
        let question = Question { machine, rules: &rules, devices, identity, residents, objects, features };
        scenario_runs::find_max(&question, pod)
    };
    let mut found = find_max(&machine.clone().with_more(&arguments.imagined.add)?)?;
    if !arguments.imagined.add.is_empty() {
        found = found.beside_real(&find_max(&machine)?);
    }
    for warning in found.warnings() {
        screen.warn(warning);
    }
    let document = |format| Document::new("FoundMax", &found).text(format).map(Option::unwrap_or_default);
    match arguments.output {
        SimulateFormat::Table => {
            let legend =
                if arguments.legend { scenario_runs::found_max_legend(screen.page) } else { String::new() };
            screen.show(&(scenario_runs::found_max(&found, screen.page) + &legend))
        }
        SimulateFormat::Json => screen.print(&document(Format::Json)?),
        SimulateFormat::Yaml => screen.print(&document(Format::Yaml)?),
        SimulateFormat::Csv => screen.print(&scenario_runs::found_max_csv(&found)),
        SimulateFormat::Svg => {
            bail!("there is no chart of --find-max: its answers are table, json, yaml and csv")
        }
    }?;
    Ok(match wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole if found.has_undecided_claims() => Outcome::SomethingWrong,
        Wholeness::Whole => Outcome::Done,
    })
}
