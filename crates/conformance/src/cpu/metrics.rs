//! The metrics of a CPU manager, from the changes that its decisions name.

use std::collections::{BTreeMap, BTreeSet};

use cpu_manager::{Change, Holdings, Metric};
use kubelet_release::MetricPrefix;
use serde_json::{Value, json};

use super::setup::Made;

/// Those that exist so far, by name and labels.
#[derive(Clone)]
pub(super) struct Metrics {
    /// How the release names them.
    prefix: MetricPrefix,
    values: BTreeMap<String, i64>,
    /// Values that the kubelet could have instead, since it releases in random order.
    others: BTreeMap<String, BTreeSet<i64>>,
}

impl Metrics {
    /// Those with which a manager starts; nothing ever changes those of policy `none`.
    pub(super) fn of(made: &Made, held: &Holdings, prefix: MetricPrefix) -> Self {
        let mut metrics = Self { prefix, values: BTreeMap::new(), others: BTreeMap::new() };
        match made {
            Made::Nothing(_) => metrics.apply(
                [
                    Metric::PinningRequests,
                    Metric::PinningErrors,
                    Metric::SharedPoolMillicores,
                    Metric::ExclusiveCpus,
                ]
                .map(|metric| Change::Set(metric, 0)),
            ),
            Made::Manager(manager) => metrics.apply(manager.policy.metrics_at_start(held)),
        }
        metrics
    }

    pub(super) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            match change {
                Change::Add(metric, by) => {
                    *self.values.entry(metric.named(self.prefix).to_string()).or_default() += by;
                }
                Change::Set(metric, to) => {
                    self.others.remove(&metric.named(self.prefix).to_string());
                    self.values.insert(metric.named(self.prefix).to_string(), to);
                }
            }
        }
    }

    /// The values could as well be those of `other`.
    pub(super) fn or(&mut self, other: &Self) {
        for (name, value) in &other.values {
            if self.values.get(name) != Some(value) {
                self.others.entry(name.clone()).or_default().insert(*value);
            }
        }
    }

    /// Those expected where they are as good as these.
    pub(super) fn shown(&self, expected: &Value) -> Value {
        let mut shown = self.values.clone();
        for (name, others) in &self.others {
            if let Some(value) = expected[name].as_i64().filter(|value| others.contains(value)) {
                shown.insert(name.clone(), value);
            }
        }
        json!(shown)
    }
}
