//! Processes that end with this one, and what they wrote last.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// So many lines of a log are shown.
const LINES: usize = 12;

/// A process that is killed when this is dropped, or when the process that started it ends.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the program of a command with its arguments. What it writes goes to `NAME.log` in `folder`, after what it
    /// wrote before.
    ///
    /// # Errors
    /// It cannot be started, or its log cannot be opened.
    pub fn start(name: &str, command: &Command, folder: &Path) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log)?;
        // The kernel ends it with the thread that starts it, however that ends.
        let mut child = Command::new("setpriv");
        child.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => child.env(name, value),
                None => child.env_remove(name),
            };
        }
        child.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = child.spawn().with_context(|| format!("failed to start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// If it has ended: that, and its last words.
    pub fn why_ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        Some(format!("{} has ended: {status}\n{last}", self.name))
    }

    /// All that it has written.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
