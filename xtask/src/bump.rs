//! `cargo xtask bump X.Y.Z`: the next version, wherever a version is written.

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use workspace_tools::document::today;
use workspace_tools::workspace::{cargo, root, run};

/// Gives all crates the next version, and what has changed a heading in CHANGELOG.md.
#[derive(Debug, clap::Args)]
pub(crate) struct Bump {
    /// The version, as `1.2.3`.
    version: String,
}

/// Files that name the version, and what stands there, with `VERSION` in the place of the version, or `MINOR` in the place of
/// its first two numbers.
const PLACES: &[(&str, &[&str])] = &[
    ("README.md", &["Version MINOR, "]),
    ("deploy/README.md", &["-t topolet:VERSION "]),
    ("docs/packages.md", &["-t topolet:VERSION "]),
    ("deploy/observe/daemon-set.yaml", &["image: topolet:VERSION\n"]),
    ("deploy/guard/daemon-set.yaml", &["image: topolet:VERSION\n"]),
    ("deploy/observe/kustomization.yaml", &["newTag: VERSION\n"]),
    ("deploy/scheduler/deployment.yaml", &["image: topolet:VERSION\n"]),
    ("deploy/capture/job.yaml", &["image: topolet:VERSION\n"]),
    ("deploy/chart/Chart.yaml", &["\nversion: VERSION\n", "\nappVersion: VERSION\n"]),
    (
        "fixtures/chart/rendered.yaml",
        &["image: topolet:VERSION\n", "io/version: \"VERSION\"\n", "helm.sh/chart: topolet-VERSION\n"],
    ),
];
const CHANGELOG: &str = "CHANGELOG.md";
const UNRELEASED: &str = "## [Unreleased]\n";

impl Bump {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let manifest = read("Cargo.toml")?;
        let old = version_of(&manifest)?;
        let (before, after) = (parsed(&old)?, parsed(&self.version)?);
        ensure!(after > before, "{} does not come after {old}", self.version);
        // All is made before anything is written.
        let mut made = vec![
            ("Cargo.toml", manifest_with(&manifest, &old, &self.version)),
            (CHANGELOG, changelog_with(&read(CHANGELOG)?, &self.version, &today())?),
        ];
        for (file, places) in PLACES {
            let mut text = read(file)?;
            for place in *places {
                let (from, to) = (filled(place, &old), filled(place, &self.version));
                ensure!(text.contains(&from), "{file} lacks `{}`", from.trim());
                text = text.replace(&from, &to);
            }
            made.push((file, text));
        }
        for (file, text) in made {
            fs::write(root().join(file), text)?;
        }
        // The lock file has the versions of the workspace's own crates.
        run(&mut cargo(&["update", "--workspace", "--offline", "--quiet"]))?;
        println!("{old} -> {}: look at {CHANGELOG}, commit, and tag v{0}", self.version);
        Ok(())
    }
}

/// A place with a version in it.
fn filled(place: &str, version: &str) -> String {
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    place.replace("VERSION", version).replace("MINOR", minor)
}

/// The version of the workspace.
///
/// # Errors
/// The manifest has none.
fn version_of(manifest: &str) -> anyhow::Result<String> {
    let (_, package) = manifest.split_once("[workspace.package]\n").context("Cargo.toml has no version")?;
    let line = package.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(line.context("Cargo.toml has no version")?.to_owned())
}

/// The numbers of a version.
fn parsed(version: &str) -> anyhow::Result<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version
        .split('.')
        .map(|part| part.parse().ok().filter(|number: &u64| number.to_string() == part))
        .collect();
    match numbers.as_deref() {
        Some([major, minor, patch]) => Ok([*major, *minor, *patch]),
        _ => bail!("{version:?} is no version such as 1.2.3"),
    }
}

/// The manifest of the workspace with another version of its crates. Versions of others' crates stay.
fn manifest_with(manifest: &str, old: &str, new: &str) -> String {
    let version = format!("version = \"{old}\"");
    let lines = manifest.lines().map(|line| {
        if line == version || line.contains("{ path = \"crates/") {
            line.replace(&version, &format!("version = \"{new}\""))
        } else {
            line.to_owned()
        }
    });
    lines.map(|line| line + "\n").collect()
}

/// The list of changes, in which what was unreleased has a version and a day.
fn changelog_with(changelog: &str, version: &str, today: &str) -> anyhow::Result<String> {
    let (head, rest) = changelog
        .split_once(UNRELEASED)
        .with_context(|| format!("{CHANGELOG} lacks `{}`", UNRELEASED.trim()))?;
    let changes = rest.split("\n## ").next().unwrap_or_default();
    ensure!(!changes.trim().is_empty(), "{CHANGELOG} says of no change since the last version");
    Ok(format!("{head}{UNRELEASED}\n## [{version}] - {today}\n{rest}"))
}

fn read(file: &str) -> anyhow::Result<String> {
    Ok(fs::read_to_string(root().join(file))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_names_the_version_of_now() {
        let version = version_of(&read("Cargo.toml").unwrap()).unwrap();
        for (file, places) in PLACES {
            let text = read(file).unwrap();
            for place in *places {
                let place = filled(place, &version);
                assert!(text.contains(&place), "{file} lacks {place}");
            }
        }
    }

    #[test]
    fn crates_of_others_keep_their_versions() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n[workspace.dependencies]\na = { path = \"crates/a\", version = \"0.1.0\" }\nb = { version = \"0.1.0\", features = [] }\n";
        assert_eq!(version_of(manifest).unwrap(), "0.1.0");
        let expected = manifest.replacen("0.1.0", "0.2.0", 2);
        assert_eq!(manifest_with(manifest, "0.1.0", "0.2.0"), expected);
    }

    #[test]
    fn only_a_later_version_is_one() {
        assert!(parsed("0.10.0").unwrap() > parsed("0.9.9").unwrap());
        for wrong in ["1.0", "1.0.0.0", "v1.0.0", "1.0.x", "1.00.0", "", "+1.0.0"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_unreleased_gets_a_heading() {
        let old = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- a\n\n## [0.1.0] - 2026-01-01\n";
        let new = changelog_with(old, "0.2.0", "2026-02-03").unwrap();
        let expected = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Added\n\n- a\n\n## [0.1.0] - 2026-01-01\n";
        assert_eq!(new, expected);
        assert!(changelog_with(&new, "0.3.0", "2026-02-04").is_err(), "nothing has changed");
        assert!(changelog_with("# Changelog\n", "0.3.0", "2026-02-04").is_err());
    }
}
