//! What is counted of the published object.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the delay in seconds: an API server answers within milliseconds, and changes wait up to a second.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 10.0, 60.0];

#[derive(Debug)]
pub(super) struct Counted {
    publications: Counter,
    failures: Counter,
    delay: Histogram,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            publications: Counter::default(),
            failures: Counter::default(),
            delay: Histogram::new(SECONDS),
        }
    }
}

impl Counted {
    /// `_total` is left out of counters' names, and added when they are written.
    pub(super) fn register(&self, to: &mut Registry) {
        to.register(
            "topolet_nrt_publications",
            "Times that the node's NodeResourceTopology was written to the API server.",
            self.publications.clone(),
        );
        to.register(
            "topolet_nrt_publication_failures",
            "Times that it could not be written, or not be watched.",
            self.failures.clone(),
        );
        to.register(
            "topolet_nrt_publication_delay_seconds",
            "Time from an admission, or another change of what pods hold, until the API server has it.",
            self.delay.clone(),
        );
    }

    pub(super) fn published(&self) {
        self.publications.inc();
    }

    pub(super) fn failed(&self) {
        self.failures.inc();
    }

    pub(super) fn delay(&self, delay: Duration) {
        self.delay.observe(delay.as_secs_f64());
    }
}
