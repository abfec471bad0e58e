//! Gauges of the devices of claims, by their drivers.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// How many devices of a driver lie where the CPUs and memory of their containers are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimDevices {
    /// The driver.
    pub driver: String,
    /// So many do.
    pub aligned: usize,
    /// So many lie elsewhere.
    pub elsewhere: usize,
    /// Of so many it is not known.
    pub unknown: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OfDriver {
    alignment: &'static str,
    driver: String,
}

#[derive(Default)]
pub(super) struct Claims(Family<OfDriver, Gauge>);

impl Claims {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register(
            "topolet_observe_claim_devices",
            "Devices of claims of containers with exclusive CPUs or bound memory, by driver and by whether they lie there; one \
             that several containers use counts for each.",
            self.0.clone(),
        );
    }

    /// Replaces all: a driver without such devices has no gauges.
    pub(super) fn set(&self, found: &[ClaimDevices]) {
        self.0.clear();
        for ClaimDevices { driver, aligned, elsewhere, unknown } in found {
            for (alignment, count) in [("aligned", aligned), ("elsewhere", elsewhere), ("unknown", unknown)] {
                let of = OfDriver { alignment, driver: driver.clone() };
                self.0.get_or_create(&of).set(i64::try_from(*count).unwrap_or(i64::MAX));
            }
        }
    }
}
