//! Interrupts on the CPUs of partitions: counted, and with `cgroup.interrupts: move` moved away for as long as the
//! partitions are there.
//!
//! What was moved is kept in a file of the root folder, which is written first, so that interrupts get back what they
//! lost after a restart too. It counts until the machine boots: the kernel and drivers then place interrupts anew.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use cgroup_cpuset::{Cgroups, Files, Interrupts, Move, Moved, Noise};
use cpuset::CpuSet;
use node_config::CpuInterrupts;
use serde::{Deserialize, Serialize};

use super::Keeper;
use super::findings::Findings;
use super::kept_file::KeptFile;
use super::with_cause;

/// The file in the root folder.
const FILE: &str = "moved_interrupts.json";

/// Looks for what runs on CPUs of partitions, moves interrupts, and remembers them.
pub(super) struct Quiet<F> {
    kernel: Interrupts<F>,
    rule: CpuInterrupts,
    moved: Moved,
    /// This boot of the machine.
    boot: String,
    file: KeptFile,
    /// What was found last, as far as it was said.
    said: Said,
}

#[derive(Clone, PartialEq, Eq, Default)]
struct Said {
    cpus: CpuSet,
    noise: Noise,
    unmovable: usize,
    failed: Option<String>,
}

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
        let file = KeptFile::new(root, FILE);
        let moved =
            file.read(|text| serde_json::from_str::<Written>(text)?.moved(&boot))?.unwrap_or_default();
        let kernel = Interrupts::new(files, proc);
        Ok(Self { kernel, rule, moved, boot, file, said: Said::default() })
    }

    /// Whether no interrupt is to be moved back.
    pub(super) fn is_off(&self) -> bool {
        self.moved.is_empty()
    }

    /// Moves interrupts away from the CPUs of partitions, or back, and looks at what is left there. What differs from the
    /// last time is said.
    fn round(&mut self, cgroups: &Cgroups<F>, found: &mut Findings) {
        let failed = self.look(cgroups, found).err();
        let Findings { cpus, noise, unmovable, .. } = found;
        let now = Said { cpus: cpus.clone(), noise: noise.clone(), unmovable: *unmovable, failed };
        if now != self.said {
            if let Some(why) = now.failed.as_ref().filter(|why| self.said.failed.as_ref() != Some(why)) {
                tracing::error!(%cpus, "interrupts and kernel threads of partitions are not known: {why}");
            }
            let list = |numbers: &BTreeSet<u32>| {
                numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            };
            let kernel_threads = noise.kernel_threads.values().cloned().collect::<Vec<_>>().join(",");
            match found.note() {
                Some(note) => {
                    tracing::warn!(interrupts = list(&found.noise.interrupts), kernel_threads, "{note}");
                }
                None if !self.said.noise.is_empty() && now.failed.is_none() => {
                    tracing::info!("no interrupts and kernel threads are on CPUs of partitions any more");
                }
                None => {}
            }
            self.said = now;
        }
    }

    fn look(&mut self, cgroups: &Cgroups<F>, found: &mut Findings) -> Result<(), String> {
        // They are counted even if they cannot be moved.
        let moving = self.keep_off(cgroups, &found.cpus);
        found.noise =
            self.kernel.noise(&found.cpus).map_err(|error| format!("failed to look into /proc: {error}"))?;
        found.unmovable = found.noise.interrupts.intersection(&moving?).count();
        Ok(())
    }

    /// The interrupts that the kernel keeps where they are.
    fn keep_off(&mut self, cgroups: &Cgroups<F>, cpus: &CpuSet) -> Result<BTreeSet<u32>, String> {
        let none = CpuSet::new();
        let taken = match self.rule {
            CpuInterrupts::Leave => &none,
            CpuInterrupts::Move => cpus,
        };
        if taken.is_empty() && self.moved.is_empty() {
            return Ok(BTreeSet::new());
        }
        let others = cgroups.in_no_partition().map_err(|error| with_cause(&error))?;
        let remember = |moved: &Moved| self.file.write(&Written::of(&self.boot, moved));
        let moving = self.kernel.keep_off(taken, &others, &mut self.moved, remember);
        moving.map_err(|error| format!("failed to move interrupts: {error}"))
    }
}

impl<F: Files> Keeper<F> {
    /// Whether there is nothing to do for partitions, and never will be.
    pub(super) fn is_off(&self) -> bool {
        self.isolation.is_off() && self.quiet.is_off()
    }

    /// After a round: moves interrupts, and adds what runs on CPUs of partitions.
    pub(super) fn quieten(&mut self, found: &mut Findings) {
        self.quiet.round(&self.cgroups, found);
    }
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
        Ok(if self.boot == boot { all } else { Moved::new() })
    }
}

#[cfg(test)]
#[path = "quiet_tests.rs"]
mod tests;
