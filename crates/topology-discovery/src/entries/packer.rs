//! How streams are packed, by their first bytes, and what unpacks them.

use std::io::{self, BufRead, Error, ErrorKind, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use thiserror::Error;
use xz4rust::{DICT_SIZE_MIN, XzDecoder, XzError, XzNextBlockResult};

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
    Gzip(Box<GzDecoder<R>>),
    Xz(XzPart<R>),
    Bzip2(BzDecoder<R>),
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
            Packer::Gzip => Self::Gzip(Box::new(GzDecoder::new(packed))),
            Packer::Xz => Self::Xz(XzPart::new(packed)),
            Packer::Bzip2 => Self::Bzip2(BzDecoder::new(packed)),
        })
    }

    /// What is behind it, once it is read to its end.
    fn rest(self) -> R {
        match self {
            Self::Zstd(decoder) => decoder.into_inner(),
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Xz(part) => part.packed,
            Self::Bzip2(decoder) => decoder.into_inner(),
        }
    }
}

impl<R: BufRead> Read for Parts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(part) = &mut self.part else { return Ok(0) };
            let count = match part {
                Part::Zstd(decoder) => decoder.read(buffer),
                Part::Gzip(decoder) => decoder.read(buffer),
                Part::Xz(part) => part.read(buffer),
                Part::Bzip2(decoder) => decoder.read(buffer),
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

/// One stream of xz.
struct XzPart<R> {
    decoder: Box<XzDecoder<'static>>,
    packed: R,
    is_read: bool,
}

impl<R: BufRead> XzPart<R> {
    fn new(packed: R) -> Self {
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, MAX_WINDOW);
        Self { decoder, packed, is_read: false }
    }
}

impl<R: BufRead> Read for XzPart<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_read && !buffer.is_empty() {
            let there = self.packed.fill_buf()?;
            let is_end = there.is_empty();
            let step = self.decoder.decode(there, buffer).map_err(failed)?;
            let (taken, given) = (step.input_consumed(), step.output_produced());
            self.packed.consume(taken);
            self.is_read = matches!(step, XzNextBlockResult::EndOfStream(..));
            if given > 0 {
                return Ok(given);
            }
            if taken == 0 && is_end && !self.is_read {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}

fn failed(error: XzError) -> Error {
    match error {
        XzError::NeedsLargerInputBuffer => ErrorKind::UnexpectedEof.into(),
        XzError::DictionaryTooLarge(_) | XzError::UnsupportedLzmaProperties(_) => {
            Error::new(ErrorKind::Unsupported, "its window is larger than 64 MiB")
        }
        XzError::Sha256NotSupported | XzError::UnsupportedCheckType(_) => {
            Error::new(ErrorKind::Unsupported, "its sums are neither CRC32 nor CRC64")
        }
        XzError::BcjFilterNotSupported | XzError::DeltaFilterUnsupported => {
            Error::new(ErrorKind::Unsupported, "a filter other than LZMA2")
        }
        error => Error::new(ErrorKind::InvalidData, error),
    }
}
