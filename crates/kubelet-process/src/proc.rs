//! The files of `/proc`, each read up to a limit. See proc(5).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::statfs::{PROC_SUPER_MAGIC, statfs};
use nix::unistd::{SysconfVar, sysconf};

use crate::namespaces::{MountNamespace, PidNamespace};
use crate::open::{self, open_below, open_regular, read_at_most};

/// So many processes are looked at; a kernel allows at most 4,194,304 (`pid_max`), and a busy node has some thousands.
pub const MOST_PROCESSES: usize = 100_000;
/// All arguments that are looked at.
const MOST_OF_COMMAND_LINE: u64 = 128 << 10;
/// Other files of a process have some KiB.
const MOST_OF_FILE: u64 = 64 << 10;
/// `/proc/stat` has two lines of some hundred bytes for each CPU and interrupts.
const MOST_OF_STAT: u64 = 8 << 20;
/// The first pid namespace of a kernel (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// The `/proc` of a machine.
pub(crate) struct Proc {
    /// The root of the machine.
    pub(crate) root: PathBuf,
    /// `proc` in it.
    pub(crate) folder: PathBuf,
    /// The process whose mounts count as the reader's.
    reader: &'static str,
    /// It is a kernel's, not a copy: the links in it lead where the process sees them.
    is_live: bool,
    /// When the machine started.
    boot: Option<SystemTime>,
}

/// The processes of a machine.
pub(crate) struct Listed {
    /// In ascending order.
    pub(crate) pids: Vec<u32>,
    /// Whether these are all.
    pub(crate) whole: bool,
}

/// Which processes a `/proc` does not show.
pub(crate) enum Hidden {
    /// Those of other users.
    Others,
    /// Those outside of its pid namespace.
    OutsideOfNamespace,
}

/// A command line as the kernel has it.
pub(crate) struct CommandLine {
    bytes: Vec<u8>,
    pub(crate) is_whole: bool,
}

/// Parts of `/proc/PID/stat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stat {
    /// It is a zombie or dead.
    pub(crate) has_ended: bool,
    /// Field 22: when it started, in ticks since the boot.
    pub(crate) start_ticks: u64,
}

/// Parts of `/proc/PID/status`.
pub(crate) struct Status {
    pub(crate) user: Option<u32>,
    pub(crate) pid_namespace: PidNamespace,
}

/// Whether a file is gone because its process has ended.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::ESRCH as i32)
}

impl Proc {
    /// The `/proc` of the machine whose root is this.
    pub(crate) fn below(root: &Path) -> Self {
        let folder = root.join("proc");
        let place = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let is_own = place(root).is_some() && place(root) == place(Path::new("/"));
        let is_live = statfs(&folder).is_ok_and(|system| system.filesystem_type() == PROC_SUPER_MAGIC);
        let boot = boot_time(&folder);
        let reader = if is_own { "self" } else { "1" };
        Self { root: root.to_path_buf(), folder, reader, is_live, boot }
    }

    /// The folder of a process.
    pub(crate) fn of(&self, pid: u32) -> PathBuf {
        self.folder.join(pid.to_string())
    }

    /// All processes; `None`: there is no `/proc`.
    pub(crate) fn list(&self) -> io::Result<Option<Listed>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut listed = Listed { pids: Vec::new(), whole: true };
        for entry in entries {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if listed.pids.len() == MOST_PROCESSES {
                listed.whole = false;
                break;
            }
            listed.pids.push(pid);
        }
        listed.pids.sort_unstable();
        Ok(Some(listed))
    }

    /// Which processes are not among these.
    pub(crate) fn hidden(&self, pids: &[u32]) -> Option<Hidden> {
        let first = self.folder.join("1");
        let is_readable = match open::open(&first.join("stat")) {
            Ok(_) => true,
            Err(error) => is_gone(&error),
        };
        if !pids.contains(&1) || !is_readable {
            return Some(Hidden::Others);
        }
        let namespace = fs::read_link(first.join("ns/pid")).or_else(|error| match self.reader {
            "self" => fs::read_link(self.folder.join("self/ns/pid")),
            _ => Err(error),
        });
        let is_first = namespace.map_or(true, |link| link == Path::new(FIRST_PID_NAMESPACE));
        (!is_first).then_some(Hidden::OutsideOfNamespace)
    }

    pub(crate) fn command_line(&self, pid: u32) -> io::Result<CommandLine> {
        let file = open::open(&self.of(pid).join("cmdline"))?;
        let open::Read { bytes, is_whole } = read_at_most(file, MOST_OF_COMMAND_LINE)?;
        Ok(CommandLine { bytes, is_whole })
    }

    /// The path of the executable as the process sees it, also of a file that is deleted.
    pub(crate) fn executable(&self, pid: u32) -> Option<PathBuf> {
        let link = fs::read_link(self.of(pid).join("exe")).ok()?;
        let path = link.as_os_str().as_bytes();
        Some(OsStr::from_bytes(path.strip_suffix(b" (deleted)").unwrap_or(path)).into())
    }

    /// The executable itself. The link of a copy leads to a path, of which the file is below `files`.
    pub(crate) fn open_executable(&self, pid: u32, path: Option<&Path>, files: &Path) -> Option<fs::File> {
        if self.is_live {
            open_regular(&self.of(pid).join("exe")).ok()
        } else {
            open_below(files, path?).ok()
        }
    }

    pub(crate) fn stat(&self, pid: u32) -> Option<Stat> {
        stat(&read(&self.of(pid).join("stat"), MOST_OF_FILE).ok()?)
    }

    pub(crate) fn status(&self, pid: u32) -> Status {
        status(&read(&self.of(pid).join("status"), MOST_OF_FILE).unwrap_or_default())
    }

    /// When a process started.
    pub(crate) fn started(&self, pid: u32) -> Option<SystemTime> {
        let ticks = self.stat(pid)?.start_ticks;
        let a_second = sysconf(SysconfVar::CLK_TCK).ok().flatten();
        let a_second = a_second.and_then(|ticks| u64::try_from(ticks).ok()).filter(|ticks| *ticks > 0)?;
        let rest = Duration::from_secs(ticks % a_second) / u32::try_from(a_second).ok()?;
        self.boot?.checked_add(Duration::from_secs(ticks / a_second))?.checked_add(rest)
    }

    pub(crate) fn mount_namespace(&self, pid: u32) -> MountNamespace {
        let own = fs::read_link(self.of(pid).join("ns/mnt"));
        let readers = fs::read_link(self.folder.join(self.reader).join("ns/mnt"));
        match (own, readers) {
            (Ok(own), Ok(readers)) if own == readers => MountNamespace::Same,
            (Ok(_), Ok(_)) => MountNamespace::Other,
            _ => MountNamespace::Unknown,
        }
    }

    /// Whether a process has another root than the reader.
    pub(crate) fn is_in_chroot(&self, pid: u32) -> bool {
        let own = fs::read_link(self.of(pid).join("root"));
        let readers = fs::read_link(self.folder.join(self.reader).join("root"));
        matches!((own, readers), (Ok(own), Ok(readers)) if own != readers)
    }

    pub(crate) fn cgroup(&self, pid: u32) -> Option<String> {
        cgroup(&String::from_utf8(read(&self.of(pid).join("cgroup"), MOST_OF_FILE).ok()?).ok()?)
    }
}

