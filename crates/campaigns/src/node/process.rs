//! The processes of a campaign. Each ends with the value that stands for it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use fs_err::{self as fs, File};
use workspace_tools::client::Client;
use workspace_tools::workspace::{build, cargo, run, target};

use super::load::{RESOURCE, manifests};
use crate::reliability::previous;

/// A start that takes longer has failed.
const START: Duration = Duration::from_mins(1);

/// The machine that is decided on: two NUMA nodes and 96 CPUs.
const MACHINE: &str = "xeon-2s-96cpu-sriov";

/// Its options: all that can happen to a pod does.
const OPTIONS: &str = "apiVersion: topolet.dev/v1alpha1
kind: TopoletConfiguration
cpu: {resize: allow}
memory: {resize: allow}
devices: {deferSeconds: 30}
";

/// What is run.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) topolet: PathBuf,
    plugin: PathBuf,
    /// The users that may connect to the daemons.
    pub(crate) access: Access,
}

/// How the daemon is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Profile {
    /// As it is packaged.
    Release,
    /// As the tests have it, with checks of overflows and assertions.
    Debug,
}

/// The users that may connect to a daemon's socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Its user and group.
    Group,
    /// Every user of this machine.
    Everybody,
}

/// Which time it is for a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// That of this machine.
    Own,
    /// The monotonic clock and the boot clock are this many seconds ahead; negative: behind.
    Shifted(i64),
}

/// A daemon; killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    /// From the start of the process until `/readyz` was 200.
    pub(crate) start: Duration,
}

/// What a process uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// In KiB.
    pub(crate) resident: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
}

impl Programs {
    /// Builds the daemon with the profile, and a device plugin without optimisation.
    pub(crate) fn build(profile: Profile) -> anyhow::Result<Self> {
        let plugin = target().join("debug/examples/plugin");
        match profile {
            Profile::Release => {
                run(&mut cargo(&["build", "--release", "--quiet", "--package", "topolet"]))?;
                build(&[])?;
                Ok(Self { topolet: target().join("release/topolet"), plugin, access: Access::Group })
            }
            Profile::Debug => {
                build(&["topolet"])?;
                Ok(Self { topolet: target().join("debug/topolet"), plugin, access: Access::Group })
            }
        }
    }
}

impl Daemon {
    /// Starts it, and waits until it is ready. What it logs goes to `log`.
    pub(crate) fn start(programs: &Programs, root: &Path, clock: Clock, log: &Path) -> anyhow::Result<Self> {
        let mut daemon = Self::spawn(programs, root, clock, log)?;
        daemon.wait(root, "/readyz", log)?;
        Ok(daemon)
    }

    /// Waits until a path is answered with 200.
    pub(crate) fn wait(&mut self, root: &Path, path: &str, log: &Path) -> anyhow::Result<()> {
        let client = Client::of(root);
        let began = Instant::now();
        loop {
            if client.get(path).is_ok_and(|reply| reply.status == 200) {
                self.start = began.elapsed();
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the daemon ended at its start, with {status}; its log ends: {}", end(log));
            }
            ensure!(
                began.elapsed() < START,
                "the daemon is not ready after {START:?}; its log ends: {}",
                end(log)
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Starts it, and waits for nothing.
    pub(crate) fn spawn(programs: &Programs, root: &Path, clock: Clock, log: &Path) -> anyhow::Result<Self> {
        let mut command = match clock {
            Clock::Own => Command::new(&programs.topolet),
            Clock::Shifted(seconds) => {
                let mut command = Command::new("unshare");
                let shift = [format!("--monotonic={seconds}"), format!("--boottime={seconds}")];
                command.arg("--time").args(shift).arg("--").arg(&programs.topolet);
                command
            }
        };
        match fs::rename(log, previous(log)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("failed to rename {}", log.display()));
            }
            _ => {}
        }
        let log = File::create(log)?;
        command.args(["serve", "--machine", MACHINE, "--config", "pinned", "--cgroup-root", "off", "--root"]);
        command.arg(root).arg("--manifests").arg(manifests(root));
        command.arg("--topolet-config").arg(options(root));
        if programs.access == Access::Everybody {
            command.arg("--socket-for-all");
        }
        fs::create_dir_all(manifests(root))?;
        fs::write(options(root), OPTIONS)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.into_file()).spawn();
        Ok(Self { child: child.context("failed to start the daemon")?, start: Duration::ZERO })
    }

    /// Kills it where it stands.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().context("failed to kill the daemon")?;
        self.child.wait().context("failed to wait for the daemon")?;
        Ok(())
    }

    /// The same after a time, which may be amid its start; it may have ended by itself then.
    pub(crate) fn kill_after(self, time: Duration) -> anyhow::Result<()> {
        std::thread::sleep(time);
        self.kill()
    }

    /// Stops it for a time, as a machine does that is too busy.
    pub(crate) fn freeze(&self, time: Duration) -> anyhow::Result<()> {
        self.signal("STOP")?;
        std::thread::sleep(time);
        self.signal("CONT")
    }

    /// Asks it to end, and waits; an error if it does not end well.
    pub(crate) fn terminate(mut self) -> anyhow::Result<()> {
        self.signal("TERM")?;
        let status = self.child.wait().context("failed to wait for the daemon")?;
        ensure!(status.success(), "the daemon ended with {status} after SIGTERM");
        Ok(())
    }

    fn signal(&self, name: &str) -> anyhow::Result<()> {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        ensure!(sent.context("failed to start kill")?.success(), "the daemon has ended by itself");
        Ok(())
    }

    /// What it uses now.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        let folder = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(folder.join("status")).context("the daemon has ended by itself")?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
            line.and_then(|number| number.parse().ok()).with_context(|| format!("{name} is missing"))
        };
        let descriptors = fs::read_dir(folder.join("fd"))?.count();
        Ok(Usage {
            resident: number("VmRSS:")?,
            threads: number("Threads:")?,
            descriptors: u64::try_from(descriptors)?,
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a log.
fn end(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}

/// Where the options of a node are: no disk that is filled up has them.
fn options(root: &Path) -> PathBuf {
    root.with_extension("yaml")
}

/// A device plugin; killed when it is dropped.
#[derive(Debug)]
pub(crate) struct DevicePlugin(Child);

impl DevicePlugin {
    pub(crate) fn start(programs: &Programs, root: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(&programs.plugin);
        command.arg(root.join("device-plugins")).args(["vf.sock", RESOURCE, "16"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Self(child.context("failed to start a device plugin")?))
    }
}

impl Drop for DevicePlugin {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
