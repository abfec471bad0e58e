//! Talking to a running daemon: HTTP on its socket, one request for each connection.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write};
#[cfg(feature = "kubernetes")]
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::unistd::geteuid;
use node_output::http::{FILE, OUTCOME};
use node_output::quoted_error;

/// Where a daemon listens unless it is told otherwise.
pub(crate) const SOCKET: &str = "/var/lib/topolet/topolet.sock";

/// How long an answer may take; a decision may wait for a plugin.
const PATIENCE: Duration = Duration::from_secs(330);
/// How long a stream may be silent. The daemon sends a comment every 15 s.
const SILENCE: Duration = Duration::from_mins(1);
/// An answer is not larger: 64 MiB.
const LARGEST: usize = 64 << 20;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    /// Of a status, the fields of a head, and a body.
    #[cfg(feature = "kubernetes")]
    pub(crate) fn new(status: u16, fields: &[(String, String)], body: String) -> Self {
        let fields = fields.iter().map(|(name, value)| format!("\r\n{name}: {value}"));
        Self { status, head: format!("HTTP/1.1 {status}{}", fields.collect::<String>()), body }
    }

    /// Of HTTP.
    #[cfg(feature = "kubernetes")]
    pub(crate) const fn status(&self) -> u16 {
        self.status
    }

    /// A field of the head.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The reply to a request that was carried out, pods that were refused included; what the daemon says is wrong
    /// otherwise.
    pub(crate) fn good(self) -> anyhow::Result<Self> {
        if (200..300).contains(&self.status) || self.field(OUTCOME).is_some() {
            return Ok(self);
        }
        let said = serde_json::from_str::<serde_json::Value>(&self.body).ok();
        match said.as_ref().and_then(|said| said["message"].as_str()) {
            // A daemon that quotes a manifest for a screen writes the word in front of it.
            Some(message) if message.starts_with("error:") => Err(quoted_error(message.to_owned()).into()),
            Some(message) => bail!("{message}"),
            None => bail!("the daemon answered with status {}", self.status),
        }
    }
}

/// What is sent with a request.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sent<'a> {
    /// What it is called in messages.
    pub(crate) name: Option<&'a str>,
    pub(crate) bytes: &'a [u8],
}

/// Sends a request to the daemon at `socket`, and waits for its answer.
pub(crate) fn send(socket: &Path, method: &str, path: &str, body: Sent<'_>) -> anyhow::Result<Reply> {
    let stream = UnixStream::connect(socket).map_err(|error| not_reached(socket, error))?;
    let failed = || format!("failed to talk to topolet at {}", socket.display());
    exchanged(stream, method, path, body, PATIENCE).with_context(failed)
}

/// The same over TCP, where `address` is `HOST:PORT`.
#[cfg(feature = "kubernetes")]
pub(crate) fn send_over_tcp(
    address: &str,
    method: &str,
    path: &str,
    body: Sent<'_>,
) -> anyhow::Result<Reply> {
    let failed = || format!("failed to reach topolet at http://{address}");
    let stream = TcpStream::connect(address).with_context(failed)?;
    exchanged(stream, method, path, body, PATIENCE).with_context(failed)
}

/// A connection that is given up at some time.
trait Connection: Read + Write {
    fn set_read_timeout(&self, within: Option<Duration>) -> io::Result<()>;
}

impl Connection for UnixStream {
    fn set_read_timeout(&self, within: Option<Duration>) -> io::Result<()> {
        Self::set_read_timeout(self, within)
    }
}

#[cfg(feature = "kubernetes")]
impl Connection for TcpStream {
    fn set_read_timeout(&self, within: Option<Duration>) -> io::Result<()> {
        Self::set_read_timeout(self, within)
    }
}

/// Reads until the end of what is sent.
///
/// # Errors
/// It takes longer than `within`, or is larger than [`LARGEST`].
fn read_all(stream: &mut impl Connection, answer: &mut Vec<u8>, within: Duration) -> io::Result<()> {
    let (began, mut buffer) = (Instant::now(), [0; 1 << 13]);
    loop {
        let left = within.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no whole answer within {within:?}"),
            ));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => answer.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            // The time is looked at first.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if answer.len() > LARGEST {
            let why = format!("its answer is larger than {} MiB", LARGEST >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
    }
}

