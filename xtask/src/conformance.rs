//! `cargo xtask conformance`: our code on what the kubelet's own code answered.

use std::ffi::OsString;

use anyhow::Context as _;
use workspace_tools::commands::Program;
use workspace_tools::workspace::{cargo, root, run};

/// Plays every case below the folders and prints, for each kind, how many pass; `--help` says what else.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Conformance {
    /// Folders with case files, and options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Conformance {
    /// Runs it where the command was started, so that paths mean what they say; always in release, which is twenty
    /// times as fast.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let writes = self.arguments.iter().any(|argument| argument == "--report");
        let manifest = root().join("Cargo.toml");
        let mut command = cargo(&["run", "--release", "--quiet", "--package", "conformance"]);
        command.arg("--manifest-path").arg(manifest).arg("--").args(self.arguments);
        command.current_dir(std::env::current_dir()?);
        let status = command.status().context("failed to start cargo")?;
        if writes {
            run(Program::Campaigns.start()?.arg("reliability"))?;
        }
        if !status.success() {
            // It has printed why.
            std::process::exit(status.code().unwrap_or(1));
        }
        Ok(())
    }
}
