//! Talking to a running daemon: HTTP on its socket, one request for each connection.

use std::fs;
use std::io::{self, BufRead as _, Read as _};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use http_exchange::{Fields, Request, Timed, Timeout};
use nix::unistd::geteuid;
use node_output::http::{FILE, OUTCOME};
use node_output::quoted_error;
use terminal_text::plain_causes;

/// Where a daemon listens by default.
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
    /// Of HTTP.
    pub(crate) status: u16,
    /// The fields of its head.
    pub(crate) fields: Fields,
    pub(crate) body: String,
}

impl Reply {
    /// A field of the head.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// The `reason` of an error.
    pub(crate) fn reason(&self) -> Option<String> {
        let said = serde_json::from_str::<serde_json::Value>(&self.body).ok()?;
        Some(said["reason"].as_str()?.to_owned())
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
    exchanged(stream, method, path, body).with_context(failed)
}

/// The same on a connection to a daemon.
pub(crate) fn exchanged(
    stream: impl Timeout,
    method: &str,
    path: &str,
    sent: Sent<'_>,
) -> anyhow::Result<Reply> {
    let name = sent.name.map(|name| (FILE, name));
    let request = Request { fields: name.as_slice(), ..Request::new(method, path).with_body(sent.bytes) };
    let response = request.exchange(Timed::new(stream, PATIENCE), LARGEST)?;
    let body = String::from_utf8_lossy(&response.body).into_owned();
    Ok(Reply { status: response.status, fields: response.fields, body })
}

/// An event of a stream.
#[derive(Default, Debug)]
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
    let stream = UnixStream::connect(socket).map_err(|error| not_reached(socket, error))?;
    stream.set_read_timeout(Some(SILENCE)).with_context(failed)?;
    let request = Request { fields: &[("Accept", "text/event-stream")], ..Request::new("GET", path) };
    let answer = request.open(stream).with_context(failed)?;
    let (status, mut lines) = (answer.status, answer.body);
    if status != 200 {
        let mut body = String::new();
        lines.take(LARGEST as u64).read_to_string(&mut body).with_context(failed)?;
        return Reply { status, fields: answer.fields, body }.good().map(drop);
    }
    let mut event = Streamed::default();
    let mut line = String::new();
    loop {
        match (&mut lines).take(LARGEST as u64).read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // A daemon that stops does not end its streams.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error).with_context(failed),
        }
        let text = line.trim_end_matches(['\r', '\n']);
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event.name),
            "id" => value.clone_into(&mut event.id),
            "data" => event.data.push_str(value),
            // The end of an event.
            "" if text.is_empty() => {
                let event = std::mem::take(&mut event);
                if !event.data.is_empty() && hear(event).is_break() {
                    return Ok(());
                }
            }
            _ => {}
        }
        line.clear();
    }
}

/// Why the socket cannot be reached, and what to do.
fn not_reached(socket: &Path, error: io::Error) -> anyhow::Error {
    let shown = socket.display();
    if error.kind() != io::ErrorKind::PermissionDenied {
        return anyhow!(
            "failed to reach topolet at {shown}: {}: start it with `topolet serve`, or name its socket with --socket",
            plain_causes(&error.to_string())
        );
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::not_reached;

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
                "start it with `topolet serve`",
            ),
        ] {
            let text = format!("{:#}", not_reached(socket, error));
            assert!(text.contains(said), "{text}");
        }
    }
}
