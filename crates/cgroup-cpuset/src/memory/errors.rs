//! The errors that the kernel answers with.

use std::io;

pub(super) const ENOENT: i32 = 2;
pub(super) const EACCES: i32 = 13;
pub(super) const EBUSY: i32 = 16;
pub(super) const EINVAL: i32 = 22;

pub(super) fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}
