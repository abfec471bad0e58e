//! Requests over HTTP, one connection each: to `topolet serve` over its unix socket, to other programs over TCP.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use http_exchange::Request;
use http_exchange::{ExchangeError, Timed, Timeout};
use serde_json::Value;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// No answer is larger: 256 MiB.
const LARGEST: usize = 256 << 20;

/// The client of one daemon.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Client {
    /// For the daemon whose root folder this is.
    pub fn of(root: &Path) -> Self {
        Self::at(&root.join("topolet.sock"))
    }

    /// For the daemon that listens there.
    pub fn at(socket: &Path) -> Self {
        Self { socket: socket.to_path_buf() }
    }

    /// A connection without a request yet.
    pub fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.socket)
    }

    /// Asks with GET.
    pub fn get(&self, path: &str) -> io::Result<Reply> {
        self.ask("GET", path, "")
    }

    /// Asks, and waits for the answer; an error if the connection ends before it.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        let request = Request::new(method, path).with_body(body.as_bytes());
        Reply::to(&request, self.connect()?, PATIENCE)
    }
}

/// Sends a request to a server on TCP, and waits for the answer for that long.
///
/// # Errors
/// No server answers, the connection ends before the whole answer, or it is no HTTP.
pub fn over_tcp(request: &Request<'_>, server: impl ToSocketAddrs, within: Duration) -> io::Result<Reply> {
    Reply::to(request, TcpStream::connect(server)?, within)
}

impl Reply {
    fn to(request: &Request<'_>, connection: impl Timeout, within: Duration) -> io::Result<Self> {
        let response =
            request.exchange(Timed::new(connection, within), LARGEST).map_err(|error| match error {
                ExchangeError::Io(error) => error,
                other => io::Error::other(other),
            })?;
        let body = String::from_utf8(response.body).map_err(io::Error::other)?;
        Ok(Self { status: response.status, body })
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}
