//! Machines in archives: which file is one, what the machine is called, and what to do where none is in it, or several.

use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use topology_discovery::{ArchiveError, SysfsTree, TreeError, is_archive};

use crate::files;
use crate::folder::diagnosed;

/// The most bytes of an archive that are read.
const MAX_ARCHIVE: u64 = 64 << 20;
/// Bytes by which a form is known.
const START: u64 = 512;
/// How names of archives end.
const ENDS: [&str; 11] =
    [".tar.zst", ".tar.gz", ".tar.xz", ".tar.bz2", ".tzst", ".tgz", ".txz", ".tbz2", ".tbz", ".tar", ".zip"];

/// The machine in the archive at a path, and what it is called; `None`: what is there is no archive by its name or its first
/// bytes.
///
/// # Errors
/// It cannot be read, or has no machine or several.
pub(crate) fn read(name: &str) -> anyhow::Result<Option<(String, SysfsTree)>> {
    let path = Path::new(name);
    let is_called_so = without_end(name).is_some();
    if !name.contains(['/', '.']) || path.is_dir() || !is_called_so && !path.is_file() {
        return Ok(None);
    }
    let mut file = files::open(path)?;
    let mut bytes = Vec::new();
    let failed = || format!("failed to read {name}");
    file.by_ref().take(START).read_to_end(&mut bytes).with_context(failed)?;
    if !is_called_so && !is_archive(&bytes) {
        return Ok(None);
    }
    file.take(MAX_ARCHIVE).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > MAX_ARCHIVE {
        bail!(
            "{name} has more than {} MiB; {} to a folder, which may be larger",
            MAX_ARCHIVE >> 20,
            unpacks(name)
        );
    }
    Ok(Some((short(&files::short(path)).to_owned(), unpacked(name, &bytes)?)))
}

/// The machine in the bytes of an archive.
///
/// # Errors
/// It is none, or has no machine or several.
pub(crate) fn unpacked(name: &str, bytes: &[u8]) -> anyhow::Result<SysfsTree> {
    let error = match SysfsTree::archive(bytes) {
        Ok(tree) => return Ok(tree),
        Err(error) => error,
    };
    let next = match &error {
        TreeError::NoMachine(names) if names.archives.is_empty() => {
            Some(format!("`topolet capture NODE.tar.zst` on the node packs its machine; {}", diagnosed(name)))
        }
        TreeError::NoMachine(names) => {
            let archives = names.archives.join(", ");
            Some(format!("{} and archives in it: {archives}; {}", unpacks(name), diagnosed(name)))
        }
        TreeError::ManyMachines(_) | TreeError::Archive(ArchiveError::Packing { .. }) => Some(unpacks(name)),
        TreeError::Archive(
            ArchiveError::FileTooLarge { .. } | ArchiveError::TooLarge | ArchiveError::StreamTooLarge,
        ) => Some(format!("{} to a folder, which may be larger", unpacks(name))),
        _ => None,
    };
    let error = anyhow!(error);
    let error = if let Some(next) = next { anyhow!("{error:#}; {next}") } else { error };
    Err(error.context(format!("failed to read {name}")))
}

/// The command that does so.
fn unpacks(name: &str) -> String {
    let is_zip = Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("zip"));
    let program = if is_zip { "unzip" } else { "tar xf" };
    format!("`{program} {name}` unpacks it")
}

/// A name without what says how the file is packed.
pub(crate) fn short(name: &str) -> &str {
    without_end(name).unwrap_or(name)
}

fn without_end(name: &str) -> Option<&str> {
    ENDS.iter().find_map(|end| name.strip_suffix(end))
}
