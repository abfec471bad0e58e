//! Steps of CI that run beside others, since they wait more than they compute or have one thread.

use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use fs_err::{self as fs, File};
use workspace_tools::workspace::{outside_package, run, target};

/// Commands that run one after the other beside the steps that come after their start.
pub(super) struct Beside {
    name: &'static str,
    commands: JoinHandle<anyhow::Result<Duration>>,
}

impl Beside {
    /// Starts the first of them. What all print is kept, so that it does not stand between the lines of other steps.
    pub(super) fn start(name: &'static str, commands: Vec<Command>) -> anyhow::Result<Self> {
        let folder = target().join("ci");
        fs::create_dir_all(&folder)?;
        let log = File::create(folder.join(format!("{name}.log")))?;
        let run_all = move || {
            let began = Instant::now();
            for mut command in commands {
                let log = || log.file().try_clone().context("failed to share the log");
                run(outside_package(&mut command).stdout(log()?).stderr(log()?))?;
            }
            Ok(began.elapsed())
        };
        Ok(Self { name, commands: thread::spawn(run_all) })
    }

    /// Waits for the end of all of them, and prints what they printed. Returns how long they ran.
    pub(super) fn end(self) -> anyhow::Result<Duration> {
        let ended = self.commands.join().map_err(|_| anyhow!("{}: the thread panicked", self.name))?;
        let log = fs::read_to_string(target().join("ci").join(format!("{}.log", self.name)))?;
        eprintln!("\n{}, beside other steps:\n{}", self.name, log.trim_end());
        ended.with_context(|| self.name.to_owned())
    }
}
