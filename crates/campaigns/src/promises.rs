//! `cargo xtask kubelet-node --promises`: compares topolet's predictions with what the kubelet's own code does.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use workspace_tools::document::write_figures;
use workspace_tools::kubelet;
use workspace_tools::workspace::{cargo, root};

const DOCUMENT: &str = "docs/promises.md";
const COMMAND: &str = "cargo xtask kubelet-node --promises --write";

/// The options of a run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Promises")]
pub(crate) struct Played {
    /// Instead: predicts for random fillings of machines what the kubelet will do, has its own code do it, and compares.
    #[arg(long)]
    promises: bool,
    /// Where all draws come from.
    #[arg(long, requires = "promises", default_value_t = 1)]
    seed: u64,
    /// A folder of machines: archives of sysfs, or what cAdvisor prints [default: fixtures/cadvisor].
    #[arg(long, requires = "promises", value_name = "DIR")]
    machines: Option<PathBuf>,
    /// Configurations on each machine.
    #[arg(long, requires = "promises", value_name = "N", default_value_t = 12)]
    configurations: u64,
    /// Fillings with each configuration.
    #[arg(long, requires = "promises", value_name = "N", default_value_t = 40)]
    fillings: u64,
    /// The release to ask: one of crates/workspace-tools/kubelet/releases, or the one
    /// that its go.mod requires.
    #[arg(long, requires = "promises", value_name = "VERSION", default_value = kubelet::RELEASE)]
    kubelet: String,
    /// Write the figures to docs/promises.md.
    #[arg(long, requires = "promises")]
    write: bool,
    /// Further arguments of the program, after `--`: `--machine`, `--configuration` and `--filling` play one case again.
    #[arg(last = true, requires = "promises", value_name = "ARGUMENT")]
    more: Vec<String>,
}

impl Played {
    pub(crate) const fn is_asked(&self) -> bool {
        self.promises
    }

    pub(crate) fn run(self) -> anyhow::Result<()> {
        let program = kubelet::build(&self.kubelet, "admission")?.join("admission");
        let play = ["run", "--release", "--quiet", "--package", "conformance", "--bin", "promises", "--"];
        let mut command = cargo(&play);
        command.arg("--program").arg(program).args(["--kubelet", &self.kubelet]);
        for (name, number) in
            [("--seed", self.seed), ("--configurations", self.configurations), ("--fillings", self.fillings)]
        {
            command.args([name, &number.to_string()]);
        }
        if let Some(machines) = &self.machines {
            let machines = machines.canonicalize();
            let machines = machines.with_context(|| format!("there is no folder {:?}", self.machines))?;
            command.arg("--machines").arg(machines);
        }
        let output = command.args(&self.more).current_dir(root()).stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        if self.write {
            let head = format!("Kubelet {}, seed {}:\n\n", self.kubelet, self.seed);
            write_figures(DOCUMENT, COMMAND, &format!("{head}{text}"))?;
        }
        ensure!(output.status.success(), "a prediction was wrong: {}", output.status);
        Ok(())
    }
}
