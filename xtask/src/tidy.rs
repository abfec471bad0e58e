//! `cargo xtask tidy`: the structure that the compiler does not check.
//!
//! Rows: a crate uses crates of lower rows only. Map: `ARCHITECTURE.md` names every crate and no other, and explains
//! every field of `Compat`. Modules open with `//!`. Crates of the pure rows are `no_std`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{cargo, root};

/// Checks rows, map, module documentation and `no_std`.
#[derive(Debug, clap::Args)]
pub(crate) struct Tidy {}

/// The rows, lowest first. A dependency must lie in a lower row than who uses it.
const ROWS: &[&[&str]] = &[
    &["numa-bitmask", "cpuset", "k8s-quantity", "terminal-text", "machine-fixtures"],
    &["topology-model", "pod-spec", "node-config", "node-cover"],
    &["topology-hint"],
    &["topology-policy"],
    &["cpu-manager", "memory-manager", "device-manager"],
    &["kubelet-checkpoint"],
    &["topology-admission"],
    &["node-simulation"],
    &["topology-discovery", "topology-manifest", "device-plugin", "cgroup-cpuset"],
    &["node-agent"],
    &["conformance", "workloads", "topolet"],
    &["xtask"],
];

/// Rows from this one on may touch the outside; below it everything is pure.
const FIRST_IMPURE_ROW: usize = 8;

/// What the checks need to know of a crate.
#[derive(Clone, Debug)]
struct Crate {
    name: String,
    /// Workspace crates that it uses outside its tests.
    uses: BTreeSet<String>,
}

impl Tidy {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let crates = workspace(&root())?;
        let mut faults = rows(&crates);
        let map =
            fs::read_to_string(root().join("ARCHITECTURE.md")).context("failed to read ARCHITECTURE.md")?;
        faults.extend(mapped(&crates, &map));
        let compat = root().join("crates/admission/src/compat.rs");
        let compat =
            fs::read_to_string(&compat).with_context(|| format!("failed to read {}", compat.display()))?;
        faults.extend(differences(&compat, &map));
        for folder in ["crates", "xtask"] {
            modules(&root().join(folder), &mut faults)?;
        }
        for found in &crates {
            faults.extend(purity(&found.name)?);
        }
        if !faults.is_empty() {
            bail!("{}", faults.join("\n"));
        }
        eprintln!("tidy: {} crates in order", crates.len());
        Ok(())
    }
}

/// The crates of the workspace in a folder, with what they use.
fn workspace(folder: &Path) -> anyhow::Result<Vec<Crate>> {
    let mut metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = metadata.current_dir(folder).output()?;
    anyhow::ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let crates = packages.iter().map(|package| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let own = dependencies.filter(|used| used["path"].is_string() && used["kind"] != "dev");
        Crate {
            name: package["name"].as_str().unwrap_or_default().to_owned(),
            uses: own.filter_map(|used| used["name"].as_str()).map(str::to_owned).collect(),
        }
    });
    Ok(crates.collect())
}

fn row_of(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}

fn rows(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for found in crates {
        let Some(row) = row_of(&found.name) else {
            faults.push(format!("{} is in no row", found.name));
            continue;
        };
        for used in &found.uses {
            match row_of(used) {
                Some(lower) if lower < row => {}
                Some(same) if same == row => faults.push(format!("{} uses {used} beside it", found.name)),
                Some(_) => faults.push(format!("{} uses {used} above it", found.name)),
                None => faults.push(format!("{} uses {used}, which is in no row", found.name)),
            }
        }
    }
    faults
}

/// The crates named in the map's table of crates: rows `| … | `name` | …`.
fn mapped(crates: &[Crate], map: &str) -> Vec<String> {
    let section = map.split("## Crates").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
    let named: BTreeSet<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1)?.strip_prefix('`')?.strip_suffix('`'))
        .collect();
    let real: BTreeSet<&str> =
        crates.iter().map(|found| found.name.as_str()).filter(|name| *name != "xtask").collect();
    let missing = real.difference(&named).map(|name| format!("ARCHITECTURE.md does not name {name}"));
    let gone =
        named.difference(&real).map(|name| format!("ARCHITECTURE.md names {name}, which is not there"));
    missing.chain(gone).collect()
}