/// One request on a connection that is closed afterwards.
fn exchanged(
    mut stream: impl Connection,
    method: &str,
    path: &str,
    body: Sent<'_>,
    within: Duration,
) -> anyhow::Result<Reply> {
    let Sent { name, bytes: body } = body;
    // A name that would break the head is left out.
    let name = name.filter(|name| !name.chars().any(char::is_control));
    let name = name.map_or_else(String::new, |name| format!("{FILE}: {name}\r\n"));
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{name}Content-Length: {}\r\n\r\n",
        body.len()
    );
    // A daemon that turns the request away may not read it to its end: then neither writing nor reading need end well,
    // and there is an answer all the same.
    let sent = stream.write_all(&[head.as_bytes(), body].concat());
    let mut answer = Vec::new();
    let read = read_all(&mut stream, &mut answer, within);
    if answer.is_empty() {
        sent?;
    }
    match (parsed(&answer), read) {
        (Ok(reply), Ok(())) => Ok(reply),
        // With its length it shows that it is whole.
        (Ok(reply), Err(_)) if reply.field("content-length").is_some() => Ok(reply),
        (_, Err(error)) => Err(error.into()),
        (Err(error), Ok(())) => Err(error),
    }
}

/// An event of a stream.
#[derive(Debug)]
pub(crate) struct Streamed {
    /// What kind of event it is.
    pub(crate) name: String,
    /// Its number.
    pub(crate) id: String,
    pub(crate) data: String,
}

/// Reads a stream of server-sent events until it ends, or `hear` has heard enough.
pub(crate) fn follow(
    socket: &Path,
    path: &str,
    mut hear: impl FnMut(Streamed) -> ControlFlow<()>,
) -> anyhow::Result<()> {
    let shown = socket.display();
    let failed = || format!("failed to talk to topolet at {shown}");
    let mut stream = UnixStream::connect(socket).map_err(|error| not_reached(socket, error))?;
    stream.set_read_timeout(Some(SILENCE)).with_context(failed)?;
    // To a client of 1.0 the stream is sent as it is, and not in chunks.
    let head = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
    stream.write_all(head.as_bytes()).with_context(failed)?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    let mut next = || -> anyhow::Result<Option<String>> {
        line.clear();
        let read = (&mut lines).take(LARGEST as u64).read_line(&mut line).with_context(failed)?;
        Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
    };
    let status = next()?.context("its answer broke off")?;
    if !status.contains(" 200 ") {
        let body = std::iter::from_fn(|| next().ok().flatten()).skip_while(|line| !line.is_empty());
        let body = body.collect::<Vec<_>>().join("\n");
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        return Reply { status, head: String::new(), body }.good().map(drop);
    }
    while next()?.is_some_and(|field| !field.is_empty()) {}
    let empty = || Streamed { name: String::new(), id: String::new(), data: String::new() };
    let mut event = empty();
    while let Some(line) = next()? {
        if line.is_empty() {
            let event = std::mem::replace(&mut event, empty());
            if !event.data.is_empty() && hear(event).is_break() {
                return Ok(());
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event.name),
            "id" => value.clone_into(&mut event.id),
            "data" => event.data.push_str(value),
            // A comment.
            _ => {}
        }
    }
    Ok(())
}

/// Why the socket cannot be reached, and what to do.
fn not_reached(socket: &Path, error: io::Error) -> anyhow::Error {
    let shown = socket.display();
    if error.kind() != io::ErrorKind::PermissionDenied {
        let text = format!("failed to reach topolet at {shown}; is `topolet serve` running there?");
        return anyhow::Error::new(error).context(text);
    }
    let user = geteuid();
    let text = match fs::metadata(socket) {
        Ok(about) => format!(
            "user {user} may not connect to {shown}, which user {} and group {} may: run this as root or as a member \
             of that group; `topolet serve --socket-group GROUP` chooses another group, and --socket-for-all lets \
             every user look",
            about.uid(),
            about.gid()
        ),
        Err(_) => format!(
            "user {user} may not enter the folder of {shown}: run this as root or as a member of the folder's group, \
             or have `topolet serve --socket PATH` listen in a folder that others may enter"
        ),
    };
    anyhow::Error::new(error).context(text)
}

