//! `cargo xtask chaos`: kills a daemon under load at random moments, and checks what it has kept.
//!
//! Four clients apply, resize, move and delete pods over the socket, manifests come and go, and a device plugin serves. After each
//! `kill -9` the daemon starts again and everything in [`crate::node::invariants`] has to hold. Some kills hit a start;
//! before some the daemon stands still for a while; after some a state file is cut or changed; some starts have another
//! monotonic clock. Then the same on disks that are full.

mod node;
mod damage;
mod disks;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::node::load::Pace;
use crate::node::{Clock, Daemon, DevicePlugin, Profile, Programs};
use crate::reliability::{self, percentile};
use node::{Node, Outcome};

/// Kills a daemon under load, restarts it, and looks whether anything is lost or has two owners. Needs about 0.5 s a kill.
#[derive(Debug, clap::Args)]
pub(crate) struct Chaos {
    /// How often it is killed.
    #[arg(long, default_value_t = 1000)]
    kills: u32,
    /// Seed of all that is random, but for the threads of this machine.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How the daemon is built.
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// Writes the figures to docs/reliability.
    #[arg(long)]
    write: bool,
}

/// Set in a process that runs in its own mount namespace.
const APART: &str = "XTASK_CHAOS_APART";

impl Chaos {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let can_mount = std::env::var_os(APART).is_some();
        if !can_mount && does(&["--mount", "--", "true"]) {
            // Full disks are mounts, which only this process and its children may see.
            let mut again = Command::new("unshare");
            again.args(["--mount", "--propagation", "private", "--"]).arg(std::env::current_exe()?);
            return Err(again.args(std::env::args_os().skip(1)).env(APART, "1").exec())
                .context("failed to start unshare");
        }
        let programs = Programs::build(self.profile)?;
        let began = Instant::now();
        let mut outcome = Outcome::default();
        let place = tempfile::tempdir().context("failed to make a folder")?;
        self.kills(&programs, place.path(), &mut outcome)?;
        if can_mount {
            if let Err(error) = disks::fill(&programs, place.path(), self.seed, &self.command(), &mut outcome)
            {
                outcome.violations.push(format!("on a full disk: {error:#}"));
            }
        } else {
            outcome.skipped.push("full disks: mounts need root".to_owned());
        }
        outcome
            .skipped
            .push("slow disks: no device here delays; standing still takes their place".to_owned());
        outcome.skipped.push("wall clock: a namespace shifts the monotonic clock only".to_owned());
        self.report(outcome, began.elapsed())
    }

    fn kills(&self, programs: &Programs, place: &Path, outcome: &mut Outcome) -> anyhow::Result<()> {
        let can_shift = does(&["--time", "--monotonic=1000", "--", "true"]);
        if !can_shift {
            outcome.skipped.push("monotonic clock: time namespaces need root".to_owned());
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        let command = self.command();
        let mut node = Node::new(programs, place, "root-0", self.seed, &command);
        let mut plugin = None;
        let mut spoilt = None;
        for kill in 0..self.kills {
            let clock = if can_shift && kill % 4 == 3 {
                outcome.count("starts with another monotonic clock");
                Clock::Shifted(random.i64(-60..864_000))
            } else {
                Clock::Own
            };
            if kill % 6 == 5 {
                outcome.count("kills in a start");
                Daemon::spawn(programs, &node.root, clock, &node.log)?
                    .kill_after(random_time(&mut random, 80))?;
            }
            let daemon = match node.start(clock, spoilt.take(), outcome) {
                Ok(daemon) => daemon,
                Err(error) => {
                    node.violated(&format!("kill {kill}"), &[format!("{error:#}")], outcome);
                    outcome.take(&mut node);
                    plugin = None;
                    let seed = self.seed + u64::from(kill);
                    node = Node::new(programs, place, &format!("root-{}", kill + 1), seed, &command);
                    continue;
                }
            };
            if plugin.is_none() || kill % 5 == 4 {
                // The old one is killed.
                drop(plugin.take());
                plugin = Some(DevicePlugin::start(programs, &node.root)?);
                outcome.count("starts of a device plugin");
            }
            let time = random_time(&mut random, 500);
            let freeze = (kill % 7 == 6).then(|| random_time(&mut random, 300));
            node.under_load(Pace::Unbounded, || {
                std::thread::sleep(time);
                if let Some(time) = freeze {
                    outcome.count("stands still");
                    daemon.freeze(time)?;
                }
                daemon.kill()
            })?;
            outcome.count("kills");
            if kill % 10 == 9 {
                spoilt = damage::spoil(&node.root, &mut random)?;
                if spoilt.is_some() {
                    outcome.count("state files damaged");
                }
            }
            if kill % 100 == 99 {
                eprintln!("{} kills, {} violations", kill + 1, outcome.violations.len());
            }
        }
        let daemon = node.start(Clock::Own, spoilt, outcome)?;
        daemon.terminate()?;
        outcome.take(&mut node);
        Ok(())
    }

    /// What starts this run again.
    fn command(&self) -> String {
        let profile = if self.profile == Profile::Debug { " --profile debug" } else { "" };
        format!("cargo xtask chaos --kills {} --seed {}{profile}", self.kills, self.seed)
    }

    fn report(&self, mut outcome: Outcome, took: Duration) -> anyhow::Result<()> {
        let mut starts: Vec<u128> = outcome.starts.iter().map(Duration::as_millis).collect();
        outcome.violations.extend(outcome.figures.idle().map(str::to_owned));
        let shown: Vec<&String> = outcome.violations.iter().take(20).collect();
        let [median, late, longest] = [50, 99, 100].map(|percent| percentile(&mut starts, percent));
        let figures = json!({
            "seconds": took.as_secs(), "counts": outcome.counts,
            "applied": outcome.figures.applied, "withDevices": outcome.figures.with_devices,
            "refused": outcome.figures.refused, "deleted": outcome.figures.deleted,
            "deferred": outcome.figures.deferred, "resized": outcome.figures.resized, "moved": outcome.figures.moved,
            "explained": outcome.figures.explained, "noSpace": outcome.figures.no_space,
            "violations": outcome.violations.len(), "violationsShown": shown,
            "startMilliseconds": { "p50": u64::try_from(median)?, "p99": u64::try_from(late)?, "max": u64::try_from(longest)? },
            "notRun": outcome.skipped,
        });
        print(&serde_json::to_string_pretty(&figures)?);
        if self.write {
            reliability::write("chaos", "chaos", &self.command(), &figures)?;
        }
        ensure!(outcome.violations.is_empty(), "{} violations; see above", outcome.violations.len());
        Ok(())
    }
}

/// Whether `unshare` works with these arguments here.
fn does(arguments: &[&str]) -> bool {
    Command::new("unshare").args(arguments).output().is_ok_and(|output| output.status.success())
}

fn random_time(random: &mut fastrand::Rng, milliseconds: u64) -> Duration {
    Duration::from_millis(random.u64(0..milliseconds))
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn print(text: &str) {
    println!("{text}");
}
