//! The commands that serve, those that need an API server, and the schemas of what both exchange. A build without feature `serve` has
//! none of them.

mod fleet;
mod guard;
pub(crate) mod kubectl;
mod scheduler;
mod schema;
mod serve;
mod ui;

use clap::Subcommand;

use self::fleet::FleetArguments;
use self::guard::GuardArguments;
use self::kubectl::KubectlArguments;
use self::scheduler::SchedulerArguments;
use self::schema::SchemaArguments;
use self::serve::ServeArguments;
use self::ui::UiArguments;
use crate::examples::serving as examples;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Subcommand, Debug)]
pub(crate) enum ServingCommand {
    /// Runs as a node's agent: pods from a folder and over a socket, state on disk, metrics.
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArguments>),
    /// Shows a node in a browser: who holds what, and what would become of a pod that is pasted. Changes nothing.
    #[command(after_help = examples::UI)]
    Ui(Box<UiArguments>),
    /// Runs as many simulated nodes of a cluster, which decide as kubelets do: for tests of schedulers and control planes.
    #[command(after_help = examples::FLEET)]
    Fleet(Box<FleetArguments>),
    /// Answers kube-scheduler which nodes a pod fits, by the rule of the nodes' own kubelets: an extender.
    #[command(after_help = examples::SCHEDULER)]
    Scheduler(SchedulerArguments),
    /// Keeps a kubelet's exclusive CPUs free of other containers from the moment of their creation: a plugin for NRI.
    #[command(after_help = examples::GUARD)]
    Guard(GuardArguments),
    /// Explains pods and nodes of a cluster, as `kubectl topolet` does.
    Kubectl(KubectlArguments),
    /// Prints the JSON Schema of a kind of document that `-o json` prints; or the HTTP interface as OpenAPI.
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArguments),
}

/// Does what the command says.
pub(super) fn run(command: &ServingCommand, screen: Screen) -> anyhow::Result<Outcome> {
    match command {
        ServingCommand::Serve(arguments) => serve::run(arguments, screen),
        ServingCommand::Ui(arguments) => ui::run(arguments, screen),
        ServingCommand::Fleet(arguments) => fleet::run(arguments, screen),
        ServingCommand::Scheduler(arguments) => scheduler::run(arguments, screen),
        ServingCommand::Guard(arguments) => guard::run(arguments, screen),
        ServingCommand::Kubectl(arguments) => kubectl::run(&arguments.command, screen),
        ServingCommand::Schema(arguments) => schema::run(arguments, screen),
    }
}
