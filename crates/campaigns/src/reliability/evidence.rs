//! What is kept of a violation so that it can be reproduced: the command with its seed, the step, the node's folder
//! and the ends of its daemon's logs.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use fs_err as fs;
use serde_json::json;
use workspace_tools::workspace::target;

/// How many folders one run keeps; the violations after the first ones are mostly the same.
const MOST: usize = 5;
/// How many lines of each log are kept.
const LINES: usize = 2000;

/// A violation, and the node on which it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    /// The command that found it, with its seed.
    pub(crate) command: &'a str,
    /// When: after which step of the run.
    pub(crate) step: &'a str,
    pub(crate) violations: &'a [String],
    /// The node's folder.
    pub(crate) root: &'a Path,
    /// The log of its daemon; that of the daemon before is beside it ([`previous`]).
    pub(crate) log: &'a Path,
}

/// Where the log of the daemon before the last start is.
pub(crate) fn previous(log: &Path) -> PathBuf {
    log.with_extension("previous.log")
}

impl Evidence<'_> {
    /// Keeps it below `target`, in a folder with the name of the campaign. Returns the folder, or why there is none: a
    /// campaign goes on without it.
    pub(crate) fn keep(&self, campaign: &str) -> String {
        static KEPT: AtomicUsize = AtomicUsize::new(0);
        let number = KEPT.fetch_add(1, Ordering::Relaxed);
        if number >= MOST {
            return format!("nothing kept, since {MOST} folders of this run are");
        }
        let folder = target().join(campaign).join(format!("{}-{number}", std::process::id()));
        match self.write(&folder) {
            Ok(()) => format!("kept in {}", folder.display()),
            Err(error) => format!("nothing kept: {error:#}"),
        }
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let write = |name: &str, text: &str| fs::write(folder.join(name), text);
        let Self { command, step, violations, root, log } = *self;
        let report = json!({ "command": command, "step": step, "violations": violations });
        write("violation.json", &serde_json::to_string_pretty(&report)?)?;
        write("log", &end(log))?;
        write("previous.log", &end(&previous(log)))?;
        copy(root, &folder.join("root"))
    }
}

/// The last lines of a log; empty if there is none.
fn end(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].iter().map(|line| format!("{line}\n")).collect()
}

/// Copies folders and regular files. What goes away meanwhile is left out, as are sockets.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("failed to list {}", from.display()))?,
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to list {}", from.display()))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            copy(&from, &to)?;
        } else if kind.is_file() {
            match fs::copy(&from, &to) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("failed to copy {}", from.display()));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_violation_is_kept_with_all_that_shows_it_again() {
        let place = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let (root, log, kept) =
            (place.path().join("root"), place.path().join("daemon.log"), place.path().join("kept"));
        let write = |path: &Path, text: &str| fs::write(path, text).unwrap_or_else(|error| panic!("{error}"));
        let read = |name: &str| fs::read_to_string(kept.join(name)).unwrap_or_else(|error| panic!("{error}"));
        fs::create_dir_all(root.join("topolet/pods")).unwrap_or_else(|error| panic!("{error}"));
        write(&root.join("cpu_manager_state"), "{torn");
        write(&root.join("topolet/pods/a.json"), "{}");
        let _socket = UnixListener::bind(root.join("topolet.sock")).unwrap_or_else(|error| panic!("{error}"));
        let lines: String = (0..LINES + 5).map(|line| format!("line {line}\n")).collect();
        write(&log, &lines);
        write(&previous(&log), "the life before\n");
        let violations = ["a was admitted and is lost".to_owned()];
        let command = "cargo xtask chaos --kills 1000 --seed 7";
        let evidence = Evidence { command, step: "kill 12", violations: &violations, root: &root, log: &log };
        evidence.write(&kept).unwrap_or_else(|error| panic!("{error:#}"));

        let report: serde_json::Value = serde_json::from_str(&read("violation.json")).unwrap_or_default();
        let expected = json!({ "command": command, "step": "kill 12", "violations": violations });
        assert_eq!(report, expected);
        assert_eq!(read("root/cpu_manager_state"), "{torn");
        assert_eq!(read("root/topolet/pods/a.json"), "{}");
        assert!(!kept.join("root/topolet.sock").exists());
        let log = read("log");
        assert!(log.starts_with("line 5\n") && log.ends_with(&format!("line {}\n", LINES + 4)), "{log}");
        assert_eq!(read("previous.log"), "the life before\n");
    }

    #[test]
    fn a_node_that_is_gone_leaves_its_violation() {
        let place = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let gone = place.path().join("gone");
        let evidence = Evidence { command: "", step: "the end", violations: &[], root: &gone, log: &gone };
        let kept = place.path().join("kept");
        evidence.write(&kept).unwrap_or_else(|error| panic!("{error:#}"));
        assert!(kept.join("violation.json").is_file());
    }
}
