//! The commands that need an API server.

mod fleet;
pub(crate) mod kubectl;
mod scheduler;

use clap::Subcommand;

use self::fleet::FleetArguments;
use self::kubectl::KubectlArguments;
use self::scheduler::SchedulerArguments;
use crate::examples::cluster as examples;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Subcommand, Debug)]
pub(crate) enum ClusterCommand {
    /// Runs as many simulated nodes of a cluster, which decide as kubelets do: for tests of schedulers and control planes.
    #[command(after_help = examples::FLEET)]
    Fleet(Box<FleetArguments>),
    /// Answers kube-scheduler which nodes a pod fits, by the rule of the nodes' own kubelets: an extender.
    #[command(after_help = examples::SCHEDULER)]
    Scheduler(SchedulerArguments),
    /// Explains pods and nodes of a cluster, as `kubectl topolet` does.
    Kubectl(KubectlArguments),
}

/// Does what the command says.
pub(super) fn run(command: &ClusterCommand, screen: Screen) -> anyhow::Result<Outcome> {
    match command {
        ClusterCommand::Fleet(arguments) => fleet::run(arguments, screen),
        ClusterCommand::Scheduler(arguments) => scheduler::run(arguments, screen),
        ClusterCommand::Kubectl(arguments) => kubectl::run(&arguments.command, screen),
    }
}
