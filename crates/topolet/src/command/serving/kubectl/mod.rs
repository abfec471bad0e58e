//! `kubectl topolet`: pods and nodes of a cluster. A link to this program that is called `kubectl-topolet` is a plugin of
//! kubectl with these commands alone; `topolet kubectl` has them too.

mod agent;
mod cluster;
mod complete;
mod explain;
mod node;
mod nodes;
mod seen;

use std::path::Path;

use clap::{Args, ColorChoice, Parser, Subcommand};

pub(crate) use self::complete::CompleteArguments;
use self::explain::ExplainPod;
use self::node::OneNode;
use self::nodes::AllNodes;
use crate::examples::serving as examples;
use crate::outcome::Outcome;
use crate::screen::Screen;

/// By this name kubectl finds a plugin.
const PLUGIN: &str = "kubectl-topolet";
/// By this name it finds who completes the plugin's words.
const COMPLETES: &str = "kubectl_complete-topolet";

/// Which program this is, by the name under which it was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Called {
    /// topolet.
    Topolet,
    /// kubectl's plugin.
    Plugin,
    /// Who completes the words of kubectl's plugin.
    Completion,
}

impl Called {
    /// `program` is the first word of the command line.
    pub(crate) fn by(program: Option<&Path>) -> Self {
        match program.and_then(|program| program.file_name()?.to_str()) {
            Some(PLUGIN) => Self::Plugin,
            Some(COMPLETES) => Self::Completion,
            _ => Self::Topolet,
        }
    }
}

/// Explains pods and nodes of a cluster by what topolet's agents say of them.
///
/// An agent is asked through the API server; where none answers, amounts are compared that the API server has, with what
/// was not seen. Exit status: 0 admitted, or nothing wrong; 2 refused, pending, or something wrong; 1 any error.
#[derive(Parser, Debug)]
#[command(name = PLUGIN, bin_name = "kubectl topolet", version, arg_required_else_help = true)]
pub(crate) struct PluginArguments {
    /// Whether to use colours; `NO_COLOR` is honoured too.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: KubectlCommand,
}

#[derive(Args, Debug)]
pub(crate) struct KubectlArguments {
    #[command(subcommand)]
    pub(crate) command: KubectlCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum KubectlCommand {
    /// Says why the kubelet of its node refused a pod, or what it holds there. Exit status 2 if it is refused, or has no
    /// node yet.
    #[command(after_help = examples::KUBECTL_EXPLAIN)]
    Explain(ExplainPod),
    /// Shows a node on one screen: what is free on each NUMA node, who holds what, what is wrong.
    #[command(after_help = examples::KUBECTL_NODE)]
    Node(OneNode),
    /// Lists all nodes: what is free on each NUMA node, the largest of the pods of the last day that still fits, refusals of the
    /// last hour, conditions. Exit status 2 if a node refused pods or has a condition.
    #[command(after_help = examples::KUBECTL_NODES)]
    Nodes(AllNodes),
    /// What may come next on a command line, as kubectl reads it.
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArguments),
}

/// Does what the arguments say.
pub(crate) fn run(command: &KubectlCommand, screen: Screen) -> anyhow::Result<Outcome> {
    match command {
        KubectlCommand::Explain(arguments) => explain::run(arguments, screen),
        KubectlCommand::Node(arguments) => node::run(arguments, screen),
        KubectlCommand::Nodes(arguments) => nodes::run(arguments, screen),
        KubectlCommand::Complete(arguments) => complete::run(arguments, screen),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Called;

    #[test]
    fn the_name_says_which_program_it_is() {
        for (program, called) in [
            ("/usr/local/bin/kubectl-topolet", Called::Plugin),
            ("kubectl_complete-topolet", Called::Completion),
            ("./topolet", Called::Topolet),
            ("/", Called::Topolet),
        ] {
            assert_eq!(Called::by(Some(Path::new(program))), called, "{program}");
        }
        assert_eq!(Called::by(None), Called::Topolet);
    }
}
