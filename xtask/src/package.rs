//! `cargo xtask package`: every crate that is published, built from its package.
//!
//! The packages are made by cargo, unpacked side by side and checked as a workspace of their own, in which each stands
//! for the crate of its name on the registry: what a package lacks is missed. cargo's own verification does the same
//! from scratch for each crate, and keeps what it has unpacked once, so that it knows a changed crate only by a new
//! version.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::{cargo, root, run};

/// Makes the packages of all published crates and builds each from its package.
#[derive(Debug, clap::Args)]
pub(crate) struct Package {}

impl Package {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
        let metadata: Value =
            serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
        let target =
            PathBuf::from(metadata["target_directory"].as_str().context("there is no target folder")?);
        let (published, private) = crates(&metadata);

        let mut package = cargo(&["package", "--workspace", "--no-verify", "--quiet"]);
        for name in &private {
            package.args(["--exclude", name]);
        }
        // A person may look before committing; a clone has nothing uncommitted.
        if std::env::var_os("CI").is_none() {
            package.arg("--allow-dirty");
        }
        run(&mut package)?;

        let folder = target.join("packages");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("failed to empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        for (name, version) in &published {
            let packed = target.join("package").join(format!("{name}-{version}.crate"));
            // `m`: files are as new as their unpacking, by which cargo knows that they have changed.
            let arguments = [OsStr::new("-xzmf"), packed.as_os_str(), OsStr::new("-C"), folder.as_os_str()];
            let status = Command::new("tar").args(arguments).status().context("failed to start tar")?;
            ensure!(status.success(), "failed to unpack {}: {status}", packed.display());
        }
        write(&folder.join("Cargo.toml"), &workspace(&published))?;
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))
            .context("failed to copy Cargo.lock")?;
        let mut check = cargo(&["check", "--workspace", "--quiet"]);
        run(check.current_dir(&folder).env("CARGO_TARGET_DIR", &target))
    }
}

/// Name and version of the crates that are published, and the names of those that are not.
fn crates(metadata: &Value) -> (Vec<(String, String)>, Vec<String>) {
    let (mut published, mut private) = (Vec::new(), Vec::new());
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        // `publish = false` is an empty list of registries.
        match package["publish"].as_array() {
            Some(registries) if registries.is_empty() => private.push(text("name")),
            _ => published.push((text("name"), text("version"))),
        }
    }
    (published, private)
}

/// The manifest over the unpacked packages. With the project's own profile what is built already is used again.
fn workspace(packages: &[(String, String)]) -> String {
    let mut text =
        "[profile.dev]\ndebug = \"line-tables-only\"\n\n[workspace]\nresolver = \"3\"\nmembers = ["
            .to_owned();
    for (name, version) in packages {
        let _ = write!(text, "\"{name}-{version}\", ");
    }
    text.push_str("]\n\n[patch.crates-io]\n");
    for (name, version) in packages {
        let _ = writeln!(text, "{name} = {{ path = \"{name}-{version}\" }}");
    }
    text
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_published_stands_for_the_crate_on_the_registry() {
        let metadata = json!({ "packages": [
            { "name": "low", "version": "0.1.0", "publish": null },
            { "name": "tool", "version": "0.1.0", "publish": [] },
            { "name": "high", "version": "0.2.0", "publish": ["crates-io"] },
        ] });
        let (published, private) = crates(&metadata);
        assert_eq!(private, ["tool"]);
        let manifest = workspace(&published);
        assert!(manifest.contains("members = [\"low-0.1.0\", \"high-0.2.0\", ]"), "{manifest}");
        assert!(manifest.ends_with(
            "[patch.crates-io]\nlow = { path = \"low-0.1.0\" }\nhigh = { path = \"high-0.2.0\" }\n"
        ));
    }
}
