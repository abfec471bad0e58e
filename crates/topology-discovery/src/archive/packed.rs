//! How archives are packed, by their first bytes, and the streams that unpack them.

use std::io::{self, Error, ErrorKind, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use ruzstd::decoding::StreamingDecoder;
use xz4rust::{DICT_SIZE_MIN, XzDecoder, XzError, XzNextBlockResult};

use super::limits::{ArchiveError, MAX_STREAM};

/// The most bytes that a packer may refer back, which the unpacker keeps.
const MAX_WINDOW: usize = 64 << 20;
/// The most parts one after the other, each packed alone. Packers in parallel make parts of 64 KiB and more.
const MAX_PARTS: usize = 16_384;

/// How an archive is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packer {
    Zstd,
    Gzip,
    Xz,
    Bzip2,
}

impl Packer {
    const ALL: [Self; 4] = [Self::Zstd, Self::Gzip, Self::Xz, Self::Bzip2];

    /// By which the bytes that begin so are packed.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
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

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// An error of the stream or of what was read from it: whether the packing is not read, or damaged.
    pub(super) fn failed(self, error: ArchiveError) -> ArchiveError {
        match error {
            ArchiveError::Damaged { error, .. } if error.kind() == ErrorKind::Unsupported => {
                ArchiveError::Packing { packer: self.name(), reason: error.to_string() }
            }
            error => error,
        }
    }

    /// What is packed.
    pub(super) fn stream(self, bytes: &[u8]) -> Result<Box<dyn Read + '_>, ArchiveError> {
        if self != Self::Zstd {
            return Ok(Box::new(bounded(Parts { packer: self, part: Part::new(self, bytes), count: 1 })));
        }
        let decoder = StreamingDecoder::new_with_max_window_size(bytes, MAX_WINDOW as u64)
            .map_err(|error| ArchiveError::Packing { packer: self.name(), reason: error.to_string() })?;
        Ok(Box::new(bounded(decoder)))
    }
}

/// Parts that are packed one after the other, with zeros behind them.
struct Parts<'a> {
    packer: Packer,
    part: Part<'a>,
    count: usize,
}

enum Part<'a> {
    Gzip(Box<GzDecoder<&'a [u8]>>),
    Xz(XzPart<'a>),
    Bzip2(BzDecoder<&'a [u8]>),
}

impl<'a> Part<'a> {
    fn new(packer: Packer, bytes: &'a [u8]) -> Self {
        match packer {
            Packer::Bzip2 => Self::Bzip2(BzDecoder::new(bytes)),
            Packer::Xz => Self::Xz(XzPart::new(bytes)),
            Packer::Gzip | Packer::Zstd => Self::Gzip(Box::new(GzDecoder::new(bytes))),
        }
    }

    /// The bytes behind it, once it is read to its end.
    fn rest(&self) -> &'a [u8] {
        match self {
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Xz(part) => part.rest,
            Self::Bzip2(decoder) => decoder.get_ref(),
        }
    }
}

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = match &mut self.part {
                Part::Gzip(decoder) => decoder.read(buffer),
                Part::Xz(part) => part.read(buffer),
                Part::Bzip2(decoder) => decoder.read(buffer),
            }?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let rest = self.part.rest();
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let Some(rest) = rest.get(zeros..).filter(|rest| !rest.is_empty()) else { return Ok(0) };
            self.count += 1;
            if self.count > MAX_PARTS {
                return Err(Error::new(ErrorKind::InvalidData, "more than 16384 parts"));
            }
            self.part = Part::new(self.packer, rest);
        }
    }
}

/// One stream of xz.
struct XzPart<'a> {
    decoder: Box<XzDecoder<'static>>,
    rest: &'a [u8],
    is_read: bool,
}

impl<'a> XzPart<'a> {
    fn new(rest: &'a [u8]) -> Self {
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, MAX_WINDOW);
        Self { decoder, rest, is_read: false }
    }
}

impl Read for XzPart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_read && !buffer.is_empty() {
            let step = self.decoder.decode(self.rest, buffer).map_err(failed)?;
            let (taken, given) = (step.input_consumed(), step.output_produced());
            self.rest = self.rest.get(taken..).unwrap_or_default();
            self.is_read = matches!(step, XzNextBlockResult::EndOfStream(..));
            if given > 0 {
                return Ok(given);
            }
            if taken == 0 && !self.is_read {
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

/// A stream that fails when it is longer than it may be.
struct BoundedReader<R> {
    inner: R,
    left: u64,
}

const fn bounded<R>(inner: R) -> BoundedReader<R> {
    BoundedReader { inner, left: MAX_STREAM }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or(ErrorKind::FileTooLarge)?;
        Ok(count)
    }
}
