//! `cargo xtask vm`, as a program beside xtask: it makes the images of guests and starts QEMU. It does not know what is
//! tested in a guest: that is the program in `inside`.
//!
//! # Where things are
//!
//! - How a machine becomes a guest: `crates/guest/src/translate.rs`. What is tried in one:
//!   `crates/guest/inside/tests.rs`. How a real kubelet is compared with: `crates/guest/inside/kubelet/compare.rs`; its
//!   figures: `docs/guest.md`. A cluster in a guest: `crates/guest/inside/kubelet/cluster.rs`.

mod shape;
mod vm;
mod tests_of_guest;
mod kubelet;
mod kubelet_report;
mod guard_report;
mod translate;
mod image;
mod archive;
mod kubelet_programs;
mod needs;
mod boot;

use clap::Parser;
use workspace_tools::commands::exit;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

workspace_tools::commands! {
    Vm(vm::Vm),
}

fn main() -> std::process::ExitCode {
    exit(Cli::parse().command.run())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use workspace_tools::commands::Program;

    #[test]
    fn xtask_lists_these_commands() {
        let cli = super::Cli::command();
        let line = |of: &clap::Command| of.get_about().map(ToString::to_string).unwrap_or_default();
        let own: Vec<_> = cli.get_subcommands().map(|of| (of.get_name(), line(of))).collect();
        let listed = Program::Guest.commands().iter().map(|(name, line)| (*name, (*line).to_owned()));
        assert_eq!(own, listed.collect::<Vec<_>>());
    }
}
