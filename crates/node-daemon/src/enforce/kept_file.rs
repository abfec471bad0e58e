//! Files of the root folder that say what the daemon before this one did to the kernel.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A file that is there as a whole, or not at all. It may be lost with the power: then the kernel begins anew too.
#[derive(Debug)]
pub(super) struct KeptFile(PathBuf);

impl fmt::Display for KeptFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl KeptFile {
    pub(super) fn new(root: &Path, name: &str) -> Self {
        Self(root.join(name))
    }

    /// What is in the file, as `parse` makes it of its text. `None`: there is no file, or one that makes no sense, as after
    /// a loss of power. That one is said, and put aside as `NAME.damaged`.
    ///
    /// # Errors
    /// It cannot be read or put aside.
    pub(super) fn read<T>(&self, parse: impl FnOnce(&str) -> io::Result<T>) -> io::Result<Option<T>> {
        let bytes = match fs::read(&self.0) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let parsed = str::from_utf8(&bytes).map_err(io::Error::other).and_then(parse);
        match parsed {
            Ok(content) => Ok(Some(content)),
            Err(why) => {
                let aside = self.0.with_added_extension("damaged");
                fs::rename(&self.0, &aside)?;
                let (file, aside) = (self.0.display(), aside.display());
                tracing::error!(%file, %aside, "file is damaged, and is put aside: {why}");
                Ok(None)
            }
        }
    }

    pub(super) fn write(&self, content: &impl Serialize) -> io::Result<()> {
        let begun = self.0.with_added_extension("tmp");
        fs::write(&begun, serde_json::to_string_pretty(content)? + "\n")?;
        fs::rename(&begun, &self.0)
    }
}
