//! What is refused before a text is read: one that is too large, and bytes that are no UTF-8.

use crate::source::{MAX_BYTES, MAX_LIST_BYTES};
use crate::{ManifestError, Problem, Source};

impl<'a> Source<'a> {
    /// The text of a file that was read as bytes.
    ///
    /// # Errors
    /// [`Problem::TooLarge`] and [`Problem::NotUtf8`].
    pub fn from_bytes(name: &'a str, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_BYTES {
            return Err(Self::too_large(name, Problem::TooLarge { bytes: bytes.len() }));
        }
        Self::from_utf8(name, bytes)
    }

    /// The same for [`read_manifests`](crate::read_manifests), which takes as much as [`MAX_LIST_BYTES`].
    ///
    /// # Errors
    /// [`Problem::ListTooLarge`] and [`Problem::NotUtf8`].
    pub fn from_list(name: &'a str, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_LIST_BYTES {
            return Err(Self::too_large(name, Problem::ListTooLarge { bytes: bytes.len() }));
        }
        Self::from_utf8(name, bytes)
    }

    fn from_utf8(name: &'a str, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let end = error.valid_up_to();
                let valid = bytes.get(..end).and_then(|valid| core::str::from_utf8(valid).ok());
                let before = Self { name, text: valid.unwrap_or_default() };
                Err(ManifestError::at(&before, "", &(end..end), Problem::NotUtf8))
            }
        }
    }

    /// Refuses a text past [`MAX_BYTES`].
    pub(crate) fn check_size(&self) -> Result<(), ManifestError> {
        let bytes = self.text.len();
        if bytes > MAX_BYTES { Err(Self::too_large(self.name, Problem::TooLarge { bytes })) } else { Ok(()) }
    }

    /// Refuses a text past [`MAX_LIST_BYTES`].
    pub(crate) fn check_list_size(&self) -> Result<(), ManifestError> {
        let bytes = self.text.len();
        if bytes > MAX_LIST_BYTES {
            return Err(Self::too_large(self.name, Problem::ListTooLarge { bytes }));
        }
        Ok(())
    }

    fn too_large(name: &str, problem: Problem) -> ManifestError {
        ManifestError::at(&Source { name, text: "" }, "", &(0..0), problem)
    }
}
