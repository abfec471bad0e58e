//! The root folder: whose it is, and what has to be in it.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context, bail};
use kubelet_checkpoint::store::StateFile;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getegid, geteuid};
use node_agent::{Agent, PODS};

use crate::state::StateFolder;

/// Only its owner writes to it, others may look for sockets in it.
const MODE: u32 = 0o750;
/// Write permission of others than the owner and its group.
const OTHERS_WRITE: u32 = 0o002;
/// That of its group.
const GROUP_WRITE: u32 = 0o020;
/// The group of the root user.
const ROOT: u32 = 0;

/// Makes the root if it is missing, and the kubelet's folders in it.
pub(super) fn make(root: &Path) -> anyhow::Result<()> {
    let shown = root.display();
    if matches!(root.try_exists(), Ok(false)) {
        DirBuilder::new()
            .recursive(true)
            .mode(MODE)
            .create(root)
            .and_then(|()| fs::set_permissions(root, Permissions::from_mode(MODE)))
            .with_context(|| format!("failed to make root folder {shown}"))?;
    }
    check("root folder", root)?;
    fs::read_dir(root).with_context(|| format!("failed to read root folder {shown}"))?;
    is_writable(root)?;
    leave_to_its_kubelet(root)?;
    Agent::make_folders(root)?;
    Agent::FOLDERS.iter().try_for_each(|(folder, _)| check("folder", &root.join(folder)))
}

/// Refuses a folder that was never served here and in whose state files pods hold something. Which pods these are, and
/// that they run, only their kubelet knows; here they would lose what they hold.
fn leave_to_its_kubelet(root: &Path) -> anyhow::Result<()> {
    let shown = root.display();
    let is_ours =
        root.join(PODS).try_exists().with_context(|| format!("failed to look into root folder {shown}"))?;
    if is_ours {
        return Ok(());
    }
    let folder = StateFolder::of(root)?;
    if let Some(unknown) = folder.unknown().into_iter().next() {
        return Err(unknown).with_context(|| format!("cannot start from {shown}"));
    }
    let who = match folder.holders() {
        Some(holders) if holders.is_empty() => return Ok(()),
        Some(holders) if holders.len() == 1 => "1 pod holds".to_owned(),
        Some(holders) => format!("{} pods hold", holders.len()),
        None => "pods may hold".to_owned(),
    };
    bail!(
        "root folder {shown} has no folder {PODS}, and {who} something by its state files and would lose it here. \
         If a kubelet runs there, `topolet serve --observe --root {shown}` watches it and changes nothing. If topolet \
         has served it, somebody removed the folder: bring it back. If none of these pods runs any more, remove {} \
         first",
        StateFile::ALL.map(StateFile::path).join(", ")
    )
}

/// Nobody else may have put anything in it. A folder that is open to others is refused and not closed: what is in it may
/// be theirs already.
fn check(what: &str, folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let about = fs::metadata(folder).with_context(|| format!("failed to look at {what} {shown}"))?;
    if !about.is_dir() {
        bail!("{what} {shown} is no folder");
    }
    let own = geteuid().as_raw();
    if about.uid() != own {
        bail!("{what} {shown} belongs to user {}, and this is user {own}", about.uid());
    }
    if about.mode() & OTHERS_WRITE != 0 {
        bail!("{what} {shown} can be written by everybody: `chmod o-w {shown}`");
    }
    let is_own_group = [ROOT, getegid().as_raw()].contains(&about.gid());
    if about.mode() & GROUP_WRITE != 0 && !is_own_group {
        bail!("{what} {shown} can be written by group {}: `chmod g-w {shown}`", about.gid());
    }
    Ok(())
}

fn is_writable(root: &Path) -> anyhow::Result<()> {
    let shown = root.display();
    let mounted = statvfs(root).with_context(|| format!("failed to look at root folder {shown}"))?;
    if mounted.flags().contains(FsFlags::ST_RDONLY) {
        bail!(
            "root folder {shown} is on a file system that is mounted read-only, and no pod can be stored there: \
             remount it; meanwhile `topolet serve --observe --root {shown}` shows what pods hold"
        );
    }
    Ok(())
}
