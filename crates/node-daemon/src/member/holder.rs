//! Who renews the node's Lease: this root folder's daemon, before a restart and after it.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::Context as _;
use cluster_node::OtherHolder;

/// Below the root.
const FILE: &str = "topolet/lease-holder";
/// Where the kernel gives out UUIDs.
const UUIDS: &str = "/proc/sys/kernel/random/uuid";

/// The name of the holder, which is made with the first start.
pub(super) fn of(root: &Path, node: &str) -> anyhow::Result<String> {
    let path = root.join(FILE);
    let known = match fs::read_to_string(&path) {
        Ok(known) => known,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        // With another name the Lease of this very folder would be somebody else's.
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    let known = known.trim();
    let id = if known.is_empty() {
        let failed = || format!("failed to write {}", path.display());
        let made = fs::read_to_string(UUIDS).with_context(|| format!("failed to read {UUIDS}"))?;
        let mut file = File::create(&path).with_context(failed)?;
        file.write_all(made.as_bytes()).and_then(|()| file.sync_all()).with_context(failed)?;
        made.trim().to_owned()
    } else {
        known.to_owned()
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
