//! In the place of what unpacks gzip, xz and bzip2, where it is not built.

use std::convert::Infallible;
use std::io::{self, BufRead, Error, ErrorKind, Read};
use std::marker::PhantomData;

/// There is none.
pub(super) struct Other<R>(Infallible, PhantomData<R>);

impl<R: BufRead> Other<R> {
    pub(super) fn gzip(_: R) -> io::Result<Self> {
        Err(not_read())
    }

    pub(super) fn xz(_: R, _: usize) -> io::Result<Self> {
        Err(not_read())
    }

    pub(super) fn bzip2(_: R) -> io::Result<Self> {
        Err(not_read())
    }

    pub(super) fn rest(self) -> R {
        match self.0 {}
    }
}

impl<R: BufRead> Read for Other<R> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

fn not_read() -> Error {
    Error::new(ErrorKind::Unsupported, "this build reads archives by zstd and unpacked ones alone")
}
