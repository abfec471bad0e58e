//! The commands of this workspace: those that CI runs are those that a person runs.

mod api;
mod bench;
mod bump;
mod conformance;
mod chaos;
mod dashboards;
mod dist;
mod ci;
mod cluster;
mod cluster_chaos;
mod codegen;
mod first_minutes;
mod fixtures;
mod fleet;
mod fuzz;
mod guide;
mod hint_costs;
mod hwloc;
mod instructions;
mod node;
mod kubelet;
mod kubelet_faults;
mod promises;
mod licences;
mod nfd;
mod object_fields;
mod observe;
mod openapi_client;
mod others;
mod package;
mod page;
mod pci_names;
mod pictures;
mod placement;
mod plugins;
mod proposals;
mod recorded;
mod reliability;
mod scheduler_growth;
mod schemas;
mod schedulers;
mod soak;
mod static_build;
mod test;
mod tidy;
mod tool;
mod usage;

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use workspace_tools::commands::COMMANDS;

/// Commands for working on topolet.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    after_help = "Guests are a program in crates/guest, which is built when it is first used."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Api(api::Api),
    Bench(bench::Bench),
    Bump(bump::Bump),
    Chaos(chaos::Chaos),
    Ci(ci::Ci),
    Cluster(cluster::Cluster),
    ClusterChaos(cluster_chaos::ClusterChaos),
    Codegen(codegen::Codegen),
    Conformance(conformance::Conformance),
    Dashboards(dashboards::Dashboards),
    Dist(dist::Dist),
    FirstMinutes(first_minutes::FirstMinutes),
    Fixtures(fixtures::Fixtures),
    Fleet(fleet::Fleet),
    Fuzz(fuzz::Fuzz),
    Guide(guide::Guide),
    HintCosts(hint_costs::HintCosts),
    Hwloc(hwloc::Hwloc),
    Instructions(instructions::Instructions),
    KubeletFaults(kubelet_faults::KubeletFaults),
    KubeletVectors(kubelet::KubeletVectors),
    KubeletNode(kubelet::KubeletNode),
    Licences(licences::Licences),
    Nfd(nfd::Nfd),
    ObjectFields(object_fields::ObjectFields),
    Observe(observe::Observe),
    OpenapiClient(openapi_client::OpenapiClient),
    Others(others::Others),
    Package(package::Package),
    Page(page::Page),
    PciNames(pci_names::PciNames),
    Pictures(pictures::Pictures),
    Plugins(plugins::Plugins),
    Proposals(proposals::Proposals),
    Recorded(recorded::Recorded),
    Reliability(reliability::Reliability),
    Placement(placement::Placement),
    SchedulerGrowth(scheduler_growth::SchedulerGrowth),
    Schemas(schemas::Schemas),
    Schedulers(schedulers::Schedulers),
    Soak(soak::Soak),
    Static(static_build::Static),
    Test(test::Test),
    Tidy(tidy::Tidy),
}

fn main() -> std::process::ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match elsewhere(&arguments).and_then(|()| parsed().run()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// Runs a command of another program in the place of this process. Returns if it is none.
fn elsewhere(arguments: &[OsString]) -> anyhow::Result<()> {
    let (asked, rest, help) = match arguments {
        [help, name, ..] if help == "help" => (name, &[][..], Some("--help")),
        [name, rest @ ..] => (name, rest, None),
        [] => return Ok(()),
    };
    let Some(listed) = COMMANDS.iter().find(|listed| asked == listed.name) else { return Ok(()) };
    let mut program = listed.program.start();
    // Where people are: paths mean what they say.
    program.arg(asked).args(rest).args(help).current_dir(env::current_dir()?);
    Err(program.exec()).context("failed to start cargo")
}

/// The command that was asked for, of xtask alone. Its help lists those of other programs too.
fn parsed() -> Command {
    let mut cli = Cli::command();
    for listed in COMMANDS {
        cli = cli.subcommand(clap::Command::new(listed.name).about(listed.about));
    }
    // In the order of their names.
    let matches = cli.mut_subcommands(|command| command.display_order(0)).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command
}

impl Command {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Api(api) => api.run(),
            Self::Bench(bench) => bench.run(),
            Self::Bump(bump) => bump.run(),
            Self::Chaos(chaos) => chaos.run(),
            Self::Ci(ci) => ci.run(),
            Self::Cluster(cluster) => cluster.run(),
            Self::ClusterChaos(chaos) => chaos.run(),
            Self::Codegen(codegen) => codegen.run(),
            Self::Conformance(conformance) => conformance.run(),
            Self::Dashboards(dashboards) => dashboards.run(),
            Self::Dist(dist) => dist.run(),
            Self::FirstMinutes(minutes) => minutes.run(),
            Self::Fixtures(fixtures) => fixtures.run(),
            Self::Fleet(fleet) => fleet.run(),
            Self::Fuzz(fuzz) => fuzz.run(),
            Self::Guide(guide) => guide.run(),
            Self::HintCosts(costs) => costs.run(),
            Self::Hwloc(hwloc) => hwloc.run(),
            Self::Instructions(instructions) => instructions.run(),
            Self::KubeletFaults(faults) => faults.run(),
            Self::KubeletVectors(vectors) => vectors.run(),
            Self::KubeletNode(node) => node.run(),
            Self::Licences(licences) => licences.run(),
            Self::Nfd(nfd) => nfd.run(),
            Self::ObjectFields(fields) => fields.run(),
            Self::Observe(observe) => observe.run(),
            Self::OpenapiClient(client) => client.run(),
            Self::Others(others) => others.run(),
            Self::Package(package) => package.run(),
            Self::Page(page) => page.run(),
            Self::PciNames(names) => names.run(),
            Self::Pictures(pictures) => pictures.run(),
            Self::Plugins(plugins) => plugins.run(),
            Self::Proposals(proposals) => proposals.run(),
            Self::Recorded(recorded) => recorded.run(),
            Self::Reliability(reliability) => reliability.run(),
            Self::Placement(placement) => placement.run(),
            Self::SchedulerGrowth(growth) => growth.run(),
            Self::Schemas(schemas) => schemas.run(),
            Self::Schedulers(schedulers) => schedulers.run(),
            Self::Soak(soak) => soak.run(),
            Self::Static(build) => build.run(),
            Self::Test(test) => test.run(),
            Self::Tidy(tidy) => tidy.run(),
        }
    }
}
