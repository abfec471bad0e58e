//! Readers that are other users, whose share of connections is separate: processes, since the kernel reports the user of a
//! connection.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, ensure};
use clap::ValueEnum as _;
use fs_err as fs;
use workspace_tools::client::Client;

use super::readers::Reader;

/// The users. They need no names.
const USERS: [u32; 2] = [65_533, 65_534];

/// Whether this process can start others as other users.
pub(super) fn can_start() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

/// Lets every user come to the socket of the node in `root`, and start this program. Returns its copy in `place`: others
/// may not enter the folder of the build perhaps.
pub(super) fn open(place: &Path, root: &Path) -> anyhow::Result<PathBuf> {
    let program = place.join("campaigns");
    fs::create_dir_all(root)?;
    fs::copy(std::env::current_exe()?, &program)?;
    for (path, mode) in [(place, 0o711), (root, 0o711), (&program, 0o755)] {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(program)
}

/// Readers of every kind of each user; killed when they are dropped.
#[derive(Debug, Default)]
pub(super) struct OtherUsers(Vec<(String, Child)>);

impl OtherUsers {
    pub(super) fn start(program: &Path, root: &Path) -> anyhow::Result<Self> {
        let mut readers = Self::default();
        for (user, reader) in USERS.into_iter().flat_map(|user| Reader::ALL.map(|reader| (user, reader))) {
            let kind =
                reader.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            let mut command = Command::new(program);
            command.args(["soak", "--reader", &kind, "--root"]).arg(root);
            command.uid(user).gid(user).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
            let child = command.spawn().with_context(|| format!("failed to start {kind} as user {user}"))?;
            readers.0.push((format!("reader {kind} of user {user}"), child));
        }
        Ok(readers)
    }

    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Those that have ended by themselves, which they never should.
    pub(super) fn ended(&mut self) -> Vec<String> {
        let ended = self.0.iter_mut().filter_map(|(name, child)| match child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(format!("{name} ended with {status}")),
            Err(error) => Some(format!("{name}: {error}")),
        });
        ended.collect()
    }
}

impl Drop for OtherUsers {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Reads until it is killed. It is another user indeed: it may look and change nothing.
pub(super) fn read(reader: Reader, root: &Path) -> anyhow::Result<()> {
    let client = Client::of(root);
    let status = |method: &str, path: &str| -> anyhow::Result<u16> {
        // With all its places taken a user gets 503 and tries again.
        loop {
            let reply = client.ask(method, path, "").with_context(|| format!("failed to {method} {path}"))?;
            if reply.status != 503 {
                return Ok(reply.status);
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    let deleted = status("DELETE", "/v1/pods/default/nobodys")?;
    ensure!(deleted == 403, "another user deletes a pod and is answered {deleted}");
    let listed = status("GET", "/v1/pods")?;
    ensure!(listed == 200, "another user lists pods and is answered {listed}");
    reader.run(root, &AtomicBool::new(false));
    Ok(())
}
