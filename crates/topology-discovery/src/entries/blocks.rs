//! The blocks of a tar stream: headers, and contents padded to whole blocks.
//!
//! `tar` knows what is in a header; its own reading of entries clears 32 KiB for each, which is most of the time
//! where entries are small and there are tens of thousands of them.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use tar::Header;

const BLOCK: usize = 512;

/// Headers one after the other; what belongs to one is read or passed over before the next.
pub(crate) struct Blocks<R> {
    stream: BufReader<R>,
    /// Bytes of the last entry, padding included, that have not been read yet.
    left: u64,
    /// The same without padding.
    content_left: u64,
}

/// Why there is no next header.
pub(crate) enum BlockError {
    Stream(io::Error),
    /// There is something else.
    NoHeader,
}

impl From<io::Error> for BlockError {
    fn from(error: io::Error) -> Self {
        Self::Stream(error)
    }
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream: BufReader::with_capacity(64 << 10, stream), left: 0, content_left: 0 }
    }

    /// The next header and the size of what belongs to it; `None` at the mark that ends an archive. A stream that ends without
    /// the mark has lost its end.
    pub(crate) fn next(&mut self) -> Result<Option<(Header, u64)>, BlockError> {
        // Padding is half of what there is: it is passed over without a copy.
        while self.left > 0 {
            let there = self.stream.fill_buf()?.len();
            if there == 0 {
                return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
            }
            let passed = there.min(usize::try_from(self.left).unwrap_or(there));
            self.stream.consume(passed);
            self.left -= passed as u64;
        }
        let mut header = Header::new_old();
        self.stream.read_exact(header.as_mut_bytes())?;
        // Blocks of zeros end an archive.
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let size = if is_whole(&header) { header.entry_size().ok() } else { None };
        let padded = size.and_then(|size| Some((size, size.checked_next_multiple_of(BLOCK as u64)?)));
        let Some((size, padded)) = padded else { return Err(BlockError::NoHeader) };
        (self.left, self.content_left) = (padded, size);
        Ok(Some((header, size)))
    }

    /// Reads what is left, so that the packer compares its own sums.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        io::copy(&mut self.stream, &mut io::sink()).map(|_| ())
    }

    /// Reads what belongs to the last header, all of its `size`, in place of what is in `content`.
    pub(crate) fn content(&mut self, size: u64, content: &mut Vec<u8>) -> io::Result<()> {
        content.clear();
        let read = self.stream.by_ref().take(size.min(self.left)).read_to_end(content)? as u64;
        self.left -= read;
        self.content_left = self.content_left.saturating_sub(read);
        if read < size { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl<R: Read> Read for Blocks<R> {
    /// Reads what belongs to the last header; padding is not part of it.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = buffer.len().min(usize::try_from(self.content_left).unwrap_or(usize::MAX));
        let Some(buffer) = buffer.get_mut(..there) else { return Ok(0) };
        let read = self.stream.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        self.content_left -= read as u64;
        Ok(read)
    }
}

/// Whether a stream that begins with these bytes is a tar archive; 512 bytes are enough to tell.
#[must_use]
pub fn is_tar(bytes: &[u8]) -> bool {
    let mut header = Header::new_old();
    bytes.first_chunk::<BLOCK>().is_some_and(|block| {
        header.as_mut_bytes().copy_from_slice(block);
        is_whole(&header)
    })
}

/// Whether a header's sum is that of its bytes.
fn is_whole(header: &Header) -> bool {
    header.cksum().is_ok_and(|sum| sum == checksum(header.as_bytes()))
}

/// The sum of a header's bytes, with blanks where the sum itself is.
fn checksum(header: &[u8; BLOCK]) -> u32 {
    // Eight bytes at a time in four lanes of sixteen bits, which hold 2 * 64 of them.
    const LANES: u64 = 0x00ff_00ff_00ff_00ff;
    let (words, _) = header.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let lanes = words.map(|word| (word & LANES) + (word >> 8 & LANES)).sum::<u64>();
    let all: u32 = (0..4).map(|lane| (lanes >> (16 * lane) & 0xffff) as u32).sum();
    let own: u32 = header.iter().skip(148).take(8).map(|byte| u32::from(*byte)).sum();
    all - own + 8 * u32::from(b' ')
}
