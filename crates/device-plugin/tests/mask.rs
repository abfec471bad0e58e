//! Permissions while folders and sockets are made, under the widest mask. The mask is the whole process': this is alone
//! in its process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails that way")]

#[path = "all/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use nix::sys::stat::{Mode, umask};
use support::{Folder, Node};

/// Starts of the server that are watched.
const ROUNDS: u32 = 100;

fn mode(path: &Path) -> Option<u32> {
    Some(fs::symlink_metadata(path).ok()?.permissions().mode() & 0o7777)
}

/// Which file it is: the inode of one that is gone can be another's.
fn identity(path: &Path) -> Option<(u64, SystemTime)> {
    let about = fs::symlink_metadata(path).ok()?;
    Some((about.ino(), about.created().ok()?))
}

/// Whether another user could connect to the socket.
fn is_open(path: &Path) -> bool {
    let before = identity(path);
    let is_served = UnixStream::connect(path).is_ok();
    // It gets narrower only, so it was as wide as now when it took the connection, if it is the same.
    let mode = mode(path);
    is_served && before == identity(path) && mode.is_some_and(|mode| mode & 0o022 != 0)
}

#[test]
fn nobody_else_can_write_or_connect_at_any_moment() {
    umask(Mode::empty());
    let folder = Folder::new();
    let folders = folder.folders();
    let sockets = [folder.kubelet_socket(), folder.pod_resources_socket()];
    let others = [&folders.plugins_registry, &folders.device_plugins, &folders.pod_resources];
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = || {
            let mut wide = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let folders = others.iter().filter_map(|path| Some((path.as_path(), mode(path)?)));
                wide.extend(folders.filter(|(_, mode)| mode & 0o022 != 0).map(|(path, _)| path.to_owned()));
                wide.extend(sockets.iter().filter(|path| is_open(path)).cloned());
            }
            wide
        };
        let watchers = [scope.spawn(looks), scope.spawn(looks)];
        for _ in 0..ROUNDS {
            Node::start(&folder).stop();
            for path in others {
                fs::remove_dir_all(path).unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let wide: Vec<_> = watchers.into_iter().flat_map(|watcher| watcher.join().unwrap()).collect();
        assert_eq!(wide, Vec::<std::path::PathBuf>::new(), "others could write to these, or connect");
    });
}
