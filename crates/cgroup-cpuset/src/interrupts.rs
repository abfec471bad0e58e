//! What runs on the CPUs of a partition all the same: interrupts, which cgroups do not keep away, and kernel threads.
//!
//! `/proc/irq/N/smp_affinity_list` has the CPUs that may serve interrupt N, and `effective_affinity_list` those that do.
//! The kernel does not let all of them be chosen: it places managed interrupts, such as those of NVMe queues, and those
//! of one CPU by itself. Interrupts without a number there, such as a CPU's own timer, belong to their CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cpuset::{CpuId, CpuSet};

use crate::files::{Files, is_gone};

/// Everything that the kernel starts by itself is a child of this process.
const KTHREADD: &str = "2";
/// The fields of `/proc/PID/stat` after the name: the parent, and the CPU that it ran on last.
const PARENT: usize = 1;
const LAST_CPU: usize = 36;

/// Interrupts and kernel threads of a kernel, by its `/proc`.
#[derive(Clone, Debug)]
pub struct Interrupts<F> {
    files: F,
    proc: PathBuf,
    /// Interrupts that went elsewhere than was written, or nowhere.
    stuck: BTreeMap<u32, Stuck>,
}

/// An interrupt that is not where it was to be.
#[derive(Clone, Debug)]
struct Stuck {
    now: CpuSet,
    target: CpuSet,
    why: String,
}

/// What was found on CPUs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Noise {
    /// Interrupts with a handler that are served there, by number. One that was moved may come there once more.
    pub interrupts: BTreeSet<u32>,
    /// Kernel threads that ran there last and may again, though they could run elsewhere: names by process id, those of
    /// workers without what they work on. A thread of one CPU alone belongs there.
    pub kernel_threads: BTreeMap<u32, String>,
}

impl Noise {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.interrupts.is_empty() && self.kernel_threads.is_empty()
    }
}

/// Interrupts that were moved away, by number.
pub type Moved = BTreeMap<u32, Move>;

/// Where an interrupt was before it was moved, and where it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The CPUs that it gets back.
    pub home: CpuSet,
    /// The CPUs that were written since. Between the note of a write and the write itself there are two; with
    /// any other CPUs than these another program has moved it.
    pub away: Vec<CpuSet>,
}

impl<F: Files> Interrupts<F> {
    /// Those of the kernel whose `/proc` is here.
    pub fn new(files: F, proc: impl Into<PathBuf>) -> Self {
        Self { files, proc: proc.into(), stuck: BTreeMap::new() }
    }

    /// What is found on these CPUs. What goes away meanwhile is left out.
    ///
    /// # Errors
    /// `/proc` or its `irq` cannot be listed.
    pub fn noise(&self, cpus: &CpuSet) -> io::Result<Noise> {
        let mut noise = Noise::default();
        if cpus.is_empty() {
            return Ok(noise);
        }
        let numbers = self.numbers()?.into_iter();
        noise.interrupts = numbers.filter(|number| self.is_served(*number, cpus)).collect();
        let processes = numbered(&self.proc)?.into_iter();
        noise.kernel_threads =
            processes.filter_map(|process| Some((process, self.stray_thread(process, cpus)?))).collect();
        Ok(noise)
    }

    /// Moves interrupts away from `taken`, and those back that were moved from other CPUs before. One that has
    /// no other CPU goes to all of `others`. Where another program has moved one since, that is where it gets
    /// back to, but for `taken` again. What is to be written is given to `remember` first, so that the next
    /// program knows what was even if this one ends half-way. The interrupts that are not where they should be
    /// are returned, each with why. Such a one is written again when it or its target is another one, or after
    /// [`Interrupts::try_again`].
    ///
    /// # Errors
    /// `/proc/irq` cannot be listed, or `remember` fails.
    pub fn keep_off(
        &mut self,
        taken: &CpuSet,
        others: &CpuSet,
        moved: &mut Moved,
        mut remember: impl FnMut(&Moved) -> io::Result<()>,
    ) -> io::Result<BTreeMap<u32, String>> {
        let others = others - taken;
        let mut begun = Moved::new();
        let mut plan = Vec::new();
        let mut still_stuck = BTreeMap::new();
        for number in self.numbers()? {
            let Some(now) = self.affinity(number) else { continue };
            let own = moved.get(&number).filter(|own| own.away.contains(&now));
            let home = own.map_or_else(|| now.clone(), |own| own.home.clone());
            let target = away_from(&home, taken, &others).unwrap_or_else(|| now.clone());
            let mut away: Vec<CpuSet> = own.map(|_| now.clone()).into_iter().collect();
            let stuck = self.stuck.remove(&number).filter(|stuck| stuck.now == now && stuck.target == target);
            if let Some(stuck) = stuck {
                still_stuck.insert(number, stuck);
            } else if target != now {
                if target != home {
                    away.push(target.clone());
                }
                plan.push((number, now, target));
            }
            if !away.is_empty() {
                begun.insert(number, Move { home, away });
            }
        }
        self.stuck = still_stuck;
        if begun != *moved {
            remember(&begun)?;
        }
        let mut done = begun.clone();
        for (number, before, target) in plan {
            let now = self.write(number, &before, &target);
            // Where it is at home again, or gone, nothing is to be remembered.
            let left = now.filter(|now| done.get(&number).is_some_and(|own| own.home != *now));
            match (left, done.get_mut(&number)) {
                (Some(now), Some(own)) => own.away = vec![now],
                _ => drop(done.remove(&number)),
            }
        }
        moved.clone_from(&done);
        if done != begun {
            remember(&done)?;
        }
        Ok(self.stuck.iter().map(|(number, stuck)| (*number, stuck.why.clone())).collect())
    }

