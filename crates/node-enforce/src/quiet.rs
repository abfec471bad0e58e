//! Interrupts on the CPUs of partitions: counted, and with `cgroup.interrupts: move` moved away for as long as the
//! partitions are there.
//!
//! What was moved is kept in a file of the root folder, which is written first, so that interrupts get back what they
//! lost after a restart too. It counts until the machine boots: the kernel and drivers then place interrupts anew.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use cgroup_cpuset::{Cgroups, Files, Interrupts, Move, Moved};
use conditions::{Conditions, State};
use cpuset::CpuSet;
use node_config::CpuInterrupts;
use node_view::{Lasting, OwnFile};
use serde::{Deserialize, Serialize};

use super::cause::with_cause;
use super::findings::Findings;

/// The file in the root folder.
const FILE: &str = "moved_interrupts.json";

/// Looks for what runs on CPUs of partitions, moves interrupts, and remembers them.
pub(super) struct Quiet<F> {
    kernel: Interrupts<F>,
    rule: CpuInterrupts,
    moved: Moved,
    /// This boot of the machine.
    boot: String,
    file: OwnFile,
    /// Rounds since interrupts that stayed where they are were tried.
    rounds: u32,
    /// What was found since nothing was found last. It comes and goes, and is logged once.
    logged: Conditions<Noiseless, String>,
}

/// What is true of partitions on whose CPUs nothing else runs; by what is not so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Noiseless {
    /// An interrupt is served elsewhere; by number.
    InterruptAway,
    /// A kernel thread runs elsewhere; by name: workers come and go, and run here and there.
    ThreadAway,
    /// An interrupt can be moved; by number.
    Movable,
}

/// After so many rounds interrupts that stayed where they are are tried again.
const ROUNDS_BETWEEN_TRIES: u32 = 60;

/// The file.
#[derive(Serialize, Deserialize)]
struct Written {
    boot: String,
    interrupts: BTreeMap<u32, WrittenMove>,
}

#[derive(Serialize, Deserialize)]
struct WrittenMove {
    home: String,
    away: Vec<String>,
}

