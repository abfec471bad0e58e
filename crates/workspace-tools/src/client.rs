//! Requests to `topolet serve` over its unix socket: one connection each, closed after the answer.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Who asks.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// What follows the headers.
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

    /// A connection on which nothing has been said.
    pub fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.socket)
    }

    /// Asks with GET.
    pub fn get(&self, path: &str) -> io::Result<Reply> {
        self.ask("GET", path, "")
    }

    /// Asks, and waits for the answer; an error if the connection ends before it.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        // An answer may come before all has been read.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Reply::read(&answer).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }
}

impl Reply {
    /// An answer that is whole: `None` if bytes are missing.
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let is_whole = length.is_none_or(|length| body.len() == length);
        is_whole.then(|| Self { status, body: body.to_owned() })
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_cut_is_none() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";
        assert_eq!(
            Reply::read(whole.as_bytes()).map(|reply| (reply.status, reply.body)),
            Some((200, "abc".into()))
        );
        for cut in 0..whole.len() {
            assert!(Reply::read(&whole.as_bytes()[..cut]).is_none(), "{cut}");
        }
    }
}
