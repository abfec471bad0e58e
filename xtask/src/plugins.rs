//! `cargo xtask plugins`: device plugins in Go and in Python, built as they are, for the tests of `device-plugin`.
//!
//! They go to `target/plugins`, and what the Go compiler keeps to `target/go-build`. In CI what cannot be built is a
//! failure; elsewhere a line names it, and so does the test that needs it.

use std::path::Path;
use std::process::Command;

use workspace_tools::workspace::{root, run};

use crate::test::needed::needed_in_ci;

/// Builds the plugins that tests run: needs Go, Python and their package registries.
#[derive(Debug, clap::Args)]
pub(crate) struct Plugins {}

impl Plugins {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let target = root().join("target/plugins");
        fs_err::create_dir_all(&target)?;
        needed_in_ci("tests with plugins in Go", go(&target))?;
        needed_in_ci("tests with a plugin in Python", python(&target))
    }
}

/// The kubelet's sample plugin, ours, and a client of the pod resources service.
fn go(target: &Path) -> anyhow::Result<()> {
    let mut build = Command::new("go");
    // With a slash at its end it is a folder of programs.
    build.args(["build", "-buildvcs=false", "-o"]).arg(target.join(""));
    build.args(["tool", "./scripted", "./podresources"]).current_dir(root().join("fixtures/plugins/go"));
    // The warnings of a C compiler that is not needed are none of ours.
    build
        .env("GOCACHE", root().join("target/go-build"))
        .env("GOFLAGS", "-mod=readonly")
        .env("CGO_ENABLED", "0");
    run(&mut build)
}

/// An environment with what the plugin imports; nothing is installed twice.
fn python(target: &Path) -> anyhow::Result<()> {
    let environment = target.join("python");
    let requirements = root().join("fixtures/plugins/python/requirements.txt");
    if !environment.join("bin/python").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    let mut install = Command::new(environment.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    run(install.arg(requirements))
}
