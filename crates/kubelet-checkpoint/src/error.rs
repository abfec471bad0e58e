//! Why a file is refused, in the kubelet's words.

use core::fmt;

use alloc::boxed::Box;

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
    /// It has its data as text, and is damaged: older formats are not tried.
    #[error("could not load {format} checkpoint: {fault}")]
    Embedded {
        /// The format in the kubelet's words: `v4` of CPUs, `v3` of memory.
        format: &'static str,
        /// What is wrong.
        #[source]
        fault: Box<EmbeddedFault>,
    },
}

/// What is wrong with a file that has its data as text.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EmbeddedFault {
    /// The file is not JSON, or not of the right types.
    #[error("failed to deserialize {manager} manager checkpoint: {error}")]
    File {
        /// `cpu` or `memory`.
        manager: &'static str,
        /// Where and why.
        #[source]
        error: JsonError,
    },
    /// Its data is not: the offset is one in that text.
    #[error("failed to deserialize {manager} manager checkpoint data: {error}")]
    Data {
        /// `cpu` or `memory`.
        manager: &'static str,
        /// Where and why.
        #[source]
        error: JsonError,
    },
    /// The checksum of the data is another than that of its text.
    #[error("checkpoint is corrupted")]
    Corrupt {
        /// The checksum in the file.
        stored: u64,
        /// That of the text.
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
