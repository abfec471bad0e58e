//! Texts with objects that decide on claims: of files, or as an API server lists them.

use std::path::PathBuf;

use node_output::{manifest_error, manifest_style, quoted_error};
use pod_claims::ClusterObjects;
use serde_json::Value;
use topology_manifest::{ManifestError, ResourceObjects, Source, plain_json, read_resource_objects};

use crate::files;
use crate::pods::manifest_files;

/// A text with objects of `resource.k8s.io`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectText {
    name: String,
    text: Vec<u8>,
}

impl ObjectText {
    /// What an API server lists, such as a `ResourceSliceList`, as lines. `name` is what messages call it.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn of_list(name: String, list: &Value) -> anyhow::Result<Self> {
        Ok(Self { name, text: plain_json(&serde_json::to_string_pretty(list)?).into_bytes() })
    }

    pub(crate) const fn named(name: String, text: Vec<u8>) -> Self {
        Self { name, text }
    }

    /// The texts of files, and of the files of folders; `-` is standard input.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn of_files(paths: &[PathBuf]) -> anyhow::Result<Vec<Self>> {
        let read = |path: PathBuf| Ok(Self { name: files::name(&path), text: files::read_list(&path)? });
        manifest_files(paths)?.into_iter().map(read).collect()
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn source(&self) -> Result<Source<'_>, ManifestError> {
        Source::from_list(&self.name, &self.text)
    }

    /// The objects of texts, as a whole cluster has them: none may be missing.
    ///
    /// # Errors
    /// A text cannot be read, or one of its objects.
    pub fn objects(texts: &[Self]) -> anyhow::Result<ClusterObjects> {
        let mut objects = ClusterObjects::default();
        for text in texts {
            let read = text.source().and_then(|source| read_resource_objects(&source));
            let read = read.map_err(manifest_error)?;
            if let Some(refused) = read.refused.first() {
                return Err(quoted_error(refused.render(manifest_style())).into());
            }
            objects.extend(cluster_objects(read));
        }
        Ok(objects)
    }
}

/// The objects of a text that decide on claims.
#[must_use]
pub fn cluster_objects(read: ResourceObjects) -> ClusterObjects {
    let ResourceObjects { slices, classes, claims, templates, taint_rules, refused: _, unknown_fields: _ } =
        read;
    ClusterObjects { slices, classes, claims, templates, taint_rules }
}
