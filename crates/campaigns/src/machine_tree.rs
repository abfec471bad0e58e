//! Built-in machines as folders, for programs of others that read `/sys`.

use std::path::Path;

use anyhow::Context as _;
use fs_err::File;
use workspace_tools::workspace::root;

/// Unpacks a built-in machine: `sys` and `proc` in the folder `to`.
///
/// # Errors
/// There is no such machine, or the folder cannot be written.
pub(crate) fn unpack(machine: &str, to: &Path) -> anyhow::Result<()> {
    let archive = root().join(format!("crates/machine-fixtures/machines/{machine}.tar.zst"));
    let file = File::open(&archive).context("only built-in machines have a folder")?;
    let decoder = ruzstd::decoding::StreamingDecoder::new(file).context("failed to read the archive")?;
    tar::Archive::new(decoder).unpack(to).with_context(|| format!("failed to unpack {}", archive.display()))
}
