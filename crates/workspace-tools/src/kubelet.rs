//! The Go module with the kubelet's own code: its programs, by release.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::workspace::{root, target};

/// Where the module is, from the root of the workspace.
pub const MODULE: &str = "crates/workspace-tools/kubelet";

/// The release that its `go.mod` requires.
pub const RELEASE: &str = "1.36.3";

/// The releases of its folder `releases`, oldest first.
pub fn other_releases() -> anyhow::Result<Vec<String>> {
    let folder = root().join(MODULE).join("releases");
    let listed = fs_err::read_dir(&folder)?;
    let mut releases = Vec::new();
    for entry in listed {
        releases.push(entry?.file_name().to_string_lossy().into_owned());
    }
    releases.sort();
    Ok(releases)
}

/// All releases that programs can be built with, oldest first.
pub fn releases() -> anyhow::Result<Vec<String>> {
    let mut releases = other_releases()?;
    releases.push(RELEASE.to_owned());
    releases.sort();
    Ok(releases)
}

/// Builds a program of the module with any release and gives the folder that it is in.
pub fn build(release: &str, program: &str) -> anyhow::Result<PathBuf> {
    if release == RELEASE { go_build(&[program]) } else { build_release(release, program) }
}

/// Builds a program of another release, in a separate folder.
pub fn build_release(release: &str, program: &str) -> anyhow::Result<PathBuf> {
    let folder = target().join("kubelet").join(release);
    let known = other_releases()?;
    ensure!(
        known.iter().any(|own| own == release),
        "no kubelet {release} in {MODULE}/releases: it has {}, and {MODULE}/go.mod has {RELEASE}",
        known.join(", ")
    );
    eprintln!("building the own code of kubelet {release}");
    let minor = release.match_indices('.').nth(1).map_or(release, |(end, _)| &release[..end]);
    let module = format!("releases/{release}/go.mod");
    let tag = format!("kubelet_{}", minor.replace('.', "_"));
    let mut go = Command::new("go");
    // Go itself looks for the newer Go that a module needs in the module's own file alone.
    let text = fs_err::read_to_string(root().join(MODULE).join(&module))?;
    if let Some(toolchain) = text.lines().find_map(|line| line.strip_prefix("toolchain ")) {
        go.env("GOTOOLCHAIN", toolchain);
    }
    go.args(["build", "-modfile", &module, "-tags", &tag, "-o"])
        .arg(folder.join(""))
        .arg(format!("./cmd/{program}"));
    let status = go.current_dir(root().join(MODULE)).status().context("failed to start Go")?;
    ensure!(status.success(), "`go build` of kubelet {release} failed: {status}");
    Ok(folder)
}

/// Builds programs of the module and gives the folder that they are in.
///
/// # Errors
/// What is missing, for people.
pub fn go_build(programs: &[&str]) -> anyhow::Result<PathBuf> {
    let version = Command::new("go").arg("version").stdout(Stdio::null()).status();
    ensure!(version.is_ok_and(|status| status.success()), "Go is not installed");
    let folder = target().join("kubelet");
    eprintln!("building the kubelet's own code (4 to 5 minutes the first time)");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(folder.join("")).current_dir(root().join(MODULE));
    go.args(programs.iter().map(|program| format!("./cmd/{program}")));
    let status = go.status().context("failed to start Go")?;
    ensure!(status.success(), "`go build` failed, which needs the network the first time: {status}");
    Ok(folder)
}
