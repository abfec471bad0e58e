//! An index of crates as a registry has it, so that `cargo add` finds those of the workspace before they are published.
//!
//! It has the crates of `cargo metadata` with the versions that are locked. There is nothing behind it: it answers which
//! crates there are, with which features.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use fs_err as fs;
use serde_json::{Value, json};

/// Writes the index of all packages.
pub(super) fn write(metadata: &Value, folder: &Path) -> anyhow::Result<()> {
    let index = folder.join("index");
    let mut packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    // Of some crates there are several versions, which stand in one file.
    packages.sort_by_key(|package| package["name"].as_str());
    for versions in packages.chunk_by(|a, b| a["name"] == b["name"]) {
        let name = versions[0]["name"].as_str().context("a package has no name")?;
        let file = index.join(prefix(name)).join(name.to_lowercase());
        let mut text = String::new();
        for package in versions {
            let _ = writeln!(text, "{}", entry(package));
        }
        fs::create_dir_all(file.parent().unwrap_or(&index))?;
        fs::write(&file, text)?;
    }
    Ok(())
}

/// The folder of a name, as registries lay them out.
fn prefix(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        0..=2 => name.len().to_string(),
        3 => format!("3/{}", &name[..1]),
        _ => format!("{}/{}", &name[..2], &name[2..4]),
    }
}

/// A line of the index.
fn entry(package: &Value) -> Value {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    // Those of tests too: features may name them.
    let dependencies = dependencies.map(|used| {
        json!({
            "name": if used["rename"].is_string() { &used["rename"] } else { &used["name"] },
            "package": if used["rename"].is_string() { used["name"].clone() } else { Value::Null },
            "req": used["req"], "features": used["features"], "optional": used["optional"],
            "default_features": used["uses_default_features"], "target": used["target"],
            "kind": if used["kind"].is_null() { json!("normal") } else { used["kind"].clone() },
        })
    });
    json!({
        "name": package["name"], "vers": package["version"], "deps": dependencies.collect::<Vec<_>>(),
        "features": package["features"], "cksum": "0".repeat(64), "yanked": false,
        "rust_version": package["rust_version"], "v": 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lie_where_cargo_looks_for_them() {
        let folders = ["a", "ab", "abc", "Abcd", "tokio"].map(prefix);
        assert_eq!(folders, ["1", "2", "3/a", "ab/cd", "to/ki"]);
    }
}
