//! `cargo xtask semver`: whether stable crates break those who use them, compared with the commit in `docs/semver-baseline`.

use anyhow::ensure;
use serde_json::Value;
use workspace_tools::baseline::{self, BASELINE};
use workspace_tools::semver_checks::{Missing, SemverChecks, Users};
use workspace_tools::tiers::{Promise, Tier};
use workspace_tools::workspace::{metadata, root};

/// Compares what changed stable crates offer with the commit in docs/semver-baseline, and fails where their users break.
#[derive(Debug, clap::Args)]
pub(crate) struct Semver {
    /// Installs the pinned cargo-semver-checks below target first if it is not there (takes some minutes).
    #[arg(long)]
    install: bool,
    /// Crates to compare whether they changed or not; without any, the stable ones that changed.
    crates: Vec<String>,
}

impl Semver {
    #[expect(clippy::print_stdout, reason = "the result of the command")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let commit = baseline::commit()?;
        let checks = SemverChecks::find(if self.install { Missing::Install } else { Missing::Refuse })?;
        let metadata = metadata(&["--no-deps"])?;
        let all = Promise::all(&metadata, &root());
        for asked in &self.crates {
            ensure!(all.iter().any(|known| known.name() == asked), "there is no crate {asked}");
        }
        let old = baseline::unpacked(&commit)?;
        let (mut compared, mut broken) = (Vec::new(), Vec::new());
        for promise in &all {
            let name = promise.name();
            let is_asked = if self.crates.is_empty() {
                promise.is(Tier::Stable) && baseline::has_changed(&root(), &commit, promise.folder())?
            } else {
                self.crates.iter().any(|asked| asked == name)
            };
            if !is_asked {
                continue;
            }
            if !old.join(promise.folder()).join("Cargo.toml").exists() {
                println!("{name}: not there at {commit}, so that nothing can break");
                continue;
            }
            compared.push(name);
            let (users, report) = checks.compare(name, &root(), &old, &documented(&metadata, name))?;
            print!("{report}");
            if users == Users::Break {
                broken.push(name);
            }
        }
        ensure!(
            broken.is_empty(),
            "users of {} break, compared with {commit}: undo that, or raise the minor number (`cargo xtask bump`) and name the \
             break in CHANGELOG.md; before the first release {BASELINE} may name a later commit instead",
            broken.join(", ")
        );
        if compared.is_empty() {
            println!("no stable crate has changed since {commit}");
        } else {
            println!("{}: nothing breaks, compared with {commit}", compared.join(", "));
        }
        Ok(())
    }
}

/// The features with which a crate is documented.
fn documented(metadata: &Value, name: &str) -> Vec<String> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let documented = packages.find(|package| package["name"] == name).map(|of| &of["metadata"]["docs"]["rs"]);
    let Some(features) = documented.and_then(|documented| documented["features"].as_array()) else {
        return vec!["--all-features".to_owned()];
    };
    let named = features.iter().filter_map(Value::as_str).map(|feature| format!("--features={feature}"));
    std::iter::once("--only-explicit-features".to_owned()).chain(named).collect()
}
