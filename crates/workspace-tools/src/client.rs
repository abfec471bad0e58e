//! Requests over HTTP, one connection each: to `topolet serve` over its unix socket, to other programs over TCP.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

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
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Request { method, path, host: "localhost", fields: "", body }.send(&mut stream);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Reply::read(answer.as_slice())
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET` and so on.
    pub method: &'a str,
    /// With its query.
    pub path: &'a str,
    /// The value of the header `Host`.
    pub host: &'a str,
    /// Further header lines, each with `\r\n`.
    pub fields: &'a str,
    /// Empty: none.
    pub body: &'a str,
}

impl Request<'_> {
    /// Sends the request to a server on TCP, and waits for the answer: at most `limit` for each read, if there is one.
    ///
    /// # Errors
    /// No server answers, the connection ends before the whole answer, or it is no HTTP.
    pub fn over_tcp(&self, server: impl ToSocketAddrs, limit: Option<Duration>) -> io::Result<Reply> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(limit)?;
        self.send(&mut stream);
        // It may stay open.
        Reply::read(BufReader::new(stream))
    }

    /// Sends the request. A server may answer before it has read all of it; the answer says whether it did.
    fn send(&self, to: &mut impl Write) {
        let Self { method, path, host, fields, body } = self;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n"
        );
        let _ = to.write_all(head.as_bytes()).and_then(|()| to.write_all(body.as_bytes()));
    }
}

impl Reply {
    /// An answer that is whole: of the length that it names, in chunks, or else up to the end of the connection.
    fn read(mut from: impl BufRead) -> io::Result<Self> {
        let first = line(&mut from)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(no_http)?;
        let (mut length, mut is_in_chunks) = (None, false);
        loop {
            let field = line(&mut from)?;
            if field.is_empty() {
                break;
            }
            let (name, value) = field.split_once(':').ok_or_else(no_http)?;
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.trim().parse().map_err(|_| no_http())?);
            }
            is_in_chunks |= name.eq_ignore_ascii_case("transfer-encoding") && value.trim() == "chunked";
        }
        let mut body = Vec::new();
        if is_in_chunks {
            loop {
                let size = line(&mut from)?;
                let size = usize::from_str_radix(size.trim(), 16).map_err(|_| no_http())?;
                take(&mut from, size, &mut body)?;
                line(&mut from)?;
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = length {
            take(&mut from, length, &mut body)?;
        } else {
            from.read_to_end(&mut body)?;
        }
        Ok(Self { status, body: String::from_utf8(body).map_err(|_| no_http())? })
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// A line without its end.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Appends `length` bytes.
fn take(from: &mut impl BufRead, length: usize, to: &mut Vec<u8>) -> io::Result<()> {
    let start = to.len();
    to.resize(start + length, 0);
    from.read_exact(&mut to[start..])
}

fn no_http() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn an_answer_is_whole_or_an_error() {
        for whole in [
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        ] {
            let reply = Reply::read(whole.as_bytes()).unwrap();
            assert_eq!((reply.status, reply.body.as_str()), (200, "abc"));
            for cut in 0..whole.len() {
                assert!(Reply::read(&whole.as_bytes()[..cut]).is_err(), "{cut} of {whole:?}");
            }
        }
        let until_the_end = Reply::read("HTTP/1.0 404 Not Found\r\n\r\nabc".as_bytes()).unwrap();
        assert_eq!((until_the_end.status, until_the_end.body.as_str()), (404, "abc"));
    }

    /// As chromedriver does.
    #[test]
    fn a_server_that_keeps_its_connection_open_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let answers = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            let length = stream.read(&mut asked).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            // Open until the client has gone.
            stream.read_to_end(&mut Vec::new()).unwrap();
            String::from_utf8_lossy(&asked[..length]).into_owned()
        });
        let request = Request { method: "POST", path: "/a?b=c", host: "here", fields: "X: y\r\n", body: "d" };
        let reply = request.over_tcp(server, Some(PATIENCE)).unwrap();
        assert_eq!((reply.status, reply.body.as_str()), (200, "ok"));
        let asked =
            "POST /a?b=c HTTP/1.1\r\nHost: here\r\nConnection: close\r\nX: y\r\nContent-Length: 1\r\n\r\n";
        assert!(answers.join().unwrap().starts_with(asked));
    }
}
