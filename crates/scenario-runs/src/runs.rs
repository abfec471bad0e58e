//! Every run of every configuration with the bound of each, on all cores, and how far they are.

use node_simulation::{Decision, Fleet, Limits, Observer, Outcome};

use crate::cores;
use crate::prepare::Prepared;

/// One run of one configuration.
#[derive(Clone, Debug)]
pub struct Done {
    /// What became of its pods.
    pub outcome: Outcome,
    /// How many pods any placement could admit at most; `None`: unknown.
    pub at_most: Option<u64>,
}

/// What hears how far the runs are.
pub trait RunWatcher: Sync {
    /// So many more pods have been decided on.
    fn more(&self, pods: u64);

    /// Whether the outcome is not wanted any more.
    fn is_over(&self) -> bool {
        false
    }
}

/// What came of each run, by configuration and number of the run, on all cores. `watcher` hears of each hundred pods, and ends
/// the runs early if their outcome is not wanted any more.
#[must_use]
pub fn run(prepared: &Prepared, watcher: &dyn RunWatcher) -> Vec<Vec<Done>> {
    let (configurations, runs) = (&prepared.configurations, prepared.runs);
    let fleets: Vec<Fleet<'_>> = configurations.iter().map(|own| prepared.fleet(own)).collect();
    let jobs: Vec<(usize, u32)> =
        (0..fleets.len()).flat_map(|configuration| (0..runs).map(move |run| (configuration, run))).collect();
    let done: Vec<Outcome> = cores::map(&jobs, |&(configuration, run)| {
        let mut counter = Counter { watcher, waiting: 0 };
        let (fleet, templates) = (&fleets[configuration], &configurations[configuration].templates);
        node_simulation::run(fleet, templates, &prepared.arrivals(run), &mut counter)
    });
    let outcomes: Vec<&[Outcome]> = done.chunks(runs as usize).collect();
    // The bound of a part is not asked for.
    let is_over = watcher.is_over();
    let limits = fleets.iter().zip(configurations);
    let limits: Vec<Option<Limits>> =
        limits.map(|(fleet, own)| if is_over { None } else { Limits::new(fleet, &own.templates) }).collect();
    let numbers: Vec<u32> = (0..runs).collect();
    let bounds = cores::map(&numbers, |&run| bounds(prepared, run, &limits, &outcomes));
    let of = |(configuration, outcomes): (usize, &&[Outcome])| {
        let bound = |run: usize| bounds.get(run).and_then(|own| *own.get(configuration)?);
        let done = outcomes.iter().cloned().enumerate();
        done.map(|(run, outcome)| Done { outcome, at_most: bound(run) }).collect()
    };
    outcomes.iter().enumerate().map(of).collect()
}

/// The bound of a run under each configuration; those with the same limits have one.
fn bounds(
    prepared: &Prepared,
    run: u32,
    limits: &[Option<Limits>],
    outcomes: &[&[Outcome]],
) -> Vec<Option<u64>> {
    let mut known: Vec<(&Limits, u64)> = Vec::new();
    let mut bounds = Vec::new();
    for own in limits {
        let Some(own) = own else {
            bounds.push(None);
            continue;
        };
        if let Some((_, bound)) = known.iter().find(|(other, _)| *other == own) {
            bounds.push(Some(*bound));
            continue;
        }
        let same = limits.iter().zip(outcomes).filter(|(other, _)| other.as_ref() == Some(own));
        let reached = same.filter_map(|(_, runs)| runs.get(run as usize)).map(Outcome::admitted).max();
        let bound = own.at_most(&prepared.arrivals(run), reached.unwrap_or(0));
        known.push((own, bound));
        bounds.push(Some(bound));
    }
    bounds
}

/// Counts pods, and hands each hundred on.
struct Counter<'a> {
    watcher: &'a dyn RunWatcher,
    waiting: u64,
}

impl Observer for Counter<'_> {
    fn decided(&mut self, _: usize, _: Decision<'_>) {
        self.waiting += 1;
        if self.waiting == 100 {
            self.watcher.more(self.waiting);
            self.waiting = 0;
        }
    }

    fn is_over(&self) -> bool {
        self.watcher.is_over()
    }
}
