//! `cargo xtask hwloc`: what is built with hwloc, and the contract between hwloc's reader and ours.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::bail;
use workspace_tools::debian;
use workspace_tools::workspace::{cargo, run};

/// Lints of what is built with hwloc, and the test in which both readers read every machine.
#[derive(Debug, clap::Args)]
pub(crate) struct Hwloc {
    /// Installs libhwloc and libudev with apt-get where they are missing; it is an error if that cannot be done.
    #[arg(long)]
    pub(crate) install: bool,
}

impl Hwloc {
    /// Without the libraries nothing is run, and the last line says so.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        self.lints()?;
        if is_installed() { contract(None) } else { Ok(()) }
    }

    /// What comes before the contract.
    pub(crate) fn lints(self) -> anyhow::Result<()> {
        if self.install && !is_installed() {
            debian::install(debian::HWLOC)?;
        }
        if !is_installed() {
            if self.install {
                bail!(
                    "{} are installed, and pkg-config does not find hwloc 2.8 and libudev",
                    debian::HWLOC.join(", ")
                );
            }
            eprintln!("skipped: the contract with hwloc, which needs {}", debian::HWLOC.join(", "));
            return Ok(());
        }
        let built = ["--package", "topology-discovery", "--features", "hwloc"];
        run(cargo(&["clippy"]).args(built).args(["--all-targets", "--", "--deny", "warnings"]))
    }
}

/// Both readers read every machine: those of the project, and those of a folder of captured ones.
pub(crate) fn contract(recorded: Option<&Path>) -> anyhow::Result<()> {
    let test = ["test", "--package", "topology-discovery", "--features", "hwloc", "--test", "hwloc"];
    let mut contract = cargo(&test);
    contract.envs(recorded.map(|folder| ("TOPOLET_RECORDED", folder)));
    run(&mut contract)
}

pub(crate) fn is_installed() -> bool {
    let mut found = Command::new("pkg-config");
    found.args(["--exists", "hwloc >= 2.8.0", "libudev"]).stdout(Stdio::null()).stderr(Stdio::null());
    found.status().is_ok_and(|status| status.success())
}
