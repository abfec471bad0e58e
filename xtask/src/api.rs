//! `cargo xtask api`: what each published crate offers, compared with the list that is committed.
//!
//! cargo-public-api reads it off rustdoc's JSON, which only a nightly toolchain writes. That needs a separate
//! build, so it is no part of CI.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use serde_json::Value;
use workspace_tools::workspace::{cargo, metadata, root, run, target};

use crate::package::{is_published, own_packages};

/// The version that is installed where none is there.
const PUBLIC_API: &str = "0.52.0";
/// A list for each crate.
const LISTS: &str = "docs/api";

/// Lists the public items of all published libraries and compares them with docs/api; needs the nightly toolchain.
#[derive(Debug, clap::Args)]
pub(crate) struct Api {
    /// Write the lists, instead of comparing them.
    #[arg(long)]
    write: bool,
    /// Installs the pinned cargo-public-api first if none is there (takes some minutes).
    #[arg(long)]
    install: bool,
    /// Crates, without any all.
    crates: Vec<String>,
}

impl Api {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let installed =
            cargo(&["public-api", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !installed.is_ok_and(|status| status.success()) {
            if !self.install {
                bail!("cargo-public-api is not installed; `cargo xtask api --install` installs {PUBLIC_API}");
            }
            run(&mut cargo(&["install", "--locked", "cargo-public-api", "--version", PUBLIC_API]))?;
        }
        let metadata = metadata(&["--no-deps"])?;
        let (mut removed, mut added, mut known) = (0, 0, BTreeSet::new());
        fs::create_dir_all(root().join(LISTS))?;
        for package in own_packages(&metadata).filter(|package| is_published(package) && is_library(package))
        {
            let name = package["name"].as_str().context("a package has no name")?;
            known.insert(format!("{name}.txt"));
            if !self.crates.is_empty() && !self.crates.iter().any(|wanted| wanted == name) {
                continue;
            }
            let fresh = items(package, name)?;
            let file = root().join(LISTS).join(format!("{name}.txt"));
            let committed = fs::read_to_string(&file).unwrap_or_default();
            let (old, new) = (lines(&committed), lines(&fresh));
            for line in old.difference(&new) {
                println!("{name}: - {line}");
                removed += 1;
            }
            for line in new.difference(&old) {
                println!("{name}: + {line}");
                added += 1;
            }
            if self.write {
                fs::write(&file, fresh)?;
            }
        }
        for entry in fs::read_dir(root().join(LISTS))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !known.contains(&name) {
                ensure!(self.write, "{LISTS}/{name} is of no library: `cargo xtask api --write`");
                fs::remove_file(entry.path())?;
            }
        }
        if removed > 0 {
            println!(
                "{removed} lines are gone: who uses them breaks, so the next version has another major number, \
                      before 1.0 another minor one"
            );
        }
        ensure!(
            self.write || removed + added == 0,
            "{removed} lines are gone and {added} are new: `cargo xtask api --write`, and say so in CHANGELOG.md"
        );
        println!("{} libraries: {removed} lines are gone, {added} are new", known.len());
        Ok(())
    }
}

/// What a crate offers, a line each; without what is derived, for which every type has the same lines.
fn items(package: &Value, name: &str) -> anyhow::Result<String> {
    let mut list = Command::new("cargo");
    list.args(["+nightly", "public-api", "-sss", "--color", "never", "--package", name, "--target-dir"]);
    list.arg(folder()).current_dir(root());
    // As it is documented.
    let documented = &package["metadata"]["docs"]["rs"];
    if documented["all-features"] == true {
        list.arg("--all-features");
    }
    for feature in documented["features"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        list.args(["--features", feature]);
    }
    // The toolchain of this program is not the one that is asked for.
    for variable in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        list.env_remove(variable);
    }
    let output = list.stderr(Stdio::piped()).output().context("failed to start cargo")?;
    ensure!(
        output.status.success(),
        "what {name} offers is not found: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("cargo-public-api printed no text")
}

/// A separate folder: another toolchain builds there.
fn folder() -> PathBuf {
    target().join("api")
}

fn is_library(package: &Value) -> bool {
    let targets = package["targets"].as_array();
    targets.is_some_and(|targets| targets.iter().any(|target| target["kind"][0] == "lib"))
}

fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_offers_nothing() {
        assert!(is_library(&json!({ "targets": [{ "kind": ["test"] }, { "kind": ["lib"] }] })));
        assert!(!is_library(&json!({ "targets": [{ "kind": ["bin"] }] })));
    }

    /// Without a list a crate would be compared with nothing.
    #[test]
    fn every_published_library_has_a_list() {
        let metadata = metadata(&["--no-deps", "--offline"]).unwrap();
        for package in own_packages(&metadata).filter(|package| is_published(package) && is_library(package))
        {
            let file = root().join(LISTS).join(format!("{}.txt", package["name"].as_str().unwrap()));
            let text = fs::read_to_string(&file).unwrap_or_default();
            assert!(text.starts_with("pub mod "), "{}: `cargo xtask api --write`", file.display());
        }
    }
}
