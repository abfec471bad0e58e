//! Telling systemd how it goes (`Type=notify`): a line to the socket that it names, if it started this program.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A state that systemd is notified of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// The node is served.
    Ready,
    /// It reads everything again and restarts under the same process id.
    Reloading,
    /// It stops.
    Stopping,
}

/// Notifies systemd; does nothing without `NOTIFY_SOCKET`.
pub(super) fn notify(state: State) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let line: &[u8] = match state {
        State::Ready => b"READY=1",
        State::Reloading => b"RELOADING=1",
        State::Stopping => b"STOPPING=1",
    };
    if let Err(error) = send(name.as_bytes(), line) {
        tracing::warn!(%error, "failed to tell systemd");
    }
}

fn send(name: &[u8], line: &[u8]) -> io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?,
    };
    UnixDatagram::unbound()?.send_to_addr(line, &address).map(|_| ())
}
