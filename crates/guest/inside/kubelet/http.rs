//! The kubelet's ports.

use std::time::Duration;

use anyhow::ensure;
use workspace_tools::client::{Request, over_tcp};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer of the kubelet's over plain HTTP.
pub(super) fn http(port: u16, path: &str) -> anyhow::Result<String> {
    let reply = over_tcp(&Request::new("GET", path), ("127.0.0.1", port), PATIENCE)?;
    ensure!(reply.status == 200, "{path}: {}", reply.status);
    Ok(reply.body)
}
