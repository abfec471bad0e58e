//! Runs with a bar on standard error, if that is a terminal. A build without feature `terminal` has none.

#[cfg(feature = "terminal")]
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use scenario_runs::{Done, Prepared, RunWatcher, run};

#[cfg(feature = "terminal")]
struct Bar(ProgressBar);

#[cfg(feature = "terminal")]
impl RunWatcher for Bar {
    fn more(&self, pods: u64) {
        self.0.inc(pods);
    }
}

/// As [`run`], with the bar.
#[cfg(feature = "terminal")]
pub(crate) fn run_with_bar(prepared: &Prepared) -> Vec<Vec<Done>> {
    let target = ProgressDrawTarget::stderr_with_hz(5);
    let bar = ProgressBar::with_draw_target(Some(prepared.decisions()), target);
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} pods, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let bar = Bar(bar);
    let outcomes = run(prepared, &bar);
    bar.0.finish_and_clear();
    outcomes
}

#[cfg(not(feature = "terminal"))]
struct NoBar;

#[cfg(not(feature = "terminal"))]
impl RunWatcher for NoBar {
    fn more(&self, _: u64) {}
}

/// As [`run`].
#[cfg(not(feature = "terminal"))]
pub(crate) fn run_with_bar(prepared: &Prepared) -> Vec<Vec<Done>> {
    run(prepared, &NoBar)
}
