//! `cargo xtask object-fields`: the names of all fields of the objects that `topology-manifest` reads, from the
//! `OpenAPI` document of the Kubernetes release in `crates/workspace-tools/kubelet/go.mod`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde::Deserialize;
use workspace_tools::kubelet::MODULE;
use workspace_tools::workspace::root;

/// Writes the table of fields that strict reading of manifests compares with (needs Go).
#[derive(Debug, clap::Args)]
pub(crate) struct ObjectFields {}

/// Where the table is, below the root of the workspace.
const TABLE: &str = "crates/manifest/src/generated/object_fields.txt";

/// The objects with pods in them.
const OBJECTS: [&str; 8] = [
    "io.k8s.api.core.v1.Pod",
    "io.k8s.api.core.v1.ReplicationController",
    "io.k8s.api.apps.v1.Deployment",
    "io.k8s.api.apps.v1.StatefulSet",
    "io.k8s.api.apps.v1.ReplicaSet",
    "io.k8s.api.apps.v1.DaemonSet",
    "io.k8s.api.batch.v1.Job",
    "io.k8s.api.batch.v1.CronJob",
];

#[derive(Deserialize)]
struct OpenApi {
    definitions: BTreeMap<String, Schema>,
}

/// A type; one without properties has no fields that are known (a quantity, a time, labels).
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    items: Option<Box<Schema>>,
    additional_properties: Option<Box<Schema>>,
    #[serde(default)]
    properties: BTreeMap<String, Schema>,
}

impl Schema {
    /// The type of what is in it: lists hold one type, and so do maps.
    fn named(&self) -> Option<&str> {
        match (&self.reference, self.items.as_ref().or(self.additional_properties.as_ref())) {
            (Some(reference), _) => reference.rsplit('/').next(),
            (None, Some(inner)) => inner.named(),
            (None, None) => None,
        }
    }
}

impl ObjectFields {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (version, folder) = kubernetes()?;
        let path = Path::new(&folder).join("api/openapi-spec/swagger.json");
        let text = fs::read(&path)?;
        let OpenApi { definitions } =
            serde_json::from_slice(&text).with_context(|| format!("failed to read {}", path.display()))?;
        let table = table(&version, &definitions)?;
        let target = root().join(TABLE);
        fs::write(&target, table)?;
        eprintln!("wrote {}", target.display());
        Ok(())
    }
}

/// The version of Kubernetes, and the folder with its source.
fn kubernetes() -> anyhow::Result<(String, String)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Downloaded {
        version: String,
        dir: String,
    }
    let module = root().join(MODULE);
    let output = Command::new("go")
        .args(["mod", "download", "-json", "k8s.io/kubernetes"])
        .current_dir(&module)
        .output()
        .context("failed to start go: is it installed?")?;
    ensure!(output.status.success(), "go mod download failed: {}", String::from_utf8_lossy(&output.stderr));
    let Downloaded { version, dir } =
        serde_json::from_slice(&output.stdout).context("failed to read what go mod download says")?;
    Ok((version, dir))
}

/// A line for each type: its name, and its fields as `NAME` or `NAME:TYPE`.
fn table(version: &str, definitions: &BTreeMap<String, Schema>) -> anyhow::Result<String> {
    let mut types: BTreeMap<&str, String> = BTreeMap::new();
    let mut left: Vec<&str> = OBJECTS.to_vec();
    while let Some(name) = left.pop() {
        let schema = definitions.get(name).with_context(|| format!("there is no type {name}"))?;
        let short = short(name);
        if types.contains_key(short) {
            continue;
        }
        let mut line = short.to_owned();
        for (field, schema) in &schema.properties {
            let inner = schema
                .named()
                .filter(|name| definitions.get(*name).is_some_and(|schema| !schema.properties.is_empty()));
            match inner {
                Some(name) => {
                    left.push(name);
                    write!(line, " {field}:{}", self::short(name))?;
                }
                None => write!(line, " {field}")?,
            }
        }
        types.insert(short, line);
    }
    let lines: Vec<String> = types.into_values().collect();
    Ok(format!(
        "# Fields of objects with pods in them, Kubernetes {version}. From its OpenAPI document by `cargo xtask object-fields`; not to be edited.\n{}\n",
        lines.join("\n")
    ))
}

/// A type without its package; no two of them are called alike.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
