//! `topolet guard`: a kubelet's exclusive CPUs are free of others when a container is created, and whether a node is fit for that.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use node_guard::{Drift, Findings, Mark, Options, Place, Settings, SystemdWrites};

use crate::examples::serving as examples;
use crate::log_arguments::LogArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GuardArguments {
    #[command(subcommand)]
    command: Option<GuardCommand>,
    #[command(flatten)]
    node: NodeArguments,
    /// Takes CPUs again from a container that something else has put back on them; without it that is reported.
    #[arg(long)]
    enforce: bool,
    /// Writes cgroups that systemd has made, too, where a write lasts until systemd reloads. Not tried on a real node.
    #[arg(long)]
    write_systemd: bool,
    /// The plugin's index, 0 to 99: it sees what plugins with a lower one have set.
    #[arg(long, value_name = "NN", default_value = "90", value_parser = clap::value_parser!(u8).range(..=99))]
    index: u8,
    /// Where it reports; `topolet serve --observe` reads it.
    #[arg(long, value_name = "FILE", default_value = node_guard::REPORT, value_hint = ValueHint::FilePath)]
    report: PathBuf,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(Subcommand, Debug)]
enum GuardCommand {
    /// Says whether the guard works on this node. Exit status 2 if not.
    #[command(after_help = examples::GUARD)]
    Check(NodeArguments),
}

#[derive(Args, Clone, Debug)]
struct NodeArguments {
    /// The kubelet's folder, with its state files.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet", value_hint = ValueHint::DirPath)]
    root: PathBuf,
    /// The runtime's NRI socket.
    #[arg(long, value_name = "PATH", default_value = "/var/run/nri/nri.sock", value_hint = ValueHint::FilePath)]
    socket: PathBuf,
    /// Folder of the cgroups [default: /sys/fs/cgroup].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    cgroup_root: Option<PathBuf>,
    /// Root of the node, where configurations of runtimes and /proc are.
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    host_root: PathBuf,
}

impl NodeArguments {
    fn place(&self) -> Place {
        let Self { root, socket, cgroup_root, host_root } = self.clone();
        Place { root: host_root, kubelet: root, cgroups: cgroup_root, socket }
    }
}

pub(super) fn run(arguments: &GuardArguments, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(GuardCommand::Check(node)) = &arguments.command {
        return check(node, screen);
    }
    let _log = arguments.log.start()?;
    let systemd = if arguments.write_systemd { SystemdWrites::On } else { SystemdWrites::Off };
    let drift = if arguments.enforce { Drift::Mend } else { Drift::Report };
    node_daemon::guard(&Options {
        node: arguments.node.place(),
        index: arguments.index,
        report: arguments.report.clone(),
        settings: Settings { systemd, drift },
    })?;
    Ok(Outcome::Done)
}

fn check(node: &NodeArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let found = Findings::of(&node.place());
    for finding in found.iter() {
        let sign = match finding.mark {
            Mark::Right => screen.page.yes(),
            Mark::Wrong => screen.page.no(),
            other => other.sign(),
        };
        screen.show(&screen.page.wrapped(&format!("{sign} {}", finding.text), 2))?;
    }
    Ok(if found.is_wrong() { Outcome::SomethingWrong } else { Outcome::Done })
}
