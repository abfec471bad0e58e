//! The metrics of a CPU manager, from the changes that its decisions name.

use std::collections::{BTreeMap, BTreeSet};

use cpu_manager::{Change, Metric};
use serde_json::{Value, json};

/// Those that exist so far, by name and labels.
#[derive(Clone, Default)]
pub(super) struct Metrics {
    values: BTreeMap<String, i64>,
    /// Values that the kubelet could have instead, since it releases in random order.
    others: BTreeMap<String, BTreeSet<i64>>,
}

impl Metrics {
    /// Those of policy `none`: nothing ever changes them.
    pub(super) fn without_policy() -> Self {
        let none = [
            Metric::PinningRequests,
            Metric::PinningErrors,
            Metric::SharedPoolMillicores,
            Metric::ExclusiveCpus,
        ];
        Self::started(none.map(|metric| Change::Set(metric, 0)))
    }

    pub(super) fn started(changes: impl IntoIterator<Item = Change>) -> Self {
        let mut metrics = Self::default();
        metrics.apply(changes);
        metrics
    }

    pub(super) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            match change {
                Change::Add(metric, by) => *self.values.entry(metric.to_string()).or_default() += by,
                Change::Set(metric, to) => {
                    self.others.remove(&metric.to_string());
                    self.values.insert(metric.to_string(), to);
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
