//! The command line and its commands, one file each, with what it alone takes as arguments.

mod admit;
mod agent;
mod capture;
mod claim;
#[cfg(feature = "terminal")]
mod completions;
mod config;
mod demo;
#[cfg(feature = "bundles")]
mod diagnose;
#[cfg(not(feature = "bundles"))]
#[path = "without_bundles.rs"]
mod diagnose;
mod diff;
mod explain;
mod export;
mod licences;
#[cfg(feature = "terminal")]
mod man;
mod repack;
#[cfg(feature = "serve")]
pub(crate) mod serving;
mod simulate;
mod state;
mod status;
mod topology;
mod upgrade;

#[cfg(feature = "terminal")]
use clap::CommandFactory as _;
use clap::{ColorChoice, Parser, Subcommand};

use self::admit::AdmitArguments;
use self::agent::{ApplyArguments, DeleteArguments, DescribeArguments, GetArguments};
use self::capture::CaptureArguments;
use self::claim::ClaimCommandArguments;
#[cfg(feature = "terminal")]
use self::completions::CompletionsArguments;
use self::config::ConfigArguments;
use self::demo::DemoArguments;
#[cfg(feature = "bundles")]
use self::diagnose::DiagnoseArguments;
use self::diff::DiffArguments;
use self::explain::ExplainArguments;
use self::export::ExportArguments;
#[cfg(feature = "terminal")]
use self::man::ManArguments;
use self::repack::RepackArguments;
use self::simulate::SimulateArguments;
use self::state::StateArguments;
use self::status::StatusArguments;
use self::topology::TopologyArguments;
use self::upgrade::UpgradeArguments;
use crate::examples;
use crate::outcome::Outcome;
use crate::screen::Screen;
use crate::smaller_build;

/// What a Kubernetes node would do with a pod, on any machine, and why.
///
/// Answers are those of kubelet v1.36.3: same admission, same CPUs, same memory, same reasons.
/// Exit status: 0 all pods admitted, or nothing wrong; 2 some refused, or something wrong; 1 any error.
#[derive(Parser, Debug)]
#[command(name = "topolet", version, arg_required_else_help = true, after_help = smaller_build::help())]
pub(crate) struct Arguments {
    /// Whether to use colours; `NO_COLOR` is honoured too.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Admits a few pods on a built-in machine and explains each decision. Needs nothing, and ends with exit status 0 though
    /// it shows refusals too.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArguments),
    /// Draws a machine: NUMA nodes, CPUs, caches, memory, huge pages, devices.
    #[command(after_help = examples::TOPOLOGY)]
    Topology(TopologyArguments),
    /// Packs a machine's topology into a file, without serial numbers and network addresses, so that it can be read
    /// elsewhere.
    #[command(after_help = examples::CAPTURE)]
    Capture(CaptureArguments),
    /// Admits pods from manifests, one after the other, and explains each decision.
    #[command(after_help = examples::ADMIT)]
    Admit(AdmitArguments),
    /// Explains all that led to each decision, and what would have fitted.
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArguments),
    /// Says which pods of a node have to restart, and in which order, so that a pod fits that the node refuses. Nothing is
    /// done without --apply.
    #[command(after_help = examples::REPACK)]
    Repack(RepackArguments),
    /// Compares what becomes of pods under several configurations, policies or scopes. Exit status 2 if the outcome of
    /// any pod differs.
    #[command(after_help = examples::DIFF)]
    Diff(DiffArguments),
    /// Simulates many pods on many machines under several configurations and compares the results; or counts how many of
    /// one pod fit.
    #[command(after_help = examples::SIMULATE)]
    Simulate(SimulateArguments),
    /// Prints a node as other programs want it.
    Export(ExportArguments),
    /// Reads what a kubelet has written of its node: who holds which CPUs, memory and devices.
    State(StateArguments),
    /// Shows a node on one screen: what is free on each NUMA node, who holds what, what is wrong. Exit status 2 if anything
    /// is.
    #[command(after_help = examples::STATUS)]
    Status(StatusArguments),
    /// Says what is wrong with the nodes of a support bundle: must-gather, sosreport, cluster-info dump or loose files. Exit
    /// status 2 if anything is, 1 if nothing in it tells of a node.
    #[cfg(feature = "bundles")]
    #[command(after_help = examples::DIAGNOSE)]
    Diagnose(DiagnoseArguments),
    /// Says whether slices, device classes and claims are valid and do what they were meant to do.
    Claim(ClaimCommandArguments),
    /// Says whether a kubelet starts with a configuration on a machine, and proposes one that pins there.
    Config(ConfigArguments),
    /// Says what another release of the kubelet does otherwise on a node.
    Upgrade(UpgradeArguments),
    /// Those that serve or need an API server.
    #[cfg(feature = "serve")]
    #[command(flatten)]
    Serving(serving::ServingCommand),
    /// Lists what a running topolet knows.
    Get(GetArguments),
    /// Tells all about one pod of a running topolet.
    Describe(DescribeArguments),
    /// Asks a running topolet to admit pods.
    #[command(after_help = examples::APPLY)]
    Apply(ApplyArguments),
    /// Asks a running topolet to let go of a pod.
    #[command(after_help = examples::DELETE)]
    Delete(DeleteArguments),
    /// Prints what a shell needs to complete commands of topolet.
    #[cfg(feature = "terminal")]
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArguments),
    /// Writes manual pages, one for each command.
    #[cfg(feature = "terminal")]
    #[command(after_help = examples::MAN)]
    Man(ManArguments),
    /// Prints the licences of topolet and of everything that the program contains.
    #[command(long_flag = "licences", after_help = examples::LICENCES)]
    Licences,
}

/// Does what the arguments say.
pub(crate) fn run(arguments: &Arguments, screen: Screen) -> anyhow::Result<Outcome> {
    match &arguments.command {
        Command::Demo(arguments) => demo::run(arguments, screen),
        Command::Topology(arguments) => topology::run(arguments, screen),
        Command::Capture(arguments) => capture::run(arguments, screen),
        Command::Admit(arguments) => admit::run(arguments, screen),
        Command::Explain(arguments) => explain::run(arguments, screen),
        Command::Repack(arguments) => repack::run(arguments, screen),
        Command::Diff(arguments) => diff::run(arguments, screen),
        Command::Export(arguments) => export::run(arguments, screen),
        Command::Simulate(arguments) => simulate::run(arguments, screen),
        Command::State(arguments) => state::run(arguments, screen),
        Command::Status(arguments) => status::run(arguments, screen),
        #[cfg(feature = "bundles")]
        Command::Diagnose(arguments) => diagnose::run(arguments, screen),
        Command::Claim(arguments) => claim::run(arguments, screen),
        Command::Config(arguments) => config::run(arguments, screen),
        Command::Upgrade(arguments) => upgrade::run(arguments, screen),
        #[cfg(feature = "serve")]
        Command::Serving(command) => serving::run(command, screen),
        Command::Get(arguments) => agent::get(arguments, screen),
        Command::Describe(arguments) => agent::describe(arguments, screen),
        Command::Apply(arguments) => agent::apply(arguments, screen),
        Command::Delete(arguments) => agent::delete(arguments, screen),
        #[cfg(feature = "terminal")]
        Command::Completions(arguments) => completions::run(arguments, Arguments::command(), screen),
        #[cfg(feature = "terminal")]
        Command::Man(arguments) => man::run(arguments, Arguments::command(), screen),
        Command::Licences => licences::run(screen),
    }
}
