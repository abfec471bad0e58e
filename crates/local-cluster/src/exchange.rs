//! A request over HTTP on a connection that is closed afterwards.

use std::io::{Read, Write};

use anyhow::Context as _;
use http_exchange::Request;

/// No answer is larger: 256 MiB.
const LARGEST: usize = 256 << 20;

/// Sends a request, such as `POST /filter`, with its body. Gives the answer's status and body.
///
/// # Errors
/// The connection is refused or closed, or what comes is no answer.
pub(crate) fn exchanged(
    stream: impl Read + Write,
    host: &str,
    request: &str,
    body: &str,
) -> anyhow::Result<(u16, String)> {
    let (method, path) = request.split_once(' ').context("a request has a method and a path")?;
    let request = Request { host, ..Request::new(method, path).with_body(body.as_bytes()) };
    let answer = request.exchange(stream, LARGEST)?;
    Ok((answer.status, String::from_utf8(answer.body)?))
}
