//! `cargo xtask chaos`: a daemon under load that is killed at random moments, and what it then still knows.
//!
//! Four clients apply, resize, move and delete pods over the socket, manifests come and go, and a device plugin serves. After each
//! `kill -9` the daemon starts again and everything in [`crate::node::invariants`] has to hold. Some kills hit a start;
//! before some the daemon stands still for a while; after some a state file is cut or changed; some starts have another
//! monotonic clock. Then the same on disks that are full.

mod damage;
mod disks;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;
use workspace_tools::client::Client;

use crate::node::invariants::Disk;
use crate::node::load::{self, Figures, Folder, Load, Pace};
use crate::node::{Clock, Daemon, DevicePlugin, Profile, Programs, invariants};
use crate::reliability::{self, Evidence, percentile};
use damage::Damage;

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

/// Set where this runs with mounts of its own.
const APART: &str = "XTASK_CHAOS_APART";
/// Clients at once.
const CLIENTS: usize = 4;

/// A node that is killed again and again, and all that is known of it.
struct Node<'a> {
    programs: &'a Programs,
    root: PathBuf,
    log: PathBuf,
    loads: Vec<Load>,
    folder: Folder,
    /// The command that runs this, with its seed.
    command: &'a str,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    counts: BTreeMap<&'static str, u64>,
    starts: Vec<Duration>,
    violations: Vec<String>,
    figures: Figures,
    skipped: Vec<String>,
}

impl Chaos {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let can_mount = std::env::var_os(APART).is_some();
        if !can_mount && does(&["--mount", "--", "true"]) {
            // Full disks are mounts; those of this process and its children are nobody else's.
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
            if let Err(error) =
                disks::fill(&programs, place.path(), (self.seed, &self.command()), &mut outcome)
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
        let mut node = Node::new(programs, (place, "root-0"), self.seed, &command);
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
                    node = Node::new(programs, (place, &format!("root-{}", kill + 1)), seed, &command);
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

impl Outcome {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Takes over what the clients of a node did.
    fn take(&mut self, node: &mut Node<'_>) {
        for load in &mut node.loads {
            self.figures.add(&std::mem::take(&mut load.figures));
        }
        let odd = std::mem::take(&mut self.figures.odd);
        if !odd.is_empty() {
            node.violated("answers under load", &odd, self);
        }
    }
}

impl<'a> Node<'a> {
    fn new(programs: &'a Programs, (place, name): (&Path, &str), seed: u64, command: &'a str) -> Self {
        let root = place.join(name);
        let folder = Folder::new(&root, seed);
        let loads = (0..CLIENTS).map(|number| Load::new(number, CLIENTS, seed)).collect();
        Self { programs, log: place.join(format!("{name}.log")), root, loads, folder, command }
    }

    /// Starts the daemon and checks what it knows.
    fn start(
        &mut self,
        clock: Clock,
        spoilt: Option<Damage>,
        outcome: &mut Outcome,
    ) -> anyhow::Result<Daemon> {
        let about = spoilt.as_ref().map(|damage| format!(" (after {})", damage.what)).unwrap_or_default();
        let disk = spoilt.map_or(Disk::Whole, |damage| Disk::Damaged(damage.named));
        let daemon = Daemon::start(self.programs, &self.root, clock, &self.log)
            .with_context(|| format!("it does not start again{about}"))?;
        outcome.starts.push(daemon.start);
        self.check(&about, &disk, outcome)?;
        Ok(daemon)
    }

    /// Checks what the daemon knows while nobody asks it for anything.
    fn check(&mut self, about: &str, disk: &Disk, outcome: &mut Outcome) -> anyhow::Result<()> {
        let found = invariants::check(&self.root, &self.loads, disk)?;
        if !found.violations.is_empty() {
            let kills = outcome.counts.get("kills").copied().unwrap_or_default();
            self.violated(&format!("after kill {kills}{about}"), &found.violations, outcome);
        }
        // Somebody has seen to them: nothing of them runs any more.
        let client = Client::of(&self.root);
        for name in &found.quarantined {
            outcome.count("pods in quarantine");
            client
                .ask("DELETE", &load::path(name), "")
                .with_context(|| format!("{name} cannot be deleted"))?;
        }
        for load in &mut self.loads {
            load.settle(&found.admitted);
        }
        Ok(())
    }

    /// Has the clients ask and manifests change while something happens.
    fn under_load(&mut self, pace: Pace, happens: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let stop = AtomicBool::new(false);
        let Self { root, loads, folder, .. } = self;
        std::thread::scope(|threads| {
            for load in loads {
                threads.spawn(|| load.run(root, pace, &stop));
            }
            threads.spawn(|| folder.churn(Duration::from_millis(50), &stop));
            let happened = happens();
            stop.store(true, Ordering::Relaxed);
            happened
        })
    }

    /// Records violations and keeps what shows them again.
    fn violated(&self, step: &str, violations: &[String], outcome: &mut Outcome) {
        let evidence = Evidence { command: self.command, step, violations, root: &self.root, log: &self.log };
        let kept = evidence.keep("chaos");
        outcome.violations.extend(violations.iter().map(|what| format!("{step}: {what} ({kept})")));
    }
}

/// Whether `unshare` can do that here.
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
