//! `cargo xtask soak`: a daemon that works for a long time, and whether what it uses stays the same.
//!
//! Clients apply, resize, move, delete and explain at a steady rate, by a schedule that does not wait for answers; a device plugin dies and comes back; readers open idle
//! connections, send byte by byte, scrape metrics and explain large Deployments. Where this runs as root, the same readers run
//! as two other users as well. In the first half the daemon is restarted
//! every few minutes; in the second half it runs through, and its memory and descriptors are judged: the median of the
//! last third against that of the first third after a warm-up. The node lies in a temporary folder: `--root` or `TMPDIR`
//! chooses the disk. A disk that is slow to sync bounds the rate: the report has the rate that was reached, and times
//! that count from when a request was due.

mod readers;
mod others;
mod usage;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::node::invariants::Disk;
use crate::node::load::{CLIENTS, Figures, Folder, Load, Pace};
use crate::node::{Access, Clock, Daemon, DevicePlugin, Profile, Programs, invariants};
use crate::reliability::{self, Evidence, percentile};
use others::OtherUsers;
use readers::Reader;
use usage::Usages;

/// Runs a daemon under a steady load, and fails if its memory or its descriptors grow.
#[derive(Debug, clap::Args)]
pub(crate) struct Soak {
    /// How long, in minutes; parts of one are possible.
    #[arg(long, default_value_t = 30.0, value_parser = minutes)]
    minutes: f64,
    /// Requests a second that are due.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// Minutes between restarts in the first half.
    #[arg(long, default_value_t = 3.0, value_parser = minutes)]
    restart: f64,
    /// Seed of all that is random, but for the threads of this machine.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A folder on the disk that the node is on; its own folder in there is removed in the end.
    #[arg(long)]
    root: Option<PathBuf>,
    /// Only reads, from the node whose folder is `--root`, until it is killed: what a run starts as other users.
    #[arg(long, hide = true, value_enum, requires = "root")]
    reader: Option<Reader>,
    /// Writes the figures to docs/reliability.
    #[arg(long)]
    write: bool,
}

/// Time between two samples of the daemon's memory and descriptors.
const SAMPLE: Duration = Duration::from_millis(500);
/// The fewest samples by which growth is judged: those of 5 minutes.
const JUDGED: usize = 590;
/// How long a device plugin lives.
const PLUGIN: Duration = Duration::from_secs(20);
/// The most that memory may grow after the warm-up, in percent.
const LARGEST_GROWTH: f64 = 5.0;
/// The most that descriptors may grow: some come and go with connections.
const DESCRIPTORS: u64 = 2;

/// Minutes that a clock can count.
pub(crate) fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if minutes > 0.0 && minutes <= 100_000.0 {
        Ok(minutes)
    } else {
        Err("more than 0, and 100000 at most".to_owned())
    }
}

/// What a node leaves behind.
struct Files {
    root: PathBuf,
    log: PathBuf,
}