fn parsed(answer: &[u8]) -> anyhow::Result<Reply> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").context("its answer broke off")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("its answer is no HTTP")?;
    let reply = Reply { status, head: head.to_owned(), body: body.to_owned() };
    match reply.field("content-length").map(str::parse::<usize>) {
        Some(Ok(length)) if length == body.len() => Ok(reply),
        Some(_) => bail!("its answer broke off"),
        None if reply.field("transfer-encoding").is_some() => bail!("its answer is in pieces"),
        // Nobody could see whether it is whole.
        None => bail!("its answer has no length"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read as _, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::time::Duration;

    use super::{Sent, exchanged, not_reached, parsed, send};

    #[test]
    fn an_answer_that_comes_before_all_was_read_is_one() {
        let path = std::env::temp_dir().join(format!("topolet-client-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap_or_else(|error| panic!("{error}"));
        let answering = std::thread::spawn(move || {
            for stream in listener.incoming().take(100) {
                let Ok(mut stream) = stream else { return };
                let mut first = [0];
                let _ = stream.read(&mut first);
                let _ = stream.write_all(b"HTTP/1.1 409 Conflict\r\ncontent-length: 3\r\n\r\nno\n");
            }
        });
        let body = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            let reply = send(&path, "POST", "/v1/pods", Sent { name: None, bytes: &body });
            let reply = reply.unwrap_or_else(|error| panic!("{error:#}"));
            assert_eq!((reply.status, reply.body.as_str()), (409, "no\n"));
        }
        assert!(answering.join().is_ok());
        let _ = std::fs::remove_file(&path);
    }

    /// What is answered by who sends this first and then the rest again and again, within a quarter of a second.
    fn answered(first: &'static [u8], again: &'static [u8]) -> String {
        let (ours, mut theirs) = UnixStream::pair().unwrap_or_else(|error| panic!("{error}"));
        let answering = std::thread::spawn(move || {
            // One that closes with an unread request resets the connection.
            let asked = theirs.read(&mut [0; 1024]);
            let mut sent = asked.and_then(|_| theirs.write_all(first));
            while sent.is_ok() && !again.is_empty() {
                sent = theirs.write_all(again);
                if again.len() == 1 {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
        let within = if again.len() > 1 { Duration::from_mins(1) } else { Duration::from_millis(250) };
        let answer = exchanged(ours, "GET", "/v1/status", Sent::default(), within);
        assert!(answering.join().is_ok());
        answer.map_or_else(|error| error.to_string(), |reply| reply.body)
    }

    #[test]
    fn who_sends_for_ever_is_given_up() {
        const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
        assert_eq!(answered(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", b""), "ok");
        assert_eq!(answered(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok", b""), "its answer broke off");
        assert_eq!(answered(HEAD, b"x"), "no whole answer within 250ms");
        for first in [HEAD, b"HTTP/1.1 200 OK\r\n"] {
            assert_eq!(answered(first, &[b'x'; 1 << 13]), "its answer is larger than 64 MiB");
        }
    }

    #[test]
    fn a_socket_that_refuses_says_what_to_do() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let there = std::env::temp_dir();
        for (socket, error, said) in [
            (there.as_path(), denied(), "--socket-group GROUP"),
            (
                Path::new("/nowhere/topolet.sock"),
                denied(),
                "may not enter the folder of /nowhere/topolet.sock",
            ),
            (
                there.as_path(),
                io::Error::from(io::ErrorKind::ConnectionRefused),
                "is `topolet serve` running",
            ),
        ] {
            let text = format!("{:#}", not_reached(socket, error));
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn answers_are_whole_or_refused() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n", Some((200, "ok\n"))),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Some((404, ""))),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok\n", None),
            ("HTTP/1.1 200 OK\r\n\r\nok\n", None),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", None),
            ("HTTP/1.1\r\n\r\n", None),
            ("garbage", None),
            ("", None),
        ] {
            let found = parsed(answer.as_bytes()).ok();
            let found = found.as_ref().map(|reply| (reply.status, reply.body.as_str()));
            assert_eq!(found, expected, "{answer:?}");
        }
    }
}
