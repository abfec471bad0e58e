//! What is exported, and the schema of its definition.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_quantity::Quantity;
use serde_json::Value;

/// The definition of the kind.
pub const DEFINITION: &str =
    include_str!("../../../../../deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml");

/// A separate folder for a test, gone afterwards.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("topolet-nrt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The object, and the text of standard error.
pub fn export(arguments: &[&str]) -> (Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["export", "nrt"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.is_empty(), "{arguments:?}: {said}");
    // The options a user has are two, and both say the same.
    let value = if text.starts_with('{') {
        serde_json::from_str(&text).unwrap()
    } else {
        serde_saphyr::from_str(&text).unwrap()
    };
    (value, said)
}

pub fn attribute<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    let attributes = object["attributes"].as_array()?;
    attributes.iter().find(|own| own["name"] == name).map(|own| own["value"].as_str().unwrap())
}

pub fn zone<'a>(object: &'a Value, zone: &str) -> &'a Value {
    object["zones"].as_array().unwrap().iter().find(|own| own["name"] == zone).unwrap()
}

pub fn amount(object: &Value, zone_name: &str, resource: &str, what: &str) -> i64 {
    let resources = zone(object, zone_name)["resources"].as_array().unwrap();
    let resource = resources.iter().find(|own| own["name"] == resource).unwrap();
    resource[what].as_str().unwrap().parse::<Quantity>().unwrap().value()
}
