//! Every run of every configuration with the bound of each, on all cores, and how far they are.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use node_daemon::Progress;
use node_simulation::{Decision, Fleet, Limits, Observer, Outcome};
use rayon::prelude::*;

use super::Prepared;

/// One run of one configuration.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// How many pods any placement could admit at most; `None`: unknown.
    pub(crate) at_most: Option<u64>,
}

/// Who is told how far the runs are.
pub(crate) trait Told: Sync {
    /// So many more pods have been decided on.
    fn more(&self, pods: u64);

    /// Whether nobody wants the outcome any more.
    fn is_over(&self) -> bool {
        false
    }
}

impl Told for Progress {
    fn more(&self, pods: u64) {
        self.add(pods);
    }

    fn is_over(&self) -> bool {
        self.is_cancelled()
    }
}

impl Told for ProgressBar {
    fn more(&self, pods: u64) {
        self.inc(pods);
    }
}

/// The same, with a bar on standard error.
pub(crate) fn run_with_bar(prepared: &Prepared) -> Vec<Vec<Done>> {
    let bar = bar(prepared.decisions());
    let outcomes = run(prepared, &bar);
    bar.finish_and_clear();
    outcomes
}

/// What came of each run, by configuration and number of the run.
pub(crate) fn run(prepared: &Prepared, told: &dyn Told) -> Vec<Vec<Done>> {
    let (configurations, runs) = (&prepared.configurations, prepared.runs);
    let fleets: Vec<Fleet<'_>> = configurations.iter().map(|own| prepared.fleet(own)).collect();
    let jobs: Vec<(usize, u32)> =
        (0..fleets.len()).flat_map(|configuration| (0..runs).map(move |run| (configuration, run))).collect();
    let done = jobs.into_par_iter().map(|(configuration, run)| {
        let mut counter = Counter { told, not_told: 0 };
        let (fleet, templates) = (&fleets[configuration], &configurations[configuration].templates);
        node_simulation::run(fleet, templates, &prepared.arrivals(run), &mut counter)
    });
    // In the order of the jobs, whichever was done first.
    let done: Vec<Outcome> = done.collect();
    let outcomes: Vec<&[Outcome]> = done.chunks(runs as usize).collect();
    // Nobody asks for the bound of a part.
    let is_over = told.is_over();
    let limits = fleets.iter().zip(configurations);
    let limits: Vec<Option<Limits>> =
        limits.map(|(fleet, own)| if is_over { None } else { Limits::new(fleet, &own.templates) }).collect();
    let bounds: Vec<Vec<Option<u64>>> =
        (0..runs).into_par_iter().map(|run| bounds(prepared, run, &limits, &outcomes)).collect();
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

/// A bar on standard error, if that is a terminal.
fn bar(pods: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(pods), ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} pods, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Tells now and then.
struct Counter<'a> {
    told: &'a dyn Told,
    not_told: u64,
}

impl Observer for Counter<'_> {
    fn decided(&mut self, _: usize, _: Decision<'_>) {
        self.not_told += 1;
        if self.not_told == 100 {
            self.told.more(self.not_told);
            self.not_told = 0;
        }
    }

    fn is_over(&self) -> bool {
        self.told.is_over()
    }
}
