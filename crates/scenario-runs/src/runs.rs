//! Runs every configuration of a scenario as often as it says, on all cores, and bounds what each run could have admitted.

use node_simulation::{Decision, Fleet, Limits, Observer, Outcome};

use crate::cores;
use crate::prepare::{Prepared, PreparedConfiguration};

/// A finished run of one configuration.
#[derive(Clone, Debug)]
pub struct Done {
    /// What happened to its pods.
    pub outcome: Outcome,
    /// The bound: no placement could have admitted more pods, had it known all of them before. `None`: unknown.
    pub at_most: Option<u64>,
}

/// Learns how far the runs are, and can end them.
pub trait RunWatcher: Sync {
    /// `pods` more pods have been decided on, in any run.
    fn more(&self, pods: u64);

    /// Whether all runs are to end early, since their outcome is no longer needed.
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs everything on all cores. The result has one list for each configuration, with its runs in order. `watcher` is called
/// after every hundred pods of a run, and can end all runs early; the bounds of such runs are unknown.
#[must_use]
pub fn run(prepared: &Prepared, watcher: &dyn RunWatcher) -> Vec<Vec<Done>> {
    let (configurations, runs) = (&prepared.configurations, prepared.runs());
    let fleets: Vec<Fleet<'_>> =
        configurations.iter().map(|configuration| prepared.fleet(configuration)).collect();
    let jobs: Vec<(usize, u32)> =
        (0..fleets.len()).flat_map(|configuration| (0..runs).map(move |run| (configuration, run))).collect();
    let outcomes: Vec<Outcome> = cores::map(&jobs, |&(configuration, run)| {
        let mut counter = Counter { watcher, uncounted: 0 };
        let (fleet, templates) = (&fleets[configuration], &configurations[configuration].templates);
        node_simulation::run(fleet, templates, &prepared.arrivals(run), &mut counter)
    });
    let by_configuration: Vec<&[Outcome]> = outcomes.chunks(runs as usize).collect();
    // Runs that ended early have no bound.
    let is_over = watcher.is_over();
    let limits_of = |(fleet, configuration): (&Fleet<'_>, &PreparedConfiguration)| {
        if is_over { None } else { Limits::new(fleet, &configuration.templates) }
    };
    let limits: Vec<Option<Limits>> = fleets.iter().zip(configurations).map(limits_of).collect();
    let numbers: Vec<u32> = (0..runs).collect();
    let bounds_by_run = cores::map(&numbers, |&run| bounds(prepared, run, &limits, &by_configuration));
    let done = |(configuration, outcomes): (usize, &&[Outcome])| {
        let bound = |run: usize| bounds_by_run.get(run).and_then(|bounds| *bounds.get(configuration)?);
        let outcomes = outcomes.iter().cloned().enumerate();
        outcomes.map(|(run, outcome)| Done { outcome, at_most: bound(run) }).collect()
    };
    by_configuration.iter().enumerate().map(done).collect()
}

/// The bound of a run under each configuration. It is worked out once for all configurations with the same limits; the more
/// pods one of them admitted, the closer it is.
fn bounds(
    prepared: &Prepared,
    run: u32,
    limits: &[Option<Limits>],
    outcomes: &[&[Outcome]],
) -> Vec<Option<u64>> {
    let mut known: Vec<(&Limits, u64)> = Vec::new();
    let mut bounds = Vec::new();
    for limit in limits {
        let Some(limit) = limit else {
            bounds.push(None);
            continue;
        };
        if let Some((_, bound)) = known.iter().find(|(other, _)| *other == limit) {
            bounds.push(Some(*bound));
            continue;
        }
        let same = limits.iter().zip(outcomes).filter(|(other, _)| other.as_ref() == Some(limit));
        let reached = same.filter_map(|(_, runs)| runs.get(run as usize)).map(Outcome::admitted).max();
        let bound = limit.at_most(&prepared.arrivals(run), reached.unwrap_or(0));
        known.push((limit, bound));
        bounds.push(Some(bound));
    }
    bounds
}

/// Counts the pods of a run, and calls the watcher for every hundred.
struct Counter<'a> {
    watcher: &'a dyn RunWatcher,
    uncounted: u64,
}

impl Observer for Counter<'_> {
    fn decided(&mut self, _: usize, _: Decision<'_>) {
        self.uncounted += 1;
        if self.uncounted == 100 {
            self.watcher.more(self.uncounted);
            self.uncounted = 0;
        }
    }

    fn is_over(&self) -> bool {
        self.watcher.is_over()
    }
}
