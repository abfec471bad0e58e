//! On which CPUs threads run, every 50 ms: those of containers with shared CPUs, and the first process of exclusive ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpuset::{CpuId, CpuSet};
use serde_json::{Value, json};

use super::facts::ROOT;
use crate::machine::{json_of_line, text};

const PERIOD: Duration = Duration::from_millis(50);
/// Pods of the class Guaranteed are directly below it.
const PODS: &str = "/sys/fs/cgroup/kubepods";
/// What containers run, as the kernel names it. Before, their process is the runtime's, under several names.
const PROGRAM: &str = "busybox";

/// What was seen of a container below a pod of the class Guaranteed.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// When the kubelet's state had its pod.
    in_state: Option<Instant>,
    /// When its cgroup was there.
    has_cgroup: Option<Instant>,
    /// When its process ran its program and no longer the runtime's.
    runs: Option<Instant>,
    /// The CPUs that this process was allowed then.
    pub(super) cpus: Option<CpuSet>,
    /// Samples since then.
    samples: usize,
    /// Samples in which a thread of another container had run on one of its CPUs since the one before.
    pub(super) with_others: usize,
    /// Until when others were allowed to.
    allowed: Option<Instant>,
}

/// A thread that looks until it is ended.
pub(super) struct Sampler(Arc<AtomicBool>, JoinHandle<BTreeMap<PathBuf, Seen>>);

/// What it keeps between two looks.
struct Look {
    shared: Vec<PathBuf>,
    /// How often each thread has run.
    ran: BTreeMap<String, String>,
    state: String,
    /// When each pod came into the state.
    pods: BTreeMap<String, Instant>,
    seen: BTreeMap<PathBuf, Seen>,
}

impl Seen {
    /// Times in milliseconds.
    pub(super) fn figures(&self) -> Value {
        let between = |from: Option<Instant>, to: Option<Instant>| {
            Some(to?.saturating_duration_since(from?).as_millis())
        };
        json!({
            "stateToCgroup": between(self.in_state, self.has_cgroup),
            "stateToRun": between(self.in_state, self.runs),
            "overlap": between(self.runs, self.allowed.or(self.runs)),
            "samples": self.samples,
            "withOthers": self.with_others,
        })
    }
}

impl Sampler {
    /// `shared`: the cgroups of containers with shared CPUs.
    pub(super) fn start(shared: Vec<PathBuf>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut look = Look {
                shared,
                ran: BTreeMap::new(),
                state: String::new(),
                pods: BTreeMap::new(),
                seen: BTreeMap::new(),
            };
            while !other.load(Ordering::Relaxed) {
                look.again();
                std::thread::sleep(PERIOD);
            }
            look.seen
        });
        Self(ends, thread)
    }

    /// What it has seen, by cgroup.
    pub(super) fn end(self) -> BTreeMap<PathBuf, Seen> {
        self.0.store(true, Ordering::Relaxed);
        self.1.join().unwrap_or_default()
    }
}

impl Look {
    fn again(&mut self) {
        let now = Instant::now();
        self.look_at_state(now);
        let (ran_on, allowed) = self.of_shared();
        for group in below(Path::new(PODS)).iter().filter(|pod| is_pod(pod)).flat_map(|pod| below(pod)) {
            let pod = group.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            let in_state = self.pods.get(pod.trim_start_matches("pod")).copied();
            let seen = self.seen.entry(group.clone()).or_default();
            seen.in_state = in_state;
            seen.has_cgroup.get_or_insert(now);
            if seen.runs.is_none()
                && let Some(cpus) = first_process(&group)
            {
                (seen.runs, seen.cpus) = (Some(now), Some(cpus));
            }
            if let Some(cpus) = &seen.cpus {
                seen.samples += 1;
                seen.with_others += usize::from(!cpus.is_disjoint(&ran_on));
                if !cpus.is_disjoint(&allowed) {
                    seen.allowed = Some(now);
                }
            }
        }
    }

    fn look_at_state(&mut self, now: Instant) {
        let Ok(state) = text(Path::new(ROOT).join("cpu_manager_state")) else { return };
        if state == self.state {
            return;
        }
        let entries = json_of_line(&state).unwrap_or_default()["entries"].clone();
        for (pod, _) in entries.as_object().into_iter().flatten() {
            self.pods.entry(pod.clone()).or_insert(now);
        }
        self.state = state;
    }

    /// The CPUs on which threads have run since the look before, and those that they may run on.
    fn of_shared(&mut self) -> (CpuSet, CpuSet) {
        let (mut ran_on, mut allowed) = (CpuSet::new(), CpuSet::new());
        for group in &self.shared {
            if let Ok(has) = text(group.join("cpuset.cpus.effective")) {
                allowed |= &has.parse().unwrap_or_default();
            }
            for thread in text(group.join("cgroup.threads")).unwrap_or_default().lines() {
                // The third number is how often it was given a CPU.
                let ran = text(format!("/proc/{thread}/schedstat")).unwrap_or_default();
                if self.ran.insert(thread.to_owned(), ran.clone()).is_some_and(|before| before != ran) {
                    let stat = text(format!("/proc/{thread}/stat")).unwrap_or_default();
                    ran_on.extend(last_cpu(&stat));
                }
            }
        }
        (ran_on, allowed)
    }
}

/// The field `processor`, the 39th; the second one is in parentheses and may have blanks.
fn last_cpu(stat: &str) -> Option<CpuId> {
    let field = stat.rsplit_once(')')?.1.split_whitespace().nth(36)?;
    CpuId::new(field.parse().ok()?).ok()
}

/// The CPUs of a container's process, once it is the image's program.
fn first_process(group: &Path) -> Option<CpuSet> {
    let processes = text(group.join("cgroup.procs")).ok()?;
    let process = processes.lines().next()?;
    let is_own = text(format!("/proc/{process}/comm")).is_ok_and(|name| name == PROGRAM);
    let status = text(format!("/proc/{process}/status")).ok().filter(|_| is_own)?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    line.trim().parse().ok()
}

fn is_pod(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pod"))
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}
