//! One process, and whether it is a kubelet.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::arguments::{self, NoArguments};
use crate::executable;
use crate::k3s::{self, DataDir};
use crate::namespaces::{MountNamespace, PidNamespace};
use crate::open::open_below;
use crate::proc::{Proc, is_gone};
use crate::program::{Program, Recognised, recognise};

/// A kubelet that runs.
#[derive(Debug)]
pub struct KubeletProcess {
    /// Its process id in the `/proc` that was read.
    pub pid: u32,
    /// The program that contains it.
    pub program: Program,
    /// The kubelet's own flags, without the name of the program; for kubelite those of its file of flags as it is now,
    /// for k3s the values of `--kubelet-arg` as flags.
    pub arguments: Result<Vec<String>, NoArguments>,
    /// The effective user; 0 is root. `None`: `/proc/PID/status` is not there.
    pub user: Option<u32>,
    /// By the process' ticks since the boot and the time of the boot; exact to a second. `None`: one is not there.
    pub started: Option<SystemTime>,
    /// The folder below which its paths lie: the `root` that was read, or `root/proc/PID/root` where the process sees
    /// other mounts or is in a chroot. [`Self::open`] opens a path below it.
    pub files: PathBuf,
    /// Whether it sees other mounts.
    pub mount_namespace: MountNamespace,
    /// Whether it is in a pid namespace below that of `/proc`, as the kubelet of a kind node is on its host.
    pub pid_namespace: PidNamespace,
    /// Its path in the hierarchy of cgroup v2, and where that is `/`, as with cgroup v1 alone, in systemd's own.
    pub cgroup: Option<String>,
    /// The path of the executable as the process sees it; `None`: there is no right to read it.
    pub executable: Option<PathBuf>,
    /// Version of the executable without `v`: `1.36.3`, `1.36.3+k3s1`, `1.35.2-eks-1a2b3c4`. `None`: there is no right
    /// to read it, or it is not in there (see the documentation of the crate).
    pub release: Option<String>,
    /// Of k3s, the folder in which it keeps everything; of others `None`.
    pub data_dir: Option<DataDir>,
}

impl KubeletProcess {
    /// The folder with drop-in configuration that the program gives its kubelet where no argument `--config-dir` names
    /// another: `DATA/agent/etc/kubelet.conf.d` of k3s, whether it exists or not. `None`: the program gives it none.
    #[must_use]
    pub fn default_config_dir(&self) -> Option<PathBuf> {
        self.data_dir.as_ref().map(DataDir::drop_ins)
    }

    /// Opens a file by the path that it has for the kubelet. Below another root than `/`, symbolic links are followed as
    /// the kubelet follows them, and cannot lead outside. A relative path starts at that root.
    ///
    /// # Errors
    /// As `open`; `InvalidInput` for what is no regular file, `ENOSYS` below another root on Linux before 5.6.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        open_below(&self.files, path)
    }
}

/// Looks at a process; `None`: it is no kubelet, or has ended.
///
/// # Errors
/// Its arguments cannot be read.
pub(crate) fn look(proc: &Proc, pid: u32) -> io::Result<Option<KubeletProcess>> {
    let command_line = match proc.command_line(pid) {
        Ok(command_line) => command_line,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let executable = proc.executable(pid);
    let name = executable.as_deref().map(|path| path.as_os_str().as_bytes());
    let Some(recognised) = recognise(&command_line.arguments(), name) else { return Ok(None) };
    let before = proc.stat(pid);
    if before.as_ref().is_some_and(|stat| stat.has_ended) {
        return Ok(None);
    }
    let kubelet = describe(proc, pid, &recognised, command_line.is_whole, executable.clone());
    // What was read of another process with the same id, or of one that has ended, is worth nothing.
    let ticks = |stat: Option<crate::proc::Stat>| stat.map(|stat| stat.start_ticks);
    Ok((ticks(before) == ticks(proc.stat(pid))).then_some(kubelet))
}

fn describe(
    proc: &Proc,
    pid: u32,
    recognised: &Recognised<'_>,
    is_whole: bool,
    executable: Option<PathBuf>,
) -> KubeletProcess {
    let status = proc.status(pid);
    let mount_namespace = proc.mount_namespace(pid);
    let is_elsewhere = mount_namespace == MountNamespace::Other || proc.is_in_chroot(pid);
    let files = if is_elsewhere { proc.of(pid).join("root") } else { proc.root.clone() };
    let data_dir = (recognised.program == Program::K3s)
        .then(|| k3s::data_dir(&recognised.rest, executable.as_deref(), status.user))
        .flatten();
    let asked = arguments::Asked {
        pid,
        recognised,
        is_whole,
        user: status.user,
        files: &files,
        executable: executable.as_deref(),
    };
    KubeletProcess {
        pid,
        program: recognised.program,
        arguments: arguments::of(&asked),
        user: status.user,
        started: proc.started(pid),
        mount_namespace,
        pid_namespace: status.pid_namespace,
        cgroup: proc.cgroup(pid),
        release: proc
            .open_executable(pid, executable.as_deref(), &files)
            .and_then(|mut file| executable::release(&mut file)),
        executable,
        data_dir,
        files,
    }
}