impl CommandLine {
    /// The arguments, of which each ends with a NUL. One that was cut is left out.
    pub(crate) fn arguments(&self) -> Vec<&[u8]> {
        if self.bytes.is_empty() {
            return Vec::new();
        }
        let whole = self.bytes.strip_suffix(b"\0").unwrap_or(&self.bytes);
        let mut arguments: Vec<&[u8]> = whole.split(|byte| *byte == 0).collect();
        if !self.is_whole && arguments.len() > 1 {
            arguments.pop();
        }
        arguments
    }
}

fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    Ok(read_at_most(open::open(path)?, most)?.bytes)
}

/// `PID (NAME) STATE …`: the name may have any bytes, also parentheses.
fn stat(bytes: &[u8]) -> Option<Stat> {
    let behind = bytes.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = str::from_utf8(bytes.get(behind..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    // The state is field 3.
    Some(Stat { has_ended, start_ticks: fields.nth(22 - 4)?.parse().ok()? })
}

/// The line `Uid:` has the real, effective, saved and file system user; `NSpid:` the process' id in each pid namespace
/// from that of `/proc` on.
fn status(bytes: &[u8]) -> Status {
    let text = String::from_utf8_lossy(bytes);
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let namespaces = line("NSpid:").map(|ids| ids.split_ascii_whitespace().count());
    Status {
        user: line("Uid:").and_then(|ids| ids.split_ascii_whitespace().nth(1)?.parse().ok()),
        pid_namespace: match namespaces {
            None | Some(0) => PidNamespace::Unknown,
            Some(1) => PidNamespace::Same,
            Some(_) => PidNamespace::Below,
        },
    }
}

/// When a machine started, by the `stat` of its `/proc`, whose line `btime` has seconds since 1970. `None`: it does not say.
#[must_use]
pub fn boot_time(proc: &Path) -> Option<SystemTime> {
    let bytes = read(&proc.join("stat"), MOST_OF_STAT).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// `ID:CONTROLLERS:PATH` of each hierarchy; that of version 2 is `0::PATH`.
fn cgroup(text: &str) -> Option<String> {
    let path = |front: &str| text.lines().find_map(|line| line.strip_prefix(front));
    let by_name = || text.lines().find_map(|line| line.split_once(":name=systemd:").map(|(_, path)| path));
    let unified = path("0::");
    unified.filter(|path| *path != "/").or_else(by_name).or(unified).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_field_22_behind_any_name() {
        let line = b"12 (a) Z 9 (\xff) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n";
        assert_eq!(stat(line), Some(Stat { has_ended: false, start_ticks: 4711 }));
        assert_eq!(stat(b"12 (a) S 1 2\n"), None);
        assert_eq!(stat(b"12 a"), None);
        assert_eq!(stat(b""), None);
    }

    #[test]
    fn arguments_of_a_command_line() {
        let check = |bytes: &[u8], is_whole, expected: &[&[u8]]| {
            let line = CommandLine { bytes: bytes.to_vec(), is_whole };
            assert_eq!(line.arguments(), expected);
        };
        check(b"", true, &[]);
        check(b"a\0b\0", true, &[b"a", b"b"]);
        check(b"a\0\0", true, &[b"a", b""]);
        check(b"a b", true, &[b"a b"]);
        check(b"a\0b\0c", false, &[b"a", b"b"]);
        check(b"abc", false, &[b"abc"]);
    }

    #[test]
    fn the_cgroup_of_either_version() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(cgroup(text).as_deref(), expected);
        check("0::/system.slice/kubelet.service\n", Some("/system.slice/kubelet.service"));
        check("5:memory:/a\n1:name=systemd:/b\n0::/\n", Some("/b"));
        check("0::/\n", Some("/"));
        check("5:memory:/a\n", None);
    }
}
