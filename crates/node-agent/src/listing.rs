//! What the watched folder holds: pods, each with the file that it came from, and files that cannot be used.

use std::collections::BTreeSet;
use std::sync::Arc;

use node_state::ManifestFile;
use pod_spec::Pod;

/// The pods of the watched folder at one moment.
///
/// An unusable file holds back its own pods only: a pod that came from it stays as it is, whatever other files hold. A
/// pod whose file is not known, which an older release stored, stays while any file is unusable.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The pods of the files that could be read.
    pub pods: Vec<ListedPod>,
    /// Files that are there and cannot be used.
    pub unusable: BTreeSet<ManifestFile>,
}

/// A pod and the file that holds it.
#[derive(Clone, Debug)]
pub struct ListedPod {
    /// The pod as its manifest has it.
    pub pod: Arc<Pod>,
    /// The file that its manifest is in.
    pub file: ManifestFile,
}

impl Listing {
    /// Whether a pod of that file stays as it is, because the file cannot be used. `None`: its file is not known.
    #[must_use]
    pub fn holds_back(&self, file: Option<&ManifestFile>) -> bool {
        file.map_or(!self.unusable.is_empty(), |file| self.unusable.contains(file))
    }
}
