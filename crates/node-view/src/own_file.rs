//! Files below the root folder that the daemon writes for its next start, beside the state of pods.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{self, Disk, Fs as _, NotRegular, StoreError};

/// A file that is written atomically.
#[derive(Debug)]
pub struct OwnFile(PathBuf);

/// How durable a write has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasting {
    /// It may be lost in a power failure: it describes the kernel's state, which a boot resets.
    UntilBoot,
    /// It is synced to disk.
    ForGood,
}

impl fmt::Display for OwnFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl OwnFile {
    /// The file of this name below the root folder.
    #[must_use]
    pub fn new(root: &Path, name: &str) -> Self {
        Self(root.join(name))
    }

    /// The content of the file, as `parse` reads its text. `None`: there is no file, or one that the daemon did not write: a text
    /// that `parse` refuses, as after a power failure, a file above 64 MiB, a directory, pipe, socket or device. Such a file is
    /// logged and renamed to `NAME.bak-N`.
    ///
    /// # Errors
    /// It cannot be read or renamed.
    pub fn read<T>(&self, parse: impl FnOnce(&str) -> io::Result<T>) -> io::Result<Option<T>> {
        let why = match store::read(&self.0) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => match str::from_utf8(&bytes).map_err(io::Error::other).and_then(parse) {
                Ok(content) => return Ok(Some(content)),
                Err(why) => why.to_string(),
            },
            Err(StoreError::TooLarge(_)) => "it is larger than 64 MiB".to_owned(),
            Err(StoreError::Io { error, .. }) if is_not_regular(&error) => error.to_string(),
            Err(error) => return Err(io::Error::other(error)),
        };
        let aside = store::put_aside(&self.0).map_err(io::Error::other)?;
        let (file, aside) = (self.0.display(), aside.display());
        tracing::error!(%file, %aside, "file is damaged, and is put aside: {why}");
        Ok(None)
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// It cannot be written; the old content stays.
    pub fn write(&self, text: &str, lasting: Lasting) -> io::Result<()> {
        let begun = self.0.with_added_extension("tmp");
        let mut file = Disk.create(&begun)?;
        Disk.write(&mut file, text.as_bytes())?;
        if lasting == Lasting::ForGood {
            Disk.sync(&mut file)?;
        }
        Disk.rename(&begun, &self.0)?;
        match (lasting, self.0.parent()) {
            (Lasting::ForGood, Some(folder)) => Disk.sync_folder(folder),
            _ => Ok(()),
        }
    }
}

fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.downcast_ref::<NotRegular>().is_some())
}
