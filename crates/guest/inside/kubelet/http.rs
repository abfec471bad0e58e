//! The kubelet's ports.

use std::time::Duration;

use anyhow::ensure;
use workspace_tools::client::Request;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer of the kubelet's over plain HTTP.
pub(super) fn http(port: u16, path: &str) -> anyhow::Result<String> {
    let request = Request { method: "GET", path, host: "localhost", fields: "", body: "" };
    let reply = request.over_tcp(("127.0.0.1", port), Some(PATIENCE))?;
    ensure!(reply.status == 200, "{path}: {}", reply.status);
    Ok(reply.body)
}
