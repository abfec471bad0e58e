//! The Go module that requires the kubelet; `cargo xtask kubelet-vectors`: its answers to the committed cases; and
//! `cargo xtask kubelet-node`: its managers in a folder that we watch, or have written.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::promises::Played;
use crate::workspace::{cargo, root, run, target};

/// The release that xtask/kubelet/go.mod requires.
pub(crate) const RELEASE: &str = "1.36.3";

/// Asks the kubelet's own code the committed cases again and lists those whose answer differs from the recorded one.
///
/// `--kubelet VERSION` asks another release that has a folder in xtask/kubelet/releases; its recorded answers are
/// fixtures/kubelet/VERSION. A patch release that has none is compared with the recorded answers of its release.
#[derive(Debug, clap::Args)]
pub(crate) struct KubeletVectors {
    /// The release to ask: one of xtask/kubelet/releases, the one that xtask/kubelet/go.mod requires, or another patch
    /// release of these.
    #[arg(long, value_name = "VERSION", default_value = RELEASE)]
    kubelet: String,
    /// Only this domain.
    #[arg(long)]
    domain: Option<String>,
    /// Write the new answers over the old ones; for another release, write those that differ from 1.36.3's, up to 200
    /// of each kind.
    #[arg(long)]
    write: bool,
}

impl KubeletVectors {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut command =
            cargo(&["run", "--release", "--quiet", "--package", "conformance", "--bin", "conformance", "--"]);
        command.args(["--again", "fixtures/kubelet", "--programs", "xtask/kubelet"]);
        if self.kubelet != RELEASE {
            command.args(["--kubelet", &self.kubelet]);
        }
        if let Some(domain) = &self.domain {
            command.args(["--domain", domain]);
        }
        if self.write {
            command.arg("--write");
        }
        run(&mut command)
    }
}

/// Has the kubelet's own managers write a folder that `topolet serve --observe` watches, and start from folders that
/// topolet has written. Ends by itself.
#[derive(Debug, clap::Args)]
pub(crate) struct KubeletNode {
    /// Instead: folders that each release of the kubelet and topolet by the rules of each have written, read by all of
    /// them. Prints who reads what otherwise. Minutes, after a first build of 20.
    #[arg(long, conflicts_with = "promises")]
    all_releases: bool,
    #[command(flatten)]
    promises: Played,
}

impl KubeletNode {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.promises.is_asked() {
            return self.promises.run();
        }
        go_build(&["admission"])?;
        if !self.all_releases {
            return run(&mut cargo(&[
                "test",
                "--package",
                "topolet",
                "--test",
                "kubelet_node",
                "--",
                "--nocapture",
            ]));
        }
        for release in other_releases()? {
            build_release(&release, "admission")?;
        }
        let test = ["test", "--package", "topolet", "--test", "kubelet_releases"];
        run(cargo(&test).args(["--", "--nocapture", "--ignored"]))
    }
}

/// The releases of xtask/kubelet/releases, oldest first.
fn other_releases() -> anyhow::Result<Vec<String>> {
    let folder = root().join("xtask/kubelet/releases");
    let listed =
        std::fs::read_dir(&folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut releases = Vec::new();
    for entry in listed {
        releases.push(entry?.file_name().to_string_lossy().into_owned());
    }
    releases.sort();
    Ok(releases)
}

/// All releases that programs can be built with, oldest first.
pub(crate) fn releases() -> anyhow::Result<Vec<String>> {
    let mut releases = other_releases()?;
    releases.push(RELEASE.to_owned());
    releases.sort();
    Ok(releases)
}

/// Builds a program of the module with any release and gives the folder that it is in.
pub(crate) fn build(release: &str, program: &str) -> anyhow::Result<PathBuf> {
    if release == RELEASE { go_build(&[program]) } else { build_release(release, program) }
}

/// Builds a program of another release, in a folder of its own beside the others.
fn build_release(release: &str, program: &str) -> anyhow::Result<PathBuf> {
    let folder = target().join("kubelet").join(release);
    let known = other_releases()?;
    ensure!(
        known.iter().any(|own| own == release),
        "no kubelet {release} in xtask/kubelet/releases: it has {}, and xtask/kubelet/go.mod has {RELEASE}",
        known.join(", ")
    );
    eprintln!("building the own code of kubelet {release}");
    let minor = release.rsplit_once('.').map_or(release, |(minor, _)| minor);
    let module = format!("releases/{release}/go.mod");
    let tag = format!("kubelet_{}", minor.replace('.', "_"));
    let mut go = Command::new("go");
    go.args(["build", "-modfile", &module, "-tags", &tag, "-o"])
        .arg(folder.join(""))
        .arg(format!("./cmd/{program}"));
    let status = go.current_dir(root().join("xtask/kubelet")).status().context("failed to start Go")?;
    ensure!(status.success(), "`go build` of kubelet {release} failed: {status}");
    Ok(folder)
}

/// Builds programs of the module and gives the folder that they are in.
///
/// # Errors
/// What is missing, for people.
pub(crate) fn go_build(programs: &[&str]) -> anyhow::Result<PathBuf> {
    let version = Command::new("go").arg("version").stdout(Stdio::null()).status();
    ensure!(version.is_ok_and(|status| status.success()), "Go is not installed");
    let folder = target().join("kubelet");
    eprintln!("building the kubelet's own code (4 to 5 minutes the first time)");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(folder.join("")).current_dir(root().join("xtask/kubelet"));
    go.args(programs.iter().map(|program| format!("./cmd/{program}")));
    let status = go.status().context("failed to start Go")?;
    ensure!(status.success(), "`go build` failed, which needs the network the first time: {status}");
    Ok(folder)
}
