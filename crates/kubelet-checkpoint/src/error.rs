//! Why a file is refused, in the kubelet's words.

use core::fmt;

use cpuset::go_quote;
use thiserror::Error;

use crate::JsonError;

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not JSON, or not of the right types.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Its checksum is another than that of its contents.
    #[error("checkpoint is corrupted")]
    Corrupt {
        /// The checksum in the file.
        stored: u64,
        /// That of what is in the file.
        computed: u32,
    },
}

/// The whole message with which a kubelet ends that cannot start from a file.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a, E> {
    /// Why.
    pub cause: &'a E,
    /// `CPU` or `memory`.
    pub(crate) manager: &'static str,
    /// The file.
    pub path: &'a str,
}

impl<E: fmt::Display> fmt::Display for Refused<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, manager, path } = self;
        write!(
            f,
            "could not restore state from checkpoint: {cause}, please drain this node and delete the {manager} \
             manager checkpoint file {} before restarting Kubelet",
            go_quote(path)
        )
    }
}
