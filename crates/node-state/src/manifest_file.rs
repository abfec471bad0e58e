//! The names of manifest files, by which stored pods know the file that they came from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The name of a manifest file in the watched folder, without the folder: the same file after the folder has moved.
/// Bytes that are not UTF-8 are replaced.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ManifestFile(Arc<str>);

impl ManifestFile {
    /// The file of that name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The file at that path.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self::new(&path.file_name().unwrap_or_default().to_string_lossy())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ManifestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