impl Soak {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if let (Some(reader), Some(root)) = (self.reader, &self.root) {
            return others::read(reader, root);
        }
        let mut programs = Programs::build(Profile::Release)?;
        let place = self.root.as_ref().map_or_else(tempfile::tempdir, tempfile::tempdir_in);
        let place = place.context("failed to make a folder")?;
        let node = Files { root: place.path().join("root"), log: place.path().join("log") };
        let Files { root, log } = &node;
        let program = if others::can_start() {
            programs.access = Access::Everybody;
            Some(others::open(place.path(), root)?)
        } else {
            eprintln!("no readers of other users: only root can start them");
            None
        };
        let total = Duration::from_secs_f64(self.minutes * 60.0);
        let restart = Duration::from_secs_f64(self.restart * 60.0);
        let mut loads: Vec<Load> = (0..CLIENTS).map(|number| Load::new(number, CLIENTS, self.seed)).collect();
        let (mut folder, mut plugin) = (Folder::new(root, self.seed), None);
        let (mut violations, mut starts, mut life) = (Vec::new(), Vec::new(), Usages::default());
        let (mut under_load, mut other_users) = (Duration::ZERO, 0);
        let began = Instant::now();
        while began.elapsed() < total {
            let daemon = Daemon::start(&programs, root, Clock::Own, log)?;
            starts.push(daemon.start.as_millis());
            self.check(&node, &mut loads, &mut violations)?;
            let mut others = match &program {
                Some(program) => OtherUsers::start(program, root)?,
                None => OtherUsers::default(),
            };
            other_users = others.count();
            // The last life has the whole second half.
            let left = total.saturating_sub(began.elapsed());
            let time = match left.checked_sub(total / 2) {
                Some(first_half) if first_half > restart / 2 => restart.min(first_half),
                _ => left,
            };
            eprintln!("after {} s: a daemon for {} s", began.elapsed().as_secs(), time.as_secs());
            let pace = Pace::Every(Duration::from_secs(CLIENTS as u64) / self.rate);
            let (stop, begin) = (AtomicBool::new(false), Instant::now());
            life = std::thread::scope(|threads| {
                for load in &mut loads {
                    threads.spawn(|| load.run(root, pace, &stop));
                }
                threads.spawn(|| folder.churn(Duration::from_millis(500), &stop));
                for reader in Reader::ALL {
                    let stop = &stop;
                    threads.spawn(move || reader.run(root, stop));
                }
                let used = watch(&daemon, &programs, root, time, &mut plugin);
                stop.store(true, Ordering::Relaxed);
                used
            })?;
            under_load += begin.elapsed();
            self.violated("under load", &others.ended(), &node, &mut violations);
            drop(others);
            self.check(&node, &mut loads, &mut violations)?;
            if began.elapsed() < total {
                daemon.kill()?;
            } else {
                daemon.terminate()?;
            }
        }
        drop(plugin);
        let mut figures = Figures::default();
        for load in &loads {
            figures.add(&load.figures);
        }
        let odd = std::mem::take(&mut figures.odd);
        self.violated("answers under load", &odd, &node, &mut violations);
        self.report(&mut figures, other_users, under_load, &mut starts, &life, violations)
    }

    /// What starts this run again.
    fn command(&self) -> String {
        format!(
            "cargo xtask soak --minutes {} --rate {} --restart {} --seed {}",
            self.minutes, self.rate, self.restart, self.seed
        )
    }

    fn check(&self, node: &Files, loads: &mut [Load], violations: &mut Vec<String>) -> anyhow::Result<()> {
        let found = invariants::check(&node.root, loads.iter(), &Disk::Whole)?;
        self.violated("at rest", &found.violations, node, violations);
        for load in loads {
            load.settle(&found.admitted);
        }
        Ok(())
    }

    /// Records violations and keeps what shows them again.
    fn violated(&self, step: &str, found: &[String], node: &Files, all: &mut Vec<String>) {
        if !found.is_empty() {
            let Files { root, log } = node;
            let evidence = Evidence { command: &self.command(), step, violations: found, root, log };
            let kept = evidence.keep("soak");
            all.extend(found.iter().map(|what| format!("{step}: {what} ({kept})")));
        }
    }

    fn report(
        &self,
        figures: &mut Figures,
        other_users: usize,
        under_load: Duration,
        starts: &mut [u128],
        life: &Usages,
        mut violations: Vec<String>,
    ) -> anyhow::Result<()> {
        violations.extend(figures.idle().map(str::to_owned));
        let growth = life.growth();
        let [median, late, longest] =
            [50, 99, 100].map(|percent| f64::from(percentile(&mut figures.latencies, percent)) / 1e3);
        let rate = figures.events() * 1000 / u64::try_from(under_load.as_millis())?.max(1);
        let report = json!({
            "minutes": self.minutes, "events": figures.events(), "eventsPerSecond": rate,
            "duePerSecond": self.rate, "unsent": figures.unsent,
            "applied": figures.applied, "withDevices": figures.with_devices, "refused": figures.refused, "deleted": figures.deleted,
            "deferred": figures.deferred, "resized": figures.resized, "moved": figures.moved,
            "explained": figures.explained, "readersOfOtherUsers": other_users, "starts": starts.len(),
            "longestStartMilliseconds": u64::try_from(percentile(starts, 100))?,
            "applyMilliseconds": { "p50": median, "p99": late, "max": longest },
            "lastLife": growth, "violations": violations.len(),
            "violationsShown": violations.iter().take(20).collect::<Vec<_>>(),
        });
        print(&serde_json::to_string_pretty(&report)?);
        if self.write {
            reliability::write("soak", "soak", &self.command(), &report)?;
        }
        ensure!(violations.is_empty(), "{} violations; see above", violations.len());
        if life.0.len() < JUDGED {
            eprintln!("the last life was too short to judge whether memory grows: 5 minutes are enough");
            return Ok(());
        }
        ensure!(
            growth.resident_percent <= LARGEST_GROWTH,
            "memory grew by {} percent, and {LARGEST_GROWTH} may be chance",
            growth.resident_percent
        );
        ensure!(
            growth.descriptors.after <= growth.descriptors.before + DESCRIPTORS,
            "descriptors grew from {} to {}",
            growth.descriptors.before,
            growth.descriptors.after
        );
        Ok(())
    }
}

/// Looks at what the daemon uses for a time, and has the device plugin die and come back.
fn watch(
    daemon: &Daemon,
    programs: &Programs,
    root: &Path,
    time: Duration,
    plugin: &mut Option<(DevicePlugin, Instant)>,
) -> anyhow::Result<Usages> {
    let began = Instant::now();
    let mut used = Usages::default();
    while began.elapsed() < time {
        if plugin.as_ref().is_none_or(|(_, since)| since.elapsed() > PLUGIN) {
            drop(plugin.take());
            *plugin = Some((DevicePlugin::start(programs, root)?, Instant::now()));
        }
        used.0.push(daemon.usage()?);
        std::thread::sleep(SAMPLE.min(time.saturating_sub(began.elapsed())));
    }
    Ok(used)
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn print(text: &str) {
    println!("{text}");
}
