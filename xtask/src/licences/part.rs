//! A part of the program that others have written.

use std::path::PathBuf;

/// A crate of others that is a part of the program.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) version: String,
    /// An expression of SPDX.
    pub(super) licence: String,
    pub(super) repository: String,
    pub(super) folder: PathBuf,
}
