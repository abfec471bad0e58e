//! One client of a schedule: what it has to say, how much of it was sent, and what it has read.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead as _, AsyncWrite as _, DuplexStream, ReadBuf, duplex};

/// Bytes that a connection holds in each direction until they are read.
pub(super) const BUFFERS: [usize; 4] = [16 * 1024, 64, 1024, 256 * 1024];

/// What clients say.
pub(super) const TEXTS: [fn() -> String; 19] = [
    String::new,
    || stays("GET", "/v1/pods", "", ""),
    || stays("GET", "/healthz", "", ""),
    || stays("GET", "/metrics", "", ""),
    || stays("GET", "/v1/decisions", "", ""),
    || stays("GET", "/v1/state?output=table", "", ""),
    || stays("GET", "/v1/pods/default/a", "", ""),
    || stays("POST", "/v1/explain", "", &pod()),
    || stays("POST", "/v1/explain?output=yaml", "", &deployment(5)),
    || stays("POST", "/v1/pods", "", &pod()),
    || stays("DELETE", "/v1/pods/default/a", "", ""),
    || stays("POST", "/v1/explain", "Expect: 100-continue\r\n", &pod()),
    || stays("GET", "/v1/pods", "Authorization: Bearer 0123456789abcdef0123\r\n", ""),
    || stays("POST", "/v1/explain", "Authorization: Bearer 0123456789abcdef0123\r\n", &pod()),
    // More than they say, and less.
    || "POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{}".to_owned(),
    || {
        "POST /v1/pods HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":"
            .to_owned()
    },
    || format!("GET /v1/pods HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(17 * 1024)),
    || "GET /v1/machine HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(16),
    // The answer is larger than what a connection buffers: its client has to read it.
    || {
        let fields = "Authorization: Bearer 0123456789abcdef0123\r\n";
        stays("POST", "/v1/explain", fields, &deployment(20))
    },
];

/// A request after which the connection is closed.
pub(super) fn asks(method: &str, path: &str, fields: &str, body: &str) -> String {
    stays(method, path, &format!("Connection: close\r\n{fields}"), body)
}

/// A request after which the connection stays open.
fn stays(method: &str, path: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

/// The end of the head of a request.
const END: &[u8] = b"\r\n\r\n";

const SPEC: &str =
    r#"{"containers":[{"name":"app","image":"i","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}"#;

pub(super) fn pod() -> String {
    format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{SPEC}}}"#)
}

fn deployment(replicas: u32) -> String {
    let template = format!(r#"{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{SPEC}}}"#);
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"a":"b"}}}},"template":{template}}}}}"#
    )
}

pub(super) struct Client {
    /// `None` when it has left.
    stream: Option<DuplexStream>,
    to_send: Vec<u8>,
    sent: usize,
    /// The end of what it has read.
    heard: Vec<u8>,
}

impl Client {
    /// A client, and the daemon's end of its connection.
    pub(super) fn new(buffer: usize) -> (Self, DuplexStream) {
        let (stream, other) = duplex(buffer);
        (Self { stream: Some(stream), to_send: Vec::new(), sent: 0, heard: Vec::new() }, other)
    }

    /// Has more to send.
    pub(super) fn say(&mut self, text: &[u8]) {
        self.to_send.extend_from_slice(text);
    }

    pub(super) fn has_said(&self, text: &str) -> bool {
        self.to_send.windows(text.len()).any(|part| part == text.as_bytes())
    }

    /// Requests that it has sent, at most.
    pub(super) fn requests(&self) -> u32 {
        let sent = self.to_send.get(..self.sent).unwrap_or_default();
        let heads = sent.windows(END.len()).filter(|part| *part == END).count();
        u32::try_from(heads).unwrap_or(u32::MAX)
    }

    /// Sends up to this many bytes of what it has to send, as far as its connection takes them.
    pub(super) fn send(&mut self, count: usize) {
        let Some(stream) = &mut self.stream else { return };
        let rest = self.to_send.get(self.sent..).unwrap_or_default();
        let part = rest.get(..count.min(rest.len())).unwrap_or_default();
        if !part.is_empty()
            && let Poll::Ready(Ok(written)) = Pin::new(stream).poll_write(&mut context(), part)
        {
            self.sent += written;
        }
    }

    /// Reads what is there.
    pub(super) fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let mut part = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut part);
            let read = Pin::new(&mut *stream).poll_read(&mut context(), &mut buffer);
            if !matches!(read, Poll::Ready(Ok(()))) || buffer.filled().is_empty() {
                return;
            }
            self.heard.extend_from_slice(buffer.filled());
            let broken = b"HTTP/1.1 500 ";
            let text = String::from_utf8_lossy(&self.heard);
            assert!(!self.heard.windows(broken.len()).any(|part| part == broken), "{text}");
            let from = self.heard.len().saturating_sub(broken.len());
            self.heard.drain(..from);
        }
    }

    /// Says that nothing more comes.
    pub(super) fn shut(&mut self) {
        if let Some(stream) = &mut self.stream {
            let _ = Pin::new(stream).poll_shutdown(&mut context());
        }
    }

    /// Closes the connection.
    pub(super) fn leave(&mut self) {
        self.stream = None;
    }
}

/// Wakes nothing: a client tries, and may try again.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
