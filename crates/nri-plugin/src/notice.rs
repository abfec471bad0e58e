//! What happens to a connection, for logs and conditions.

use std::io;
use std::time::Duration;

use crate::runtime_info::RuntimeInfo;
use crate::wire::WireError;

/// Why a connection has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// [`Stop::stop`](crate::Stop::stop) was called.
    #[error("the plugin was stopped")]
    Stopped,
    /// The runtime closed it: it ends, it dropped the plugin, or it refused the answer to Configure or Synchronize.
    #[error("the runtime closed the connection")]
    Closed,
    /// The runtime closed it in the middle of a message.
    #[error("the runtime closed the connection in the middle of a message")]
    Cut,
    /// The runtime refused name or index.
    #[error("the runtime refused the registration: {0}")]
    Rejected(String),
    /// The runtime did not answer the registration, or did not configure the plugin, in this time.
    #[error("the runtime did not {step} within {} s", .limit.as_secs_f64())]
    NotInTime {
        /// What it did not do.
        step: &'static str,
        /// The time.
        limit: Duration,
    },
    /// The runtime sent what is no frame.
    #[error("the runtime sent no frames of NRI")]
    Wire(#[from] WireError),
    /// Reading or writing failed.
    #[error("the connection failed")]
    Io(#[from] io::Error),
}

/// Something to log, or to make a condition of.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The socket cannot be connected to; the next attempt follows after a time.
    NotConnected {
        /// Why.
        error: io::Error,
        /// When the next attempt follows.
        next: Duration,
    },
    /// The plugin is configured and synchronized: events come from now on.
    Synchronized(RuntimeInfo),
    /// The connection ended; the next one follows after a time.
    Disconnected {
        /// Why.
        reason: Ended,
        /// When the next attempt follows; `None`: there is none.
        next: Option<Duration>,
    },
    /// A method took longer than its own deadline, or than its connection lasted: the answer was thrown away.
    Late {
        /// The request, such as `CreateContainer`.
        request: String,
        /// How long the method took.
        took: Duration,
    },
}