impl<F: Files> Quiet<F> {
    /// What the daemon before this one moved since the machine was booted is remembered.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub(super) fn load(files: F, proc: &Path, rule: CpuInterrupts, root: &Path) -> io::Result<Self> {
        let boot = files.read(&proc.join("sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned();
        let file = OwnFile::new(root, FILE);
        let moved =
            file.read(|text| serde_json::from_str::<Written>(text)?.moved(&boot))?.unwrap_or_default();
        let kernel = Interrupts::new(files, proc);
        Ok(Self { kernel, rule, moved, boot, file, rounds: 0, logged: Conditions::new() })
    }

    /// Whether no interrupt is to be moved back.
    pub(super) fn is_off(&self) -> bool {
        self.moved.is_empty()
    }

    /// Moves interrupts away from the CPUs of partitions, or back.
    pub(super) fn keep_off(&mut self, cgroups: &Cgroups<F>, found: &mut Findings) {
        match self.interrupts(cgroups, &found.cpus) {
            Ok(stuck) => found.unmovable = stuck,
            Err(why) => found.failed.push(format!("failed to move interrupts: {why}")),
        }
    }

    /// The interrupts that are not where they should be, each with why.
    fn interrupts(&mut self, cgroups: &Cgroups<F>, cpus: &CpuSet) -> Result<BTreeMap<u32, String>, String> {
        let none = CpuSet::new();
        let taken = match self.rule {
            CpuInterrupts::Leave => &none,
            CpuInterrupts::Move => cpus,
        };
        if taken.is_empty() && self.moved.is_empty() {
            return Ok(BTreeMap::new());
        }
        // Who gets back what it lost needs no other CPUs.
        let others = if taken.is_empty() { Ok(none.clone()) } else { cgroups.in_no_partition() };
        let others = others.map_err(|error| with_cause(&error))?;
        self.rounds = (self.rounds + 1) % ROUNDS_BETWEEN_TRIES;
        if self.rounds == 0 {
            self.kernel.try_again();
        }
        self.write(taken, &others).map_err(|error| error.to_string())
    }

    fn write(&mut self, taken: &CpuSet, others: &CpuSet) -> io::Result<BTreeMap<u32, String>> {
        let (file, boot) = (&self.file, &self.boot);
        let remember = |moved: &Moved| {
            let written = serde_json::to_string_pretty(&Written::of(boot, moved)).map_err(io::Error::from);
            let written = written.and_then(|text| file.write(&(text + "\n"), Lasting::UntilBoot));
            written.map_err(|error| io::Error::new(error.kind(), format!("failed to write {file}: {error}")))
        };
        self.kernel.keep_off(taken, others, &mut self.moved, remember)
    }

    /// Gives all interrupts back what they lost.
    pub(super) fn give_back(&mut self) {
        if self.moved.is_empty() {
            return;
        }
        match self.write(&CpuSet::new(), &CpuSet::new()) {
            Ok(stuck) if stuck.is_empty() => tracing::info!("interrupts that were moved are back"),
            Ok(stuck) => {
                let why = stuck.into_values().collect::<Vec<_>>().join("; ");
                tracing::error!("interrupts that were moved are not all back: {why}");
            }
            Err(error) => tracing::error!("interrupts that were moved are not back: {error}"),
        }
    }

    /// Looks for what runs on the CPUs of partitions, and says what is new.
    pub(super) fn look(&mut self, found: &mut Findings, now: Duration) {
        match self.kernel.noise(&found.cpus) {
            Ok(noise) => found.noise = noise,
            Err(error) => found
                .failed
                .push(format!("interrupts and kernel threads of partitions are not known: {error}")),
        }
        let is_quiet = found.noise.is_empty() && found.unmovable.is_empty() && found.failed.is_empty();
        match found.note().filter(|_| has_news(&mut self.logged, found, now)) {
            Some(note) => {
                let interrupts = found.noise.interrupts.iter().map(ToString::to_string);
                let interrupts = interrupts.collect::<Vec<_>>().join(",");
                let kernel_threads =
                    found.noise.kernel_threads.values().cloned().collect::<Vec<_>>().join(",");
                tracing::warn!(interrupts, kernel_threads, "{note}");
            }
            None if is_quiet && self.logged.iter().next().is_some() => {
                tracing::info!("no interrupts and kernel threads are on CPUs of partitions any more");
            }
            None => {}
        }
        if is_quiet {
            self.logged = Conditions::new();
        }
    }
}

/// Whether something is new, which counts as logged then.
fn has_news(logged: &mut Conditions<Noiseless, String>, found: &Findings, now: Duration) -> bool {
    let interrupts =
        found.noise.interrupts.iter().map(|number| (Noiseless::InterruptAway, number.to_string()));
    let threads = found.noise.kernel_threads.values().map(|name| (Noiseless::ThreadAway, name.clone()));
    let unmovable = found.unmovable.keys().map(|number| (Noiseless::Movable, number.to_string()));
    let all = interrupts.chain(threads).chain(unmovable);
    let new = all.filter(|(of, on)| logged.set(*of, on.clone(), State::failed("Found", ""), now).is_some());
    new.count() > 0
}

impl Written {
    fn of(boot: &str, moved: &Moved) -> Self {
        let one = |(number, Move { home, away }): (&u32, &Move)| {
            let away = away.iter().map(ToString::to_string).collect();
            (*number, WrittenMove { home: home.to_string(), away })
        };
        Self { boot: boot.to_owned(), interrupts: moved.iter().map(one).collect() }
    }

    /// What was moved since the machine was booted.
    fn moved(&self, boot: &str) -> io::Result<Moved> {
        let cpus = |text: &String| text.parse::<CpuSet>().map_err(io::Error::other);
        let one = |(number, WrittenMove { home, away }): (&u32, &WrittenMove)| {
            Ok((*number, Move { home: cpus(home)?, away: away.iter().map(cpus).collect::<io::Result<_>>()? }))
        };
        let all = self.interrupts.iter().map(one).collect::<io::Result<Moved>>()?;
        // An unknown boot may be another one.
        Ok(if self.boot == boot && !boot.is_empty() { all } else { Moved::new() })
    }
}

#[cfg(test)]
#[path = "quiet_tests.rs"]
mod tests;
