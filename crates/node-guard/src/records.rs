//! The threads beside the handler. One narrows containers when the kubelet's files change. On the other the runtime's records
//! follow the cgroups, one container a call; what there was no time for is done; the cgroups of all containers are looked at
//! from time to time; the report is written.
//!
//! The handler never waits for the runtime, and no thread holds the guard while it does.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use cgroup_cpuset::Kernel;
use cpuset::CpuSet;
use nri_plugin::{ContainerId, Cpus, ResourceUpdate, Stop, UpdateError, Updater, Updates};

use crate::guard::Guard;
use crate::report::Report;
use crate::sync::{Condvar, Mutex, lock};
use crate::watch::Watch;

/// How often the kubelet's files are looked at where nothing reports their changes, and the end of the program is noticed.
const TICK: Duration = Duration::from_secs(1);
/// How often all cgroups are looked at: as often as a kubelet does so by default.
const AUDIT: Duration = Duration::from_secs(10);
/// How often the report is written if nothing happens.
const REPORT: Duration = Duration::from_secs(5);
/// How soon after each other reports are written.
const SOON: Duration = Duration::from_millis(100);
/// After an update that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// The guard, between two threads.
#[derive(Debug)]
pub(crate) struct Shared<F = Kernel> {
    guard: Mutex<Guard<F>>,
    wakes: Mutex<bool>,
    woken: Condvar,
}

impl<F> Shared<F> {
    pub(crate) fn new(guard: Guard<F>) -> Self {
        Self { guard: Mutex::new(guard), wakes: Mutex::new(false), woken: Condvar::new() }
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Guard<F>) -> T) -> T {
        act(&mut lock(&self.guard))
    }

    /// There is something to do for the other thread.
    pub(crate) fn wake(&self) {
        *lock(&self.wakes) = true;
        self.woken.notify_one();
    }

    /// Waits until there is, or for a time.
    fn wait(&self, time: Duration) {
        let mut wakes = lock(&self.wakes);
        if !*wakes {
            wakes = self.woken.wait_timeout(wakes, time).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        *wakes = false;
    }
}

/// What changes records: a runtime.
pub(crate) trait Records {
    /// Changes the CPUs of a container.
    fn change(&self, id: &ContainerId, cpus: &CpuSet) -> Result<(), String>;
}

impl Records for Updater {
    fn change(&self, id: &ContainerId, cpus: &CpuSet) -> Result<(), String> {
        let cpus = Cpus::try_from(cpus.clone()).map_err(|error| error.to_string())?;
        let update = ResourceUpdate::new().cpus(cpus);
        match self.send(Updates::from_iter([(id.clone(), update)])) {
            Ok(failed) if failed.is_empty() => Ok(()),
            Ok(_) => Err("it names the container as failed".to_owned()),
            Err(UpdateError::Refused(status)) => Err(status.message),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl<F: cgroup_cpuset::Files> Shared<F> {
    /// Changes one record that has to follow. `None`: there is none; else whether the runtime did it.
    pub(crate) fn follow(&self, runtime: &impl Records) -> Option<Result<(), String>> {
        let (id, cpus) = self.with(Guard::next_record)?;
        let done = runtime.change(&id, &cpus);
        self.with(|guard| guard.recorded(&id, &cpus, done.clone()));
        Some(done)
    }
}

/// Works until the plugin ends.
pub(crate) fn run(shared: &Shared, updater: &Updater, kubelet: &Path, report: &Path, stop: &Stop) {
    let ends = || updater.has_finished() || stop.is_stopped();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut watch = Watch::new(kubelet);
            while !ends() {
                if watch.changed_within(TICK) {
                    shared.with(Guard::look);
                    shared.wake();
                }
            }
        });
        follow_all(shared, updater, report, &ends);
    });
}

fn follow_all(shared: &Shared, updater: &Updater, report: &Path, ends: &impl Fn() -> bool) {
    let mut audited = Instant::now();
    let mut last: (Instant, Option<Report>) = (Instant::now(), None);
    let mut fails = false;
    while !ends() {
        shared.with(Guard::look);
        if audited.elapsed() >= AUDIT {
            shared.with(Guard::audit);
            audited = Instant::now();
        }
        let wait = match shared.follow(updater) {
            None => TICK,
            Some(Ok(())) => Duration::ZERO,
            Some(Err(_)) => AGAIN,
        };
        if last.1.is_none() || last.0.elapsed() >= SOON {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let new = shared.with(|guard| guard.report(now));
            let is_other = last
                .1
                .as_ref()
                .is_none_or(|last| Report { written_at: new.written_at, ..last.clone() } != new);
            if is_other || last.0.elapsed() >= REPORT {
                let written = new.write(report);
                if let Err(error) = &written
                    && !fails
                {
                    tracing::warn!("the report is not written: {error}");
                }
                fails = written.is_err();
                last = (Instant::now(), Some(new));
            }
        }
        if !wait.is_zero() {
            shared.wait(wait);
        }
    }
}
