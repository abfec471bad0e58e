//! The blocks of a tar stream: headers, and contents padded to whole blocks.
//!
//! `tar` knows what is in a header; its own reading of entries clears 32 KiB for each, which is most of the time
//! where entries are small and there are tens of thousands of them.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};

use tar::Header;

const BLOCK: usize = 512;

/// Headers one after the other; what belongs to one is read or passed over before the next.
pub(super) struct Blocks<R> {
    stream: BufReader<R>,
    /// Bytes of the last entry, padding included, that have not been read yet.
    left: u64,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream: BufReader::with_capacity(64 << 10, stream), left: 0 }
    }

    /// The next header and the size of what belongs to it; `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<(Header, u64)>> {
        // Padding is half of what there is: it is passed over without a copy.
        while self.left > 0 {
            let there = self.stream.fill_buf()?.len();
            if there == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let passed = there.min(usize::try_from(self.left).unwrap_or(there));
            self.stream.consume(passed);
            self.left -= passed as u64;
        }
        let mut header = Header::new_old();
        if !self.fill(header.as_mut_bytes())? {
            return Ok(None);
        }
        // Blocks of zeros end an archive.
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if header.cksum()? != checksum(header.as_bytes()) {
            return Err(Error::new(ErrorKind::InvalidData, "wrong checksum of a header"));
        }
        let size = header.entry_size()?;
        let padded = size.checked_next_multiple_of(BLOCK as u64);
        self.left = padded.ok_or_else(|| Error::new(ErrorKind::InvalidData, "impossible size of a file"))?;
        Ok(Some((header, size)))
    }

    /// Reads what belongs to the last header, all of its `size`, in place of what is in `content`.
    pub(super) fn content(&mut self, size: u64, content: &mut Vec<u8>) -> io::Result<()> {
        content.clear();
        let read = self.stream.by_ref().take(size.min(self.left)).read_to_end(content)? as u64;
        self.left -= read;
        if read < size { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Fills a block; `false` where the stream ends before it.
    fn fill(&mut self, block: &mut [u8]) -> io::Result<bool> {
        if self.stream.fill_buf()?.is_empty() {
            return Ok(false);
        }
        self.stream.read_exact(block).map(|()| true)
    }
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
