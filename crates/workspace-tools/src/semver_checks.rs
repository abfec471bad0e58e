//! cargo-semver-checks: whether users of one version of a crate break with another one.
//!
//! It compares the two by rustdoc's JSON, which it has the pinned toolchain write. Before it is asked about our crates it has to
//! find breaks that are planted in a small one, so that its silence means something.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;

use crate::workspace::{cargo, outside_package, run, shown, target};

/// The version that is installed.
const VERSION: &str = "0.51.0";
/// Its exit code where something breaks.
const BREAKS: i32 = 100;

/// Whether users of a crate break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Users {
    /// Nothing was found.
    Fit,
    /// Something was found.
    Break,
}

/// What to do where the pinned version is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Build it, which takes minutes.
    Install,
    /// Fail.
    Refuse,
}

/// The program, of the pinned version, that has found the planted breaks.
#[derive(Clone, Debug)]
pub struct SemverChecks(PathBuf);

impl SemverChecks {
    /// The program below the target folder.
    ///
    /// # Errors
    /// It is not there, cannot be built, or does not find what it has to.
    pub fn find(missing: Missing) -> anyhow::Result<Self> {
        let folder = target().join("cargo-semver-checks");
        let found = Self(folder.join("bin/cargo-semver-checks"));
        if !found.is_pinned() {
            if missing == Missing::Refuse {
                bail!("cargo-semver-checks {VERSION} is not there; `cargo xtask semver --install` builds it");
            }
            let install = ["install", "--locked", "--force", "cargo-semver-checks", "--version", VERSION];
            run(cargo(&install).arg("--root").arg(&folder))?;
        }
        found.finds_planted()?;
        Ok(found)
    }

    fn is_pinned(&self) -> bool {
        let version = Command::new(&self.0).args(["semver-checks", "--version"]).output();
        version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(VERSION))
    }

    /// Compares a crate of a workspace with the one of the same name in another folder. Gives the report too.
    ///
    /// # Errors
    /// The two cannot be compared, such as where one does not compile.
    pub fn compare(
        &self,
        name: &str,
        new: &Path,
        old: &Path,
        features: &[String],
    ) -> anyhow::Result<(Users, String)> {
        let mut check = Command::new(&self.0);
        outside_package(&mut check).args(["semver-checks", "--color", "never", "--package", name]);
        check.arg("--manifest-path").arg(new.join("Cargo.toml")).arg("--baseline-root").arg(old);
        // What it found is on one stream, and how far it is on the other.
        let output = check.args(features).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("failed to start `{}`", shown(&check)))?;
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() {
            Some(0) => Ok((Users::Fit, report)),
            Some(BREAKS) => Ok((Users::Break, report)),
            _ => bail!("{name} is not compared: `{}` failed: {}\n{report}", shown(&check), output.status),
        }
    }

    /// Fails if it does not find each of the planted breaks.
    fn finds_planted(&self) -> anyhow::Result<()> {
        let [old, new] = ["old", "new"].map(|version| target().join("semver/planted").join(version));
        for (folder, source) in [(&old, OLD), (&new, NEW)] {
            fs::create_dir_all(folder.join("src"))?;
            fs::write(folder.join("Cargo.toml"), MANIFEST)?;
            fs::write(folder.join("src/lib.rs"), source)?;
        }
        let (_, report) = self.compare("planted", &new, &old, &[])?;
        let missed: Vec<&str> = PLANTED.into_iter().filter(|check| !reports(&report, check)).collect();
        ensure!(
            missed.is_empty(),
            "cargo-semver-checks does not find planted breaks: {}\n{report}",
            missed.join(", ")
        );
        eprintln!("cargo-semver-checks found the planted breaks: {}", PLANTED.join(", "));
        Ok(())
    }
}

const MANIFEST: &str =
    "[package]\nname = \"planted\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";

const OLD: &str = "
pub fn removed() {}
pub enum Exhaustive { One }
pub trait Implemented { fn first(&self); }
";

const NEW: &str = "
pub enum Exhaustive { One, Two }
pub trait Implemented { fn first(&self); fn second(&self); }
";

/// The checks that have to fail between the two.
const PLANTED: [&str; 3] = ["function_missing", "enum_variant_added", "trait_method_added"];

/// Whether a report names a check as failed.
fn reports(report: &str, check: &str) -> bool {
    report.lines().any(|line| line.starts_with(&format!("--- failure {check}:")))
}