    /// Interrupts that did not go where they should are written once more the next time.
    pub fn try_again(&mut self) {
        self.stuck.clear();
    }

    /// Where an interrupt is after a write, which the kernel may refuse; `None`: it is gone.
    fn write(&mut self, number: u32, before: &CpuSet, target: &CpuSet) -> Option<CpuSet> {
        let path = self.proc.join(format!("irq/{number}/smp_affinity_list"));
        let (now, why) = match self.files.write(&path, &target.to_string()) {
            // Some controllers make something else of it.
            Ok(()) => {
                let now = self.affinity(number)?;
                let why = format!("{} is {now} after {target} was written", path.display());
                (now, why)
            }
            Err(error) if is_gone(&error) => return None,
            Err(error) => {
                (before.clone(), format!("failed to write \"{target}\" to {}: {error}", path.display()))
            }
        };
        if now != *target {
            self.stuck.insert(number, Stuck { now: now.clone(), target: target.clone(), why });
        }
        Some(now)
    }

    fn numbers(&self) -> io::Result<Vec<u32>> {
        let mut numbers = numbered(&self.proc.join("irq"))?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn affinity(&self, number: u32) -> Option<CpuSet> {
        self.list(number, "smp_affinity_list")
    }

    fn list(&self, number: u32, file: &str) -> Option<CpuSet> {
        let text = self.files.read(&self.proc.join(format!("irq/{number}/{file}"))).ok()?;
        CpuSet::from_kernel_list(&text).ok()
    }

    fn is_served(&self, number: u32, cpus: &CpuSet) -> bool {
        let is_here = |list: Option<CpuSet>| list.is_some_and(|list| !list.is_disjoint(cpus));
        // Some architectures have no file for what is in effect. It is empty while no driver uses the
        // interrupt. Where the controller cannot be set before, it changes only when the interrupt comes next.
        let effective = self.list(number, "effective_affinity_list");
        is_here(self.affinity(number))
            && effective.is_none_or(|list| is_here(Some(list)))
            && self.has_handler(number)
    }

    /// Handlers are folders with the names of their drivers.
    fn has_handler(&self, number: u32) -> bool {
        let Ok(entries) = fs::read_dir(self.proc.join(format!("irq/{number}"))) else { return false };
        entries.flatten().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    }

    /// The name of a kernel thread that ran on these CPUs, and may again but need not.
    fn stray_thread(&self, process: u32, cpus: &CpuSet) -> Option<String> {
        let folder = self.proc.join(process.to_string());
        let stat = self.files.read(&folder.join("stat")).ok()?;
        // A name may have brackets and blanks in it.
        let (front, back) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = back.split_whitespace().collect();
        let last = CpuId::new(fields.get(LAST_CPU)?.parse().ok()?).ok()?;
        if *fields.get(PARENT)? != KTHREADD || !cpus.contains(last) {
            return None;
        }
        let status = self.files.read(&folder.join("status")).ok()?;
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let allowed = CpuSet::from_kernel_list(allowed.trim()).ok()?;
        let name = front.split_once('(')?.1;
        (allowed.len() > 1 && allowed.contains(last)).then(|| without_work(name).to_owned())
    }
}

/// Where an interrupt goes whose home this is; `None`: no CPU is left for it.
fn away_from(home: &CpuSet, taken: &CpuSet, others: &CpuSet) -> Option<CpuSet> {
    if home.is_disjoint(taken) {
        return Some(home.clone());
    }
    let left = home - taken;
    if !left.is_disjoint(others) {
        return Some(left);
    }
    // CPUs that are offline serve nothing.
    (!others.is_empty()).then(|| others.clone())
}

/// The name of a kernel thread without what it works on now: the kernel puts that behind a worker's own name, as in
/// `kworker/u8:3-events_unbound`. A rescuer, such as `kworker/R-mm_percpu_wq`, has the name of its queue.
fn without_work(name: &str) -> &str {
    let is_worker = name.starts_with("kworker/") && !name.starts_with("kworker/R-");
    let end = if is_worker { name.find(['-', '+']) } else { None };
    &name[..end.unwrap_or(name.len())]
}

/// The entries of a folder whose names are numbers.
fn numbered(folder: &Path) -> io::Result<Vec<u32>> {
    let failed = |error: io::Error| {
        io::Error::new(error.kind(), format!("failed to list {}: {error}", folder.display()))
    };
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        numbers.extend(entry.map_err(failed)?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(numbers)
}

#[cfg(test)]
#[path = "interrupts_tests.rs"]
mod tests;
