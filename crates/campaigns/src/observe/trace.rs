//! The system calls of a process and its threads, by strace, and those that change something below a folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

/// At most this many calls that change something are listed.
const LISTED: usize = 20;

/// Calls that change a file system, whatever their arguments.
const CHANGES: [&str; 34] = [
    "creat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "truncate",
    "ftruncate",
    "fallocate",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "fchownat",
    "lchown",
    "utimensat",
    "setxattr",
    "fsetxattr",
    "removexattr",
    "mknod",
    "mknodat",
    "write",
    "writev",
    "pwrite64",
    "bind",
];

/// A daemon whose system calls are read.
pub(super) struct Trace(JoinHandle<Seen>);

/// What was seen.
#[derive(Default)]
pub(super) struct Seen {
    /// Calls by name.
    calls: BTreeMap<String, u64>,
    /// Those that change something below the folder.
    writes: Vec<String>,
}

impl Trace {
    /// Starts a program under strace; what it logs goes to `log`.
    pub(super) fn start(
        program: &Path,
        arguments: &[String],
        log: &Path,
        below: &Path,
    ) -> anyhow::Result<(Child, Self)> {
        File::create(log)?;
        let calls = ["open", "openat", "openat2", "connect"].into_iter().chain(CHANGES);
        // An older strace does not know each of them, and then the kernel's older ones are all that there are.
        let calls = calls.map(|call| format!("?{call}")).collect::<Vec<_>>().join(",");
        let mut command = Command::new("strace");
        command.args(["--follow-forks", "--decode-fds=path", "--string-limit=300", "--quiet=all"]);
        command.arg(format!("--trace={calls}")).args(["sh", "-c", "exec \"$@\" 2>\"$0\""]).arg(log);
        command.arg(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("failed to start strace")?;
        let lines = child.stderr.take().context("strace has no standard error")?;
        let below = below.display().to_string();
        let reading = thread::spawn(move || {
            let mut seen = Seen::default();
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                seen.call(&line, &below);
            }
            seen
        });
        Ok((child, Self(reading)))
    }

    /// Ends the daemon, and gives what was seen.
    pub(super) fn end(self, child: &mut Child) -> anyhow::Result<Seen> {
        // strace ends its program with itself when it is asked to.
        let asked = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status();
        asked.context("failed to start kill")?;
        child.wait()?;
        self.0.join().map_err(|_| anyhow!("the trace was not read to its end"))
    }
}

impl Seen {
    fn call(&mut self, line: &str, below: &str) {
        // `[pid 12] openat(...) = 3`
        let line =
            line.strip_prefix("[pid").and_then(|rest| rest.split_once("] ")).map_or(line, |(_, call)| call);
        let Some((name, rest)) = line.split_once('(') else { return };
        let name = name.trim_start_matches("<... ").to_owned();
        let (arguments, _) = rest.rsplit_once(" = ").unwrap_or((rest, ""));
        // What is written may say anything; the file that it is written to comes first. A request to a socket is written to
        // that, and not to the file that it is found by.
        let place = match name.as_str() {
            "write" | "writev" | "pwrite64" => arguments.split(',').next().unwrap_or_default(),
            _ => arguments,
        };
        let changes = match name.as_str() {
            "open" | "openat" | "openat2" => {
                ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| arguments.contains(flag))
            }
            // To ask a kubelet's socket is no change.
            "connect" => false,
            _ => true,
        };
        if place.contains(below) && changes && self.writes.len() < LISTED {
            self.writes.push(line.to_owned());
        }
        *self.calls.entry(name).or_default() += 1;
    }

    pub(super) fn add_to(&self, report: &mut Value) {
        report["calls"] = json!(self.calls);
        report["writes"] = json!(self.writes);
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn what_changes_something_below_the_root_is_found() {
        let mut seen = Seen::default();
        for line in [
            "[pid 12] openat(AT_FDCWD</>, \"/root/k/cpu_manager_state\", O_RDONLY|O_CLOEXEC) = 9</root/k/cpu_manager_state>",
            "[pid 12] connect(9<socket:[1]>, {sa_family=AF_UNIX, sun_path=\"/root/k/pods-api/pods-api.sock\"}, 33) = 0",
            "openat(AT_FDCWD</>, \"/tmp/own/x\", O_WRONLY|O_CREAT, 0666) = 9</tmp/own/x>",
            "write(1</tmp/own/x>, \"/root/k/x\", 9) = 9",
            "write(8<socket:[7]>, \"/root/k/x\", 9) = 9",
            "exit_group(0) = ?",
        ] {
            seen.call(line, "/root/k");
        }
        assert!(seen.writes.is_empty(), "{:?}", seen.writes);
        for line in [
            "[pid 12] openat(AT_FDCWD</>, \"/root/k/x\", O_RDWR|O_CLOEXEC) = -1 EACCES (Permission denied)",
            "[pid 12] unlinkat(7</root/k>, \"x\", 0) = 0",
            "write(9</root/k/x>, \"a\", 1) = 1",
            "bind(9<socket:[1]>, {sa_family=AF_UNIX, sun_path=\"/root/k/a.sock\"}, 20) = 0",
        ] {
            seen.call(line, "/root/k");
        }
        assert_eq!(seen.writes.len(), 4, "{:?}", seen.writes);
    }
}
