//! What was made, and how programs of it are run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use workspace_tools::workspace::{root, shown};

/// A pod that no machine has room for.
pub(super) const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec: {containers: [{name: app, image: none, \
                   resources: {limits: {cpu: 90, memory: 1Gi}}}]}\n";

/// What was made, and its version.
pub(super) struct Made {
    pub(super) version: String,
    pub(super) debian: PathBuf,
    pub(super) archive: PathBuf,
    pub(super) manifest: PathBuf,
    /// The program with manual pages and completions.
    pub(super) program: PathBuf,
}

/// What a program prints.
///
/// # Errors
/// It cannot be started, or fails; what it says then is in the error.
pub(super) fn said(command: &mut Command) -> anyhow::Result<String> {
    let shown = shown(command);
    let output = command.output().with_context(|| format!("failed to start `{shown}`"))?;
    let (text, fault) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "`{shown}` failed: {}\n{text}{fault}", output.status);
    Ok(text.into_owned())
}

/// A program in another root file system.
pub(super) fn inside(folder: &Path, command: &[&str]) -> Command {
    let mut inside = Command::new("unshare");
    // In new mount and PID namespaces, which end with it.
    inside.args(["--mount", "--pid", "--fork", "--mount-proc", "--root"]).arg(folder).args(command);
    inside.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
    inside.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    inside
}

/// The root of the repository, where files of a package come from.
pub(super) fn repository(path: &str) -> PathBuf {
    root().join(path)
}
