//! Files that are read whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use kubelet_checkpoint::store::{NotRegular, OtherFile, open_regular};

/// Reads a configuration; `-` is standard input. More than the reader takes is not read.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_up_to(path, topology_manifest::MAX_BYTES)
}

/// The same for what a cluster lists.
pub(crate) fn read_list(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_up_to(path, topology_manifest::MAX_LIST_BYTES)
}

/// Reads a file that no argument names, but that was looked for: it must be a regular one.
pub(crate) fn read_found(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = open_regular(path).with_context(|| format!("failed to read {}", path.display()))?;
    bytes_of(file, topology_manifest::MAX_BYTES as u64 + 1, path)
}

/// Opens a file that an argument names. Besides regular files this may be a pipe or a terminal, such as `/dev/stdin` or
/// a shell's `<(COMMAND)`; its end is waited for.
pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    let failed = || format!("failed to open {}", path.display());
    let other = OtherFile::of(&fs::metadata(path).with_context(failed)?);
    match other {
        Some(other @ (OtherFile::Directory | OtherFile::Socket | OtherFile::BlockDevice)) => {
            Err(NotRegular(other)).with_context(failed)
        }
        _ => File::open(path).with_context(failed),
    }
}

fn bytes_of(file: File, limit: u64, path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(bytes)
}

fn read_up_to(path: &Path, bytes: usize) -> anyhow::Result<Vec<u8>> {
    let limit = bytes as u64 + 1;
    if path.as_os_str() != "-" {
        return bytes_of(open(path)?, limit, path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(limit).read_to_end(&mut bytes).context("failed to read standard input")?;
    Ok(bytes)
}

/// What messages call such a file.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() }
}

/// Reads a file of at most so many bytes.
pub(crate) fn bytes(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("failed to read {}", path.display()))?;
    if bytes.len() as u64 > limit {
        bail!("{} has more than {} MiB", path.display(), limit >> 20);
    }
    Ok(bytes)
}

/// The last part of a path.
pub(crate) fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
