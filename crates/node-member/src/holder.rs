//! Who renews the node's Lease: this root folder's daemon, before a restart and after it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use cluster_node::OtherHolder;
use node_view::{Lasting, OwnFile};

/// Below the root.
const FILE: &str = "topolet/lease-holder";
/// Where the kernel gives out UUIDs.
const UUIDS: &str = "/proc/sys/kernel/random/uuid";

/// The name of the holder, which is made with the first start.
pub(super) fn of(root: &Path, node: &str) -> anyhow::Result<String> {
    let file = OwnFile::new(root, FILE);
    // With another name the Lease of this very folder would be somebody else's.
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

/// Why the node cannot be this one.
pub(super) fn taken(node: &str, other: &OtherHolder) -> String {
    let OtherHolder { holder, renewed } = other;
    format!(
        "node {node} is alive already: {holder} has renewed its Lease {} s ago; stop that agent and wait until its Lease has \
         expired, or choose another --node-name",
        renewed.as_secs()
    )
}
