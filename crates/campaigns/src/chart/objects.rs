//! Objects of manifests, without what helm adds and without namespaces, which a release chooses.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// Labels that helm's charts have, and kustomizations do not.
const OF_RELEASES: [&str; 4] = [
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "helm.sh/chart",
];

/// Objects by kind and name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Objects(BTreeMap<(String, String), Value>);

impl Objects {
    /// The objects of a text of YAML documents.
    ///
    /// # Errors
    /// It is no YAML, or one has no kind or name.
    pub(super) fn of(text: &str) -> anyhow::Result<Self> {
        let mut objects = BTreeMap::new();
        for mut object in serde_saphyr::from_multiple::<Value>(text).context("a manifest is no YAML")? {
            if object.is_null() {
                continue;
            }
            let word =
                |value: &Value| value.as_str().map(str::to_owned).context("an object lacks kind or name");
            let key = (word(&object["kind"])?, word(&object["metadata"]["name"])?);
            // A release is installed into a namespace that is there.
            if key.0 == "Namespace" {
                continue;
            }
            without_release(&mut object);
            ensure!(objects.insert(key.clone(), object).is_none(), "{} {} is there twice", key.0, key.1);
        }
        Ok(Self(objects))
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// What `kubectl kustomize` prints of a folder.
pub(super) fn kustomized(kubectl: &Path, folder: &Path) -> anyhow::Result<Objects> {
    let output =
        Command::new(kubectl).arg("kustomize").arg(folder).output().context("failed to start kubectl")?;
    let fault = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`kubectl kustomize {}`: {fault}", folder.display());
    Objects::of(&String::from_utf8_lossy(&output.stdout))
}

/// A line for each object that is not in both, or is not the same.
pub(super) fn differences(found: &Objects, expected: &Objects) -> Vec<String> {
    let all: std::collections::BTreeSet<_> = found.0.keys().chain(expected.0.keys()).collect();
    let differs = |key: &(String, String)| match (found.0.get(key), expected.0.get(key)) {
        (Some(found), Some(expected)) if found == expected => None,
        (Some(found), Some(expected)) => Some(format!("is\n{found}\nand not\n{expected}")),
        (Some(_), None) => Some("is in the chart alone".to_owned()),
        (None, _) => Some("is not in the chart".to_owned()),
    };
    all.into_iter().filter_map(|key| Some(format!("{} {} {}", key.0, key.1, differs(key)?))).collect()
}

fn without_release(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let is_of_release = OF_RELEASES.contains(&name.as_str());
                !(is_of_release || name == "namespace" && value.is_string())
            });
            if fields.get("labels").is_some_and(|labels| {
                labels
                    .as_object()
                    .is_some_and(|labels| labels.keys().all(|name| OF_RELEASES.contains(&name.as_str())))
            }) {
                fields.remove("labels");
            }
            fields.values_mut().for_each(without_release);
        }
        Value::Array(values) => values.iter_mut().for_each(without_release),
        _ => {}
    }
}
