//! `cargo xtask package`: every crate that is published, built from its package, as its README says that it is used.
//!
//! The packages are made by cargo, unpacked side by side and checked as a separate workspace, in which each
//! stands for the crate of its name on the registry: what a package lacks is missed. cargo's own verification
//! does the same from scratch for each crate, and keeps what it has unpacked once, so that it knows a changed
//! crate only by a new version.
//!
//! Beside each package lies its user: a package whose dependencies are those that the `cargo add` line of the README
//! writes, and whose programs are the README's examples.

mod index;
mod manifest;
mod user;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use serde_json::Value;
use workspace_tools::workspace::{cargo, is_published, metadata, own_packages, root, run, target};

use self::user::User;

/// Makes the packages of all published crates, builds each from its package, and builds what their READMEs show.
#[derive(Debug, clap::Args)]
pub(crate) struct Package {
    /// Builds each package and its user by itself: no other crate lends it a feature (takes some minutes).
    #[arg(long)]
    pub(crate) alone: bool,
}

/// A crate that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Published {
    name: String,
    version: String,
    folder: PathBuf,
}

impl Package {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let metadata = metadata(&["--all-features"])?;
        let toolchain = fs::read_to_string(root().join("rust-toolchain.toml"))?;
        let channel = toolchain.split('"').nth(1).context("rust-toolchain.toml names no toolchain")?;
        let faults = manifest::faults(&metadata, channel);
        if !faults.is_empty() {
            bail!("{}", faults.join("\n"));
        }
        let (published, private) = crates(&metadata);

        // A lock file of each would be found by asking the registry, for a minute; the users below have the project's.
        let mut package = cargo(&["package", "--workspace", "--no-verify", "--exclude-lockfile", "--quiet"]);
        for name in &private {
            package.args(["--exclude", name]);
        }
        // A person may look before committing; a clone has nothing uncommitted.
        if std::env::var_os("CI").is_none() {
            package.arg("--allow-dirty");
        }
        run(&mut package)?;

        let folder = target().join("packages");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        for Published { name, version, .. } in &published {
            let packed = target().join("package").join(format!("{name}-{version}.crate"));
            // `m`: files are as new as their unpacking, by which cargo knows that they have changed.
            let arguments = [OsStr::new("-xzmf"), packed.as_os_str(), OsStr::new("-C"), folder.as_os_str()];
            let status = Command::new("tar").args(arguments).status().context("failed to start tar")?;
            ensure!(status.success(), "failed to unpack {}: {status}", packed.display());
        }
        let users = users(&metadata, &published, &folder)?;
        fs::write(folder.join("Cargo.toml"), workspace(&published, &users))?;
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
        let check = |arguments: &[&str]| {
            let mut check = cargo(&["check", "--quiet"]);
            run(check.args(arguments).current_dir(&folder).env("CARGO_TARGET_DIR", target()))
        };
        if !self.alone {
            return check(&["--workspace", "--examples", "--bins", "--lib"]);
        }
        let began = Instant::now();
        for Published { name, .. } in &published {
            check(&["--package", name])?;
            if let Some(user) = users.iter().find(|user| user.of == *name) {
                check(&["--package", &user.name(), "--examples"])?;
            }
        }
        println!("{} packages build alone, in {} s", published.len(), began.elapsed().as_secs());
        Ok(())
    }
}

/// Makes the user of each published library, in the folder of the packages.
fn users(metadata: &Value, published: &[Published], folder: &Path) -> anyhow::Result<Vec<User>> {
    let index = folder.join("index-of-crates");
    index::write(metadata, &index)?;
    let mut users = Vec::new();
    for published in published {
        let package = folder.join(format!("{}-{}", published.name, published.version));
        let readme = package.join("README.md");
        let text = fs::read_to_string(&readme)?;
        if !package.join("src/lib.rs").exists() {
            let install = format!("cargo install {}", published.name);
            ensure!(text.contains(&install), "the README of {} lacks `{install}`", published.name);
            continue;
        }
        let user = User::of(&published.name, &text)?;
        user.make(folder, &index)?;
        users.push(user);
    }
    Ok(users)
}

/// The crates that are published, and the names of those that are not.
fn crates(metadata: &Value) -> (Vec<Published>, Vec<String>) {
    let (mut published, mut private) = (Vec::new(), Vec::new());
    for package in own_packages(metadata) {
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        if is_published(package) {
            let folder = Path::new(&text("manifest_path")).parent().unwrap_or(Path::new("")).to_path_buf();
            published.push(Published { name: text("name"), version: text("version"), folder });
        } else {
            private.push(text("name"));
        }
    }
    (published, private)
}

/// The manifest over the unpacked packages and their users.
fn workspace(packages: &[Published], users: &[User]) -> String {
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [".to_owned();
    for Published { name, version, .. } in packages {
        let _ = write!(text, "\"{name}-{version}\", ");
    }
    for user in users {
        let _ = write!(text, "\"{}\", ", user.name());
    }
    text.push_str("]\n\n[patch.crates-io]\n");
    for Published { name, version, .. } in packages {
        let _ = writeln!(text, "{name} = {{ path = \"{name}-{version}\" }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_published_stands_for_the_crate_on_the_registry() {
        let metadata = json!({ "packages": [
            { "name": "low", "version": "0.1.0", "publish": null, "source": null },
            { "name": "tool", "version": "0.1.0", "publish": [], "source": null },
            { "name": "high", "version": "0.2.0", "publish": ["crates-io"], "source": null },
            { "name": "serde", "version": "1.0.0", "publish": null, "source": "registry" },
        ] });
        let (published, private) = crates(&metadata);
        assert_eq!(private, ["tool"]);
        let user = User::of("low", "```sh\ncargo add low\n```\n").unwrap();
        let manifest = workspace(&published, &[user]);
        assert!(
            manifest.contains("members = [\"low-0.1.0\", \"high-0.2.0\", \"user-of-low\", ]"),
            "{manifest}"
        );
        assert!(manifest.ends_with(
            "[patch.crates-io]\nlow = { path = \"low-0.1.0\" }\nhigh = { path = \"high-0.2.0\" }\n"
        ));
    }
}
