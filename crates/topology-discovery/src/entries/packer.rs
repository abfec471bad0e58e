//! How streams are packed, by their first bytes, and what unpacks them.

use std::io::{self, BufRead, Error, ErrorKind, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use thiserror::Error;

use super::other::Other;

/// The most bytes that a packer may refer back, which the unpacker keeps.
const MAX_WINDOW: usize = 64 << 20;
/// The most parts one after the other, each packed alone. Packers in parallel make parts of 64 KiB and more.
const MAX_PARTS: usize = 1 << 20;

/// How a stream is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packer {
    /// Zstandard.
    Zstd,
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
}

/// A way of packing that is not read, such as one with too large a window.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct UnreadPacking(String);

impl Packer {
    const ALL: [Self; 4] = [Self::Zstd, Self::Gzip, Self::Xz, Self::Bzip2];

    /// By which the bytes that begin so are packed; `None`: by none of these.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|packer| bytes.starts_with(packer.magic()))
    }

    const fn magic(self) -> &'static [u8] {
        match self {
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
            Self::Gzip => &[0x1f, 0x8b],
            Self::Xz => b"\xfd7zXZ\0",
            Self::Bzip2 => b"BZh",
        }
    }

    /// What it is called in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// What is packed. An error of kind [`ErrorKind::Unsupported`] says that a later part is packed in a way that is not read.
    ///
    /// # Errors
    /// It is packed in a way that is not read.
    pub fn stream<'r>(self, packed: impl BufRead + 'r) -> Result<Box<dyn Read + 'r>, UnreadPacking> {
        let part = Part::new(self, packed).map_err(|error| UnreadPacking(error.to_string()))?;
        Ok(Box::new(Parts { packer: self, part: Some(part), count: 1 }))
    }
}

/// Parts that are packed one after the other, with zeros behind them.
struct Parts<R: BufRead> {
    packer: Packer,
    /// `None` at the end.
    part: Option<Part<R>>,
    count: usize,
}

enum Part<R: BufRead> {
    Zstd(Box<StreamingDecoder<R, FrameDecoder>>),
    Other(Other<R>),
}

impl<R: BufRead> Part<R> {
    fn new(packer: Packer, packed: R) -> io::Result<Self> {
        Ok(match packer {
            Packer::Zstd => {
                let decoder = StreamingDecoder::new_with_max_window_size(packed, MAX_WINDOW as u64);
                Self::Zstd(Box::new(
                    decoder.map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?,
                ))
            }
            Packer::Gzip => Self::Other(Other::gzip(packed)?),
            Packer::Xz => Self::Other(Other::xz(packed, MAX_WINDOW)?),
            Packer::Bzip2 => Self::Other(Other::bzip2(packed)?),
        })
    }

    /// What is behind it, once it is read to its end.
    fn rest(self) -> R {
        match self {
            Self::Zstd(decoder) => decoder.into_inner(),
            Self::Other(other) => other.rest(),
        }
    }
}

impl<R: BufRead> Read for Parts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(part) = &mut self.part else { return Ok(0) };
            let count = match part {
                Part::Zstd(decoder) => decoder.read(buffer),
                Part::Other(other) => other.read(buffer),
            }?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut rest) = self.part.take().map(Part::rest) else { return Ok(0) };
            if !pass_zeros(&mut rest)? {
                return Ok(0);
            }
            self.count += 1;
            if self.count > MAX_PARTS {
                return Err(Error::new(ErrorKind::InvalidData, format!("more than {MAX_PARTS} parts")));
            }
            self.part = Some(Part::new(self.packer, rest)?);
        }
    }
}

/// Passes over zeros; whether there is more behind them.
fn pass_zeros(stream: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let there = stream.fill_buf()?;
        if there.is_empty() {
            return Ok(false);
        }
        let zeros = there.iter().take_while(|byte| **byte == 0).count();
        let is_all = zeros == there.len();
        stream.consume(zeros);
        if !is_all {
            return Ok(true);
        }
    }
}