/// The fields of `Compat` are those of the map's table of differences.
fn differences(compat: &str, map: &str) -> Vec<String> {
    let body =
        compat.split("pub struct Compat {").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or("");
    let fields: BTreeSet<&str> =
        body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next()).collect();
    let section = map.split("## Differences from kubelet").nth(1).unwrap_or("");
    let listed: BTreeSet<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let missing =
        fields.difference(&listed).map(|name| format!("ARCHITECTURE.md does not explain Compat::{name}"));
    let gone = listed
        .difference(&fields)
        .map(|name| format!("ARCHITECTURE.md explains Compat::{name}, which is gone"));
    missing.chain(gone).collect()
}

/// Every source file opens with its purpose.
fn modules(folder: &Path, faults: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                modules(&path, faults)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            if !text.starts_with("//!") && !text.starts_with("#![doc = include_str!(") {
                let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
                faults.push(format!("{shown} does not open with what it is for"));
            }
        }
    }
    Ok(())
}

/// Crates of the pure rows cannot reach files, clocks or threads.
fn purity(name: &str) -> anyhow::Result<Vec<String>> {
    let pure = row_of(name).is_some_and(|row| row < FIRST_IMPURE_ROW);
    if !pure {
        return Ok(Vec::new());
    }
    let folders = BTreeMap::from([("topology-admission", "admission")]);
    let folder = folders.get(name).copied().unwrap_or(name);
    let path = root().join("crates").join(folder).join("src/lib.rs");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(if text.lines().any(|line| line == "#![no_std]") {
        Vec::new()
    } else {
        vec![format!("{name} is in a pure row and not #![no_std]")]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, uses: &[&str]) -> Crate {
        Crate { name: name.to_owned(), uses: uses.iter().map(|used| (*used).to_owned()).collect() }
    }

    #[test]
    fn a_dependency_that_points_up_or_sideways_is_a_fault() {
        assert_eq!(rows(&[found("topology-policy", &["topology-hint", "numa-bitmask"])]), [""; 0]);
        assert_eq!(
            rows(&[found("topology-hint", &["topology-policy"])]),
            ["topology-hint uses topology-policy above it"]
        );
        assert_eq!(
            rows(&[found("cpu-manager", &["memory-manager"])]),
            ["cpu-manager uses memory-manager beside it"]
        );
        assert_eq!(rows(&[found("helpers", &[])]), ["helpers is in no row"]);
    }

    /// A workspace of two crates, of which the lower uses the upper.
    struct UpsideDown(std::path::PathBuf);

    impl UpsideDown {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(format!("tidy-{}", std::process::id()));
            let uses = "[dependencies]\ntopology-policy = { path = \"../topology-policy\" }\n";
            for (name, uses) in [("topology-hint", uses), ("topology-policy", "")] {
                let source = folder.join("crates").join(name).join("src");
                fs::create_dir_all(&source).unwrap();
                fs::write(source.join("lib.rs"), "").unwrap();
                let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{uses}");
                fs::write(source.with_file_name("Cargo.toml"), manifest).unwrap();
            }
            fs::write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n")
                .unwrap();
            Self(folder)
        }
    }

    impl Drop for UpsideDown {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_manifest_that_points_up_is_found() {
        let workspace = workspace(&UpsideDown::new().0).unwrap();
        assert_eq!(rows(&workspace), ["topology-hint uses topology-policy above it"]);
    }

    #[test]
    fn the_map_names_every_crate_and_no_other() {
        let map = "# Map\n## Crates\n| row | crate | what |\n| values | `cpuset` | sets |\n| x | `gone` | no |\n## Next\n| a | `b` |";
        assert_eq!(
            mapped(&[found("cpuset", &[]), found("pod-spec", &[])], map),
            ["ARCHITECTURE.md does not name pod-spec", "ARCHITECTURE.md names gone, which is not there",]
        );
    }

    #[test]
    fn every_difference_from_the_kubelet_is_explained() {
        let compat =
            "pub struct Compat {\n    /// A.\n    pub a: A,\n    pub b: B,\n}\npub struct Other { pub c: C }";
        let map = "| `x` | crate |\n## Differences from kubelet\n| field | kubelet |\n| `b` | why |\n| `z` | why |\n";
        assert_eq!(
            differences(compat, map),
            [
                "ARCHITECTURE.md does not explain Compat::a",
                "ARCHITECTURE.md explains Compat::z, which is gone",
            ]
        );
    }

    #[test]
    fn this_workspace_is_in_order() {
        assert_eq!(rows(&workspace(&root()).unwrap()), [""; 0]);
    }
}
