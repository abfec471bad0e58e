//! Streams that are counted and bounded while they are read.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;

/// An archive may unpack to this, and beyond it to so many times what it is packed in: text is packed to a fiftieth at most.
const MAX_UNPACKED: u64 = 1 << 30;
const MAX_RATIO: u64 = 200;

/// A stream whose bytes are counted.
pub(crate) struct Counted<R> {
    pub(crate) inner: R,
    pub(crate) count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// What is unpacked, which ends where it is out of proportion to what it is packed in.
pub(crate) struct Bounded<R> {
    pub(crate) inner: R,
    /// Bytes that were taken to unpack it.
    pub(crate) taken: Rc<Cell<u64>>,
    /// Bytes that it has given.
    pub(crate) given: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.given += read as u64;
        if self.given > MAX_UNPACKED.max(self.taken.get().saturating_mul(MAX_RATIO)) {
            let why =
                format!("it unpacks to more than {MAX_RATIO} times its size; what lies before that is read");
            return Err(io::Error::new(ErrorKind::FileTooLarge, why));
        }
        Ok(read)
    }
}
