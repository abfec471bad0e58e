//! What the manifest of a published crate has to say, for the registry and for its documentation there.

use std::path::Path;

use serde_json::Value;
use workspace_tools::workspace::{is_published, own_packages};

/// The registry's categories (<https://crates.io/category_slugs>) that something here belongs to.
const CATEGORIES: &[&str] = &[
    "algorithms",
    "command-line-interface",
    "command-line-utilities",
    "compilers",
    "concurrency",
    "config",
    "data-structures",
    "development-tools",
    "development-tools::testing",
    "encoding",
    "hardware-support",
    "network-programming",
    "no-std",
    "os::linux-apis",
    "os::unix-apis",
    "parser-implementations",
    "simulation",
    "text-processing",
    "visualization",
    "web-programming::http-client",
    "web-programming::http-server",
];
/// The documentation of a program.
const GUIDE: &str = "https://github.com/topolet/topolet/tree/main/docs/guide/src";

/// Whether the registry takes a keyword: at most 20 letters, digits, `_`, `-` and `+`, of which the first is a letter or digit.
fn is_keyword(keyword: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "_-+".contains(c);
    keyword.len() <= 20
        && keyword.starts_with(|c: char| c.is_ascii_alphanumeric())
        && keyword.chars().all(is_inner)
}

/// What the manifests lack. `toolchain` is the release of Rust with which everything is built and tested, the oldest one that
/// is known to do.
pub(super) fn faults(metadata: &Value, toolchain: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for package in own_packages(metadata).filter(|package| is_published(package)) {
        let name = package["name"].as_str().unwrap_or_default();
        let mut fault = |text: &str| faults.push(format!("{name}: {text}"));
        let said = |field: &str| package[field].as_str().is_some_and(|text| !text.is_empty());
        for field in ["description", "license", "readme", "repository", "rust_version"] {
            if !said(field) {
                fault(&format!("the manifest has no {}", field.replace('_', "-")));
            }
        }
        let rust = package["rust_version"].as_str().unwrap_or_default();
        if !toolchain.starts_with(&format!("{rust}.")) {
            fault(&format!("rust-version is {rust}, and the pinned toolchain is {toolchain}"));
        }
        // More than five keywords are refused by the registry.
        let texts = |field: &str| package[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        if ["keywords", "categories"].iter().any(|field| !(1..=5).contains(&texts(field).count())) {
            fault("one to five keywords and categories are needed");
        }
        for category in texts("categories").filter(|category| !CATEGORIES.contains(category)) {
            fault(&format!("{category} is not one of the registry's categories that fit here"));
        }
        for keyword in texts("keywords").filter(|keyword| !is_keyword(keyword)) {
            fault(&format!("the registry does not take the keyword {keyword}"));
        }
        // docs.rs has libraries alone.
        let mut targets = package["targets"].as_array().into_iter().flatten();
        let is_library = targets.any(|target| target["kind"][0] == "lib");
        let documentation = package["documentation"].as_str().unwrap_or_default();
        let expected = if is_library { format!("https://docs.rs/{name}") } else { GUIDE.to_owned() };
        if documentation != expected {
            fault(&format!("documentation is {documentation:?} and not {expected:?}"));
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent();
        let licence = folder.is_some_and(|folder| folder.join("LICENSE").exists());
        if !licence {
            fault("the package has no LICENSE");
        }
        // A crate with features is documented with those that docs.rs can build.
        let documented = &package["metadata"]["docs"]["rs"];
        let has_features = package["features"]
            .as_object()
            .is_some_and(|features| features.keys().any(|feature| feature != "default"));
        if has_features && !(documented["features"].is_array() || documented["all-features"] == true) {
            fault("[package.metadata.docs.rs] does not say with which features it is documented");
        }
        for used in package["dependencies"].as_array().into_iter().flatten() {
            let of_tests = used["kind"] == "dev";
            if !of_tests && used["path"].is_string() && used["req"] == "*" {
                fault(&format!("{} is used without a version", used["name"]));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_registry_asks_for_is_there() {
        let good = json!({
            "name": "cpuset", "source": null, "publish": null, "description": "sets", "license": "Apache-2.0",
            "readme": "README.md", "repository": "https://x.example", "rust_version": "1.95",
            "keywords": ["a"], "categories": ["no-std"], "features": { "serde": [] },
            "documentation": "https://docs.rs/cpuset", "targets": [{ "kind": ["lib"] }],
            "manifest_path": workspace_tools::workspace::root().join("crates/cpuset/Cargo.toml"),
            "metadata": { "docs": { "rs": { "all-features": true } } },
            "dependencies": [{ "name": "low", "path": "/x", "req": "^0.1.0", "kind": null }],
        });
        let faults_of = |package: &Value| faults(&json!({ "packages": [package] }), "1.95.0");
        assert_eq!(faults_of(&good), [""; 0]);
        for (field, value, said) in [
            ("description", json!(null), "cpuset: the manifest has no description"),
            ("rust_version", json!("1.9"), "cpuset: rust-version is 1.9, and the pinned toolchain is 1.95.0"),
            ("keywords", json!([]), "cpuset: one to five keywords and categories are needed"),
            (
                "keywords",
                json!(["resource-topology-of-nodes"]),
                "cpuset: the registry does not take the keyword resource-topology-of-nodes",
            ),
            ("keywords", json!(["two words"]), "cpuset: the registry does not take the keyword two words"),
            (
                "categories",
                json!(["numa"]),
                "cpuset: numa is not one of the registry's categories that fit here",
            ),
            (
                "documentation",
                json!("https://docs.rs/cpu"),
                "cpuset: documentation is \"https://docs.rs/cpu\" and not \"https://docs.rs/cpuset\"",
            ),
            ("manifest_path", json!("/nowhere/Cargo.toml"), "cpuset: the package has no LICENSE"),
            (
                "metadata",
                json!(null),
                "cpuset: [package.metadata.docs.rs] does not say with which features it is documented",
            ),
            (
                "dependencies",
                json!([{ "name": "low", "path": "/x", "req": "*", "kind": null }]),
                "cpuset: \"low\" is used without a version",
            ),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            assert_eq!(faults_of(&bad), [said]);
        }
        let mut private = json!({ "name": "tool", "source": null, "publish": [] });
        assert_eq!(faults_of(&private), [""; 0]);
        private["publish"] = json!(null);
        assert!(faults_of(&private).len() > 5);
    }
}
