//! The Go module that requires the kubelet; `cargo xtask kubelet-vectors`: its answers to the committed cases; and
//! `cargo xtask kubelet-node`: its managers in a folder that we watch, or have written.

use kubelet_release::Release;
use workspace_tools::kubelet::{MODULE, RELEASE, build_release, go_build, other_releases};
use workspace_tools::workspace::{cargo, run};

use crate::promises::Played;

/// Asks the kubelet's own code the committed cases again and lists those whose answer differs from the recorded one.
///
/// `--kubelet VERSION` asks another release that has a folder in crates/workspace-tools/kubelet/releases; its recorded answers
/// are fixtures/kubelet/VERSION. A patch release that has none is compared with the recorded answers of its release.
#[derive(Debug, clap::Args)]
pub(crate) struct KubeletVectors {
    /// The release to ask: one of crates/workspace-tools/kubelet/releases, the one that its go.mod requires, or another
    /// patch release of these.
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
        command.args(["--again", "fixtures/kubelet", "--programs", MODULE]);
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
                "all",
                "kubelet_node::",
                "--",
                "--nocapture",
            ]));
        }
        let known = |release: &String| release.parse::<Release>().is_ok();
        for release in other_releases()?.into_iter().filter(known) {
            build_release(&release, "admission")?;
        }
        let test = ["test", "--package", "topolet", "--test", "all", "kubelet_releases::"];
        run(cargo(&test).args(["--", "--nocapture", "--ignored"]))
    }
}
