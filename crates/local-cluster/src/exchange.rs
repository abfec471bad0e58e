//! A request over HTTP on a connection that is closed afterwards.

use std::io::{Read, Write};

use anyhow::Context as _;

/// Sends a request, such as `POST /filter`, with its body. Gives the answer's status and body.
///
/// # Errors
/// The connection is refused or closed, or what comes is no answer.
pub(crate) fn exchanged(
    mut stream: impl Read + Write,
    host: &str,
    request: &str,
    body: &str,
) -> anyhow::Result<(u16, String)> {
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").with_context(|| format!("no answer: {answer:?}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.with_context(|| format!("no status: {head:?}"))?, body.to_owned()))
}
