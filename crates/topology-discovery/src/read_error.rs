//! Why a file of a tree cannot be read.

use std::io;

use thiserror::Error;

/// Files larger than this are refused. The largest that matters, `/proc/cpuinfo` of 8192 CPUs, is below it.
pub(crate) const MAX_FILE: u64 = 32 << 20;

/// Why a file that is there cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is larger than any file of its kind.
    #[error("{0} is larger than {most} MiB", most = MAX_FILE >> 20)]
    TooLarge(String),
    /// It is a folder, a device or a socket.
    #[error("{0} is not a file")]
    NotAFile(String),
    /// The system says no.
    #[error("failed to read {path}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}
