//! The root folder: its owner, and the folders in it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context, bail};
use device_plugin::make_folder;
use kubelet_checkpoint::store::{self, Disk, Fs as _, StateFile};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getegid, geteuid};
use node_state::{PODS, PodList};

/// What is done with state that is not as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damaged {
    /// It is repaired.
    Repair,
    /// The node does not start, as a kubelet does not.
    Refuse,
}

/// The mode of the root: its owner writes to it, its group reaches the sockets in it.
const MODE: u32 = 0o750;
/// The folders below the root, those of a kubelet and our own, with the modes with which they are made.
const FOLDERS: [(&str, u32); 5] = [
    ("device-plugins", 0o755),
    ("plugins_registry", 0o750),
    ("pod-resources", 0o750),
    ("topolet", 0o750),
    (PODS, 0o750),
];
/// Write permission of others than the owner and its group.
const OTHERS_WRITE: u32 = 0o002;
/// That of its group.
const GROUP_WRITE: u32 = 0o020;
/// The group of the root user.
const ROOT: u32 = 0;

/// Is there from before a removed folder of pods' files is made again until all files are in it again. A daemon that
/// stops in between leaves it, so that the next does not take the pods for ended: it records those that the state files
/// list, and quarantines them.
const REWRITING: &str = "topolet/pods-are-rewritten";

/// Marks the pods' files as incomplete. When this returns the mark is there to stay.
pub(super) fn begin_rewriting(root: &Path) -> io::Result<()> {
    let mark = root.join(REWRITING);
    let folder = mark.parent().unwrap_or(root);
    for path in [root, folder] {
        make_folder(path, MODE)?;
    }
    // Whatever is there marks them.
    if !mark.try_exists()? {
        Disk.sync(&mut Disk.create(&mark)?)?;
    }
    Disk.sync_folder(folder)?;
    Disk.sync_folder(root)
}

/// Removes the mark: all files of pods are there.
pub(super) fn end_rewriting(root: &Path) -> io::Result<()> {
    let mark = root.join(REWRITING);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            store::put_aside(&mark).map(|_| ()).map_err(io::Error::other)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Which pods run, by the mark and the pods' files.
pub(super) fn pod_list(root: &Path) -> io::Result<PodList> {
    Ok(if root.join(REWRITING).try_exists()? { PodList::Incomplete } else { PodList::Recorded })
}

/// Makes the root and the folders in it that are missing, and refuses those that another user can write to.
pub(super) fn make(root: &Path, damaged: Damaged) -> anyhow::Result<()> {
    let shown = root.display();
    make_root(root)?;
    check("root folder", root)?;
    fs::read_dir(root).with_context(|| format!("failed to read root folder {shown}"))?;
    is_writable(root)?;
    leave_to_its_kubelet(root, damaged)?;
    make_folders(root)?;
    FOLDERS.iter().try_for_each(|(folder, _)| check("folder", &root.join(folder)))
}

fn make_root(root: &Path) -> anyhow::Result<()> {
    // What else is there is refused by `check`.
    if root.exists() {
        return Ok(());
    }
    make_folder(root, MODE).with_context(|| {
        format!("failed to make root folder {}: make it by hand, or name another with --root", root.display())
    })
}

/// Makes the root and the folders below it that are missing; their modes do not depend on the process' mask. The others
/// stay as they are.
pub(super) fn make_folders(root: &Path) -> anyhow::Result<()> {
    make_root(root)?;
    FOLDERS.into_iter().try_for_each(|(folder, mode)| {
        let path = root.join(folder);
        make_folder(&path, mode).with_context(|| format!("failed to make folder {}", path.display()))
    })
}

/// Refuses a folder that was never served here and in whose state files pods hold something. Which pods these are, and
/// that they run, only their kubelet knows; here they would lose what they hold.
fn leave_to_its_kubelet(root: &Path, damaged: Damaged) -> anyhow::Result<()> {
    let shown = root.display();
    let is_there = |path| {
        root.join(path).try_exists().with_context(|| format!("failed to look into root folder {shown}"))
    };
    let (has_pods, is_rewriting) = (is_there(PODS)?, is_there(REWRITING)?);
    if has_pods && !is_rewriting {
        return Ok(());
    }
    let folder = node_input::any_state_of(root)?;
    if let Some(unknown) = folder.unknown().into_iter().next() {
        return Err(unknown).with_context(|| format!("cannot start from {shown}"));
    }
    let holders = folder.holders();
    if holders.as_ref().is_some_and(BTreeSet::is_empty) {
        return end_rewriting(root).with_context(|| format!("failed to remove {REWRITING} from {shown}"));
    }
    if is_rewriting && damaged == Damaged::Repair {
        return Ok(());
    }
    let who = match holders {
        Some(holders) if holders.len() == 1 => "1 pod holds".to_owned(),
        Some(holders) => format!("{} pods hold", holders.len()),
        None => "pods may hold".to_owned(),
    };
    if is_rewriting {
        bail!(
            "root folder {shown}: folder {PODS} was removed, topolet stopped before it had written all files again, and \
             {who} something by its state files and would lose it here. Bring the folder back and remove {REWRITING}, or \
             start without --strict, which quarantines these pods"
        );
    }
    bail!(
        "root folder {shown} has no folder {PODS}, and {who} something by its state files and would lose it here. \
         If a kubelet runs there, `topolet serve --observe --root {shown}` watches it and changes nothing. If topolet \
         has served it, the folder was removed: restore it. If none of these pods runs any more, remove {} \
         first",
        StateFile::ALL.map(StateFile::path).join(", ")
    )
}

/// Refuses a folder in which another user can write. Its mode is not corrected: its contents may be the other
/// user's already.
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
