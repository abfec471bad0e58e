//! The folders of the workspace, and programs that are started in them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// The root of the workspace, wherever the command is started.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_path_buf()
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// A command of cargo's, started in the root of the workspace.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    outside_package(&mut command).args(arguments);
    command
}

/// What `cargo metadata` with these arguments prints of the workspace.
///
/// # Errors
/// cargo fails, or prints no JSON.
pub fn metadata(arguments: &[&str]) -> anyhow::Result<Value> {
    metadata_of(&root(), arguments)
}

/// The same for the workspace in a folder.
///
/// # Errors
/// As of [`metadata`].
pub fn metadata_of(folder: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let mut metadata = cargo(&["metadata", "--format-version", "1"]);
    let output = metadata.args(arguments).current_dir(folder).output().context("failed to start cargo")?;
    let fault = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo metadata` failed: {fault}");
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")
}

/// The packages of the workspace that `cargo metadata` lists.
pub fn own_packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten().filter(|package| package["source"].is_null())
}

/// Whether a package is published: `publish = false` is an empty list of registries.
pub fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

/// Sets the root of the workspace as the command's folder, and removes the variables `CARGO_PKG_*` and `CARGO_MANIFEST_*` that
/// cargo has set for this program. Build scripts depend on them (that of ring does): with them a cargo that is started here
/// would build their packages and all dependents again, and so would the next cargo without them.
pub fn outside_package(command: &mut Command) -> &mut Command {
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if of_package(&name) {
            command.env_remove(name);
        }
    }
    command.current_dir(root())
}

/// When the first command was run.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Runs a command to its end; an error if it fails. Beside the command stands how many seconds those before it took.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("\n$ {}  # after {} s", shown(command), BEGAN.elapsed().as_secs());
    let status = command.status().with_context(|| format!("failed to start `{}`", shown(command)))?;
    anyhow::ensure!(status.success(), "`{}` failed: {status}", shown(command));
    Ok(())
}

/// Builds programs of the workspace below `debug` of [`target`], and the device plugin among the examples, which many of them
/// start.
///
/// Cargo chooses the features of dependencies for what it is asked to build. Here that is the whole workspace with an example,
/// as for tests: what either has built is not built again.
pub fn build(programs: &[&str]) -> anyhow::Result<()> {
    let mut build = cargo(&["build", "--workspace", "--example", "plugin"]);
    build.args(programs.iter().flat_map(|program| ["--bin", program]));
    // The first build takes minutes, of which cargo shows the progress.
    let are_built = programs.iter().all(|program| target().join("debug").join(program).is_file());
    run(build.args(are_built.then_some("--quiet")))
}

/// A command as people would type it.
pub fn shown(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
