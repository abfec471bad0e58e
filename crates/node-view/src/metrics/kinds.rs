//! Labels, and a counter whose name is exported as it is.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kubelet_release::MetricPrefix;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::{MetricType, TypedMetric};
use topology_model::NodeId;

/// Reasons with which refusals are counted; others count as `Other`: the kubelet's list, and those of topolet's pod policies and
/// device links.
pub(super) const OWN_REASONS: [&str; 22] = [
    "AppArmor",
    "PodOSSelectorNodeLabelDoesNotMatch",
    "PodOSNotSupported",
    "InvalidNodeInfo",
    "InitContainerRestartPolicyForbidden",
    "SupplementalGroupsPolicyNotSupported",
    "UnexpectedAdmissionError",
    "UnknownReason",
    "UnexpectedPredicateFailureType",
    "OutOfcpu",
    "OutOfmemory",
    "OutOfephemeral-storage",
    "OutOfpods",
    "PodLevelResourcesNotSupported",
    "PodFeatureUnsupported",
    "Evicted",
    "SysctlForbidden",
    "TopologyAffinityError",
    "NodeShutdown",
    "VolumeAttachmentLimitExceeded",
    "PodPolicyError",
    "DeviceLinkError",
];

/// How the decision here on a pod that a kubelet refused compares with the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// It is refused here, for the same reason.
    Same,
    /// It is admitted here, or refused for another reason.
    Otherwise,
}

/// A counter without `_total`.
#[derive(Clone, Debug, Default)]
pub(super) struct Plain(Arc<AtomicU64>);

impl Plain {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

impl TypedMetric for Plain {
    const TYPE: MetricType = MetricType::Unknown;
}

impl EncodeMetric for Plain {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        encoder.encode_gauge(&self.0.load(Ordering::Relaxed))
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// Of aligned resources.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct Alignment {
    boundary: &'static str,
    scope: &'static str,
}

impl Alignment {
    pub(super) const fn new(scope: &'static str, boundary: &'static str) -> Self {
        Self { boundary, scope }
    }
}

/// Of refused pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct OfReason {
    reason: String,
}

impl OfReason {
    /// As the kubelet labels a reason, so that the number of labels is bounded.
    pub(super) fn new(reason: &str, own: &[&str]) -> Self {
        let reason = match reason {
            own_reason if own.contains(&own_reason) => own_reason,
            other if other.starts_with("OutOf") => "OutOfExtendedResources",
            _ => "Other",
        };
        Self { reason: reason.to_owned() }
    }
}

/// Of pods that a fault of the kubelet concerns.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct OfFate {
    fate: &'static str,
}

impl OfFate {
    pub(super) const fn new(fate: &'static str) -> Self {
        Self { fate }
    }
}

/// Of repairs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct OfCause {
    cause: &'static str,
}

impl OfCause {
    pub(super) const fn new(cause: &'static str) -> Self {
        Self { cause }
    }
}

/// Of one NUMA node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct OfNode {
    numa_node: i64,
}

impl OfNode {
    pub(super) const fn new(node: NodeId) -> Self {
        Self { numa_node: node.0 }
    }
}

/// Of one resource on one NUMA node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct OfResource {
    pub(super) numa_node: String,
    pub(super) resource: String,
}

/// Of allocations by a manager.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct Allocation {
    resource_name: &'static str,
    source: String,
}

impl Allocation {
    pub(super) fn new(resource_name: &'static str, source: &str) -> Self {
        Self { resource_name, source: source.to_owned() }
    }
}

/// Of what containers were assigned.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct Assignment {
    assignment_type: &'static str,
    resource_name: &'static str,
}

impl Assignment {
    pub(super) const fn new(resource_name: &'static str, assignment_type: &'static str) -> Self {
        Self { assignment_type, resource_name }
    }
}

/// How many containers were assigned what, under the name that a release gives it.
#[derive(Clone, Debug)]
pub(super) enum Assignments {
    /// Without `_total`.
    Bare(Family<Assignment, Plain>),
    /// With it, and with the prefix of the kubelet.
    Total(Family<Assignment, Counter>),
}

impl Assignments {
    pub(super) fn named(prefix: MetricPrefix) -> Self {
        match prefix {
            MetricPrefix::Bare => Self::Bare(Family::default()),
            MetricPrefix::Kubelet => Self::Total(Family::default()),
        }
    }

    pub(super) fn add(&self, labels: &Assignment, more: u64) {
        match self {
            Self::Bare(family) => family.get_or_create(labels).add(more),
            Self::Total(family) => {
                family.get_or_create(labels).inc_by(more);
            }
        }
    }
}
