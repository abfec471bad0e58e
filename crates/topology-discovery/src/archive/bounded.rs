//! What an archive is packed in, as a stream that ends where it is too long.

use std::io::{self, ErrorKind, Read};

use super::limits::{ArchiveError, MAX_STREAM};
use crate::entries::Packer;

/// What is packed.
pub(super) fn stream(packer: Packer, bytes: &[u8]) -> Result<impl Read + '_, ArchiveError> {
    let inner = packer
        .stream(bytes)
        .map_err(|error| ArchiveError::Packing { packer: packer.name(), reason: error.to_string() })?;
    Ok(BoundedReader { inner, left: MAX_STREAM })
}

/// An error of the stream or of what was read from it: whether the packing is not read, or damaged.
pub(super) fn failed(packer: Packer, error: ArchiveError) -> ArchiveError {
    match error {
        ArchiveError::Damaged { error, .. } if error.kind() == ErrorKind::Unsupported => {
            ArchiveError::Packing { packer: packer.name(), reason: error.to_string() }
        }
        error => error,
    }
}

/// A stream that fails when it is longer than it may be.
struct BoundedReader<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or(ErrorKind::FileTooLarge)?;
        Ok(count)
    }
}
