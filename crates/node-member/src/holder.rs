//! The holder identity with which the node's Lease is renewed. It belongs to the root folder, so that it stays over restarts.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use cluster_node::OtherHolder;
use node_view::{Lasting, OwnFile};

/// Below the root.
const FILE: &str = "topolet/lease-holder";
/// The kernel's file with a new UUID for each read.
const UUIDS: &str = "/proc/sys/kernel/random/uuid";

/// The holder identity, which is made at the first start.
pub(super) fn of(root: &Path, node: &str) -> anyhow::Result<String> {
    let file = OwnFile::new(root, FILE);
    // With a new identity the daemon would take its own Lease for that of another agent.
    let known = file.read(|text| Ok(text.trim().to_owned()));
    let known = known.with_context(|| format!("failed to read {file}"))?.filter(|known| !known.is_empty());
    let id = if let Some(known) = known {
        known
    } else {
        let made = fs::read_to_string(UUIDS).with_context(|| format!("failed to read {UUIDS}"))?;
        file.write(&made, Lasting::ForGood).with_context(|| format!("failed to write {file}"))?;
        made.trim().to_owned()
    };
    Ok(format!("topolet_{node}_{id}"))
}

/// Why the node cannot have this name: another agent holds its Lease.
pub(super) fn taken(node: &str, other: &OtherHolder) -> String {
    let OtherHolder { holder, renewed } = other;
    format!(
        "node {node} is alive already: {holder} has renewed its Lease {} s ago; stop that agent and wait until its Lease has \
         expired, or choose another --node-name",
        renewed.as_secs()
    )
}
