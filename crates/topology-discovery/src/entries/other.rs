//! What unpacks gzip, xz and bzip2.

use std::io::{self, BufRead, Error, ErrorKind, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use xz4rust::{DICT_SIZE_MIN, XzDecoder, XzError, XzNextBlockResult};

/// One part that is packed by one of them.
pub(super) enum Other<R> {
    Gzip(Box<GzDecoder<R>>),
    Xz(XzPart<R>),
    Bzip2(BzDecoder<R>),
}

impl<R: BufRead> Other<R> {
    #[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
    pub(super) fn gzip(packed: R) -> io::Result<Self> {
        Ok(Self::Gzip(Box::new(GzDecoder::new(packed))))
    }

    /// `window`: the most bytes that the packer may refer back.
    #[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
    pub(super) fn xz(packed: R, window: usize) -> io::Result<Self> {
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, window);
        Ok(Self::Xz(XzPart { decoder, packed, is_read: false }))
    }

    #[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
    pub(super) fn bzip2(packed: R) -> io::Result<Self> {
        Ok(Self::Bzip2(BzDecoder::new(packed)))
    }

    /// What is behind it, once it is read to its end.
    pub(super) fn rest(self) -> R {
        match self {
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Xz(part) => part.packed,
            Self::Bzip2(decoder) => decoder.into_inner(),
        }
    }
}

impl<R: BufRead> Read for Other<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Xz(part) => part.read(buffer),
            Self::Bzip2(decoder) => decoder.read(buffer),
        }
    }
}

/// One stream of xz.
pub(super) struct XzPart<R> {
    decoder: Box<XzDecoder<'static>>,
    packed: R,
    is_read: bool,
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
