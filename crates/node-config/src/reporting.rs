//! How a kubelet registers its node and reports on it. Nothing here decides on a pod.

use alloc::string::String;
use alloc::vec::Vec;

use crate::Duration;

/// The fields of a configuration about the Node object and its Lease.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeReporting {
    /// `registerWithTaints`: taints of a Node object that the kubelet creates.
    pub register_with_taints: Vec<RegisteredTaint>,
    /// `nodeStatusUpdateFrequency`.
    pub node_status_update_frequency: Option<Duration>,
    /// `nodeStatusReportFrequency`.
    pub node_status_report_frequency: Option<Duration>,
    /// `nodeLeaseDurationSeconds`.
    pub node_lease_duration_seconds: Option<i32>,
}

/// A taint as the configuration has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegisteredTaint {
    /// `key`.
    pub key: String,
    /// `value`; may be empty.
    pub value: String,
    /// `effect`: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl NodeReporting {
    /// How often the node is looked at for changes, by default 10 s.
    #[must_use]
    pub fn status_update_period(&self) -> core::time::Duration {
        written(self.node_status_update_frequency).unwrap_or(Duration::from_seconds(10)).span()
    }

    /// How often the status is sent though nothing has changed: by default as often as the node is looked at if the
    /// configuration says how often that is, else every 5 minutes.
    #[must_use]
    pub fn status_report_period(&self) -> core::time::Duration {
        self.report_frequency().span()
    }

    /// `nodeStatusReportFrequency` with its default.
    pub(crate) fn report_frequency(&self) -> Duration {
        let own = written(self.node_status_report_frequency).or(written(self.node_status_update_frequency));
        own.unwrap_or(Duration::from_seconds(300))
    }

    /// How long the Lease is valid, by default 40 s.
    #[must_use]
    pub fn lease_duration(&self) -> core::time::Duration {
        let seconds = self.node_lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        core::time::Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(40))
    }

    /// How often the Lease is renewed: four times as often as need be.
    #[must_use]
    pub fn lease_renewal_period(&self) -> core::time::Duration {
        self.lease_duration() / 4
    }
}

/// No time at all is an unwritten one.
fn written(field: Option<Duration>) -> Option<Duration> {
    field.filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_those_of_the_kubelet() {
        let seconds = |seconds: Option<i32>| seconds.map(Duration::from_seconds);
        for (update, report, lease, expected) in [
            (None, None, None, (10, 300, 40, 10)),
            (Some(0), Some(0), Some(0), (10, 300, 40, 10)),
            (Some(4), None, Some(20), (4, 4, 20, 5)),
            (Some(4), Some(60), None, (4, 60, 40, 10)),
            (None, Some(60), None, (10, 60, 40, 10)),
        ] {
            let reporting = NodeReporting {
                node_status_update_frequency: seconds(update),
                node_status_report_frequency: seconds(report),
                node_lease_duration_seconds: lease,
                ..NodeReporting::default()
            };
            let periods = (
                reporting.status_update_period().as_secs(),
                reporting.status_report_period().as_secs(),
                reporting.lease_duration().as_secs(),
                reporting.lease_renewal_period().as_secs(),
            );
            assert_eq!(periods, expected, "{update:?} {report:?} {lease:?}");
        }
    }
}
