//! What kubectl makes of a text.

use crate::node::Node;
use crate::yaml::manifests;
use crate::{ManifestError, Source, Warning};

/// The documents of a text in JSON, and what kubectl takes in silence.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JsonDocuments {
    /// Each document that is not empty, as kubectl sends it to an API server. Numbers of a text in JSON stay as they are
    /// written there.
    pub documents: Vec<String>,
    /// Repeated keys, of which the last one counts, and text behind a document, which kubectl does not read.
    pub unnoticed: Vec<Warning>,
}

/// Reads YAML or JSON as kubectl v1.37 reads what it applies.
///
/// ```
/// use topology_manifest::{Source, json_documents};
///
/// let text = "cpu: 010\ncpu: 0x10\nready: yes\n";
/// let read = json_documents(&Source { name: "pod.yaml", text })?;
/// assert_eq!(read.documents, [r#"{"cpu":16,"ready":true}"#]);
/// assert_eq!(read.unnoticed.len(), 1, "cpu is given twice");
/// # Ok::<(), topology_manifest::ManifestError>(())
/// ```
///
/// # Errors
/// It is no YAML, too large, too deep, or holds no document.
pub fn json_documents(source: &Source<'_>) -> Result<JsonDocuments, ManifestError> {
    let read = manifests(source)?;
    let documents = read.nodes.iter().map(Node::to_json).collect();
    Ok(JsonDocuments { documents, unnoticed: read.unnoticed.into_iter().map(Warning).collect() })
}
