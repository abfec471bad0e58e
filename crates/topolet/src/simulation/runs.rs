//! Every run of every configuration with the bound of each, on all cores, with a bar that tells how far they are.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use node_simulation::{Decision, Fleet, Observer, Outcome};
use rayon::prelude::*;

use super::Prepared;

/// One run of one configuration.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// How many pods any placement could admit at most; `None`: unknown.
    pub(crate) at_most: Option<u64>,
}

/// What came of each run, by configuration and number of the run.
pub(crate) fn run(prepared: &Prepared) -> Vec<Vec<Done>> {
    let (configurations, runs) = (&prepared.configurations, prepared.runs);
    let all = configurations.len() as u64 * u64::from(runs) * prepared.pods() as u64;
    let bar = bar(all);
    let fleets: Vec<Fleet<'_>> = configurations.iter().map(|own| prepared.fleet(own)).collect();
    let jobs: Vec<(usize, u32)> =
        (0..fleets.len()).flat_map(|configuration| (0..runs).map(move |run| (configuration, run))).collect();
    let done = jobs.into_par_iter().map(|(configuration, run)| {
        let mut counter = Counter { bar: &bar, not_told: 0 };
        let arrivals = prepared.arrivals(run);
        let (fleet, templates) = (&fleets[configuration], &configurations[configuration].templates);
        let outcome = node_simulation::run(fleet, templates, &arrivals, &mut counter);
        let at_most = node_simulation::at_most(fleet, templates, &arrivals, outcome.admitted());
        Done { outcome, at_most }
    });
    // In the order of the jobs, whichever was done first.
    let done: Vec<Done> = done.collect();
    bar.finish_and_clear();
    done.chunks(runs as usize).map(<[Done]>::to_vec).collect()
}

/// A bar on standard error, if that is a terminal.
fn bar(pods: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(pods), ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} pods, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Tells the bar now and then.
struct Counter<'a> {
    bar: &'a ProgressBar,
    not_told: u64,
}

impl Observer for Counter<'_> {
    fn decided(&mut self, _: usize, _: Decision<'_>) {
        self.not_told += 1;
        if self.not_told == 100 {
            self.bar.inc(self.not_told);
            self.not_told = 0;
        }
    }
}
