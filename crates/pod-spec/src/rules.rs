//! How a kubelet takes pods: what is filled in at pod level, and what decides the QoS class.

use kubelet_release::{DefaultedBy, QosBy, Rules};

/// Whether resources at pod level count: the feature gate `PodLevelResources`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PodLevelResources {
    /// They do.
    #[default]
    Count,
    /// They are as if they were not there.
    Ignored,
}

/// What is filled in at pod level when a pod is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PodLevelDefaults {
    /// Limits of huge pages and, where there is a limit, requests: every decoder of a pod does it.
    Requests,
    /// Limits of huge pages, requests, and limits of what every container limits. The API server does it: static pods
    /// stay as they are written.
    RequestsAndLimits,
    /// Nothing.
    Nothing,
}

/// What `spec.resources` says that names no resource for the pod as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EmptyPodResources {
    /// The pod asks for nothing, whatever its containers ask for.
    BestEffort,
    /// Nothing: the containers decide the class.
    NoClass,
}

/// How pods are read and classified, by the kubelet's release and feature gates.
///
/// [`PodLevelResources`] becomes those of the default release.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PodRules {
    /// Whether resources at pod level count.
    pub pod_level: PodLevelResources,
    /// What is filled in at pod level, if they do.
    pub defaults: PodLevelDefaults,
    /// What the QoS class is worked out from.
    pub qos: QosBy,
    /// What it means for the class if they are there and name nothing.
    pub empty: EmptyPodResources,
}

impl PodRules {
    /// Those of a release whose gates are as they are by default.
    #[must_use]
    pub const fn of(rules: &Rules, pod_level: PodLevelResources) -> Self {
        Self {
            pod_level,
            defaults: match rules.pod_level_defaults {
                DefaultedBy::Decoder => PodLevelDefaults::Requests,
                DefaultedBy::ApiServer => PodLevelDefaults::RequestsAndLimits,
            },
            qos: rules.qos,
            empty: match rules.qos {
                QosBy::Sums => EmptyPodResources::BestEffort,
                QosBy::Containers => EmptyPodResources::NoClass,
            },
        }
    }

    /// The same for manifests that a kubelet reads from files itself: what the API server alone fills in is left out.
    #[must_use]
    pub const fn of_static_pods(self) -> Self {
        match self.defaults {
            PodLevelDefaults::RequestsAndLimits => Self { defaults: PodLevelDefaults::Nothing, ..self },
            PodLevelDefaults::Requests | PodLevelDefaults::Nothing => self,
        }
    }
}

impl From<PodLevelResources> for PodRules {
    fn from(pod_level: PodLevelResources) -> Self {
        Self::of(&Rules::default(), pod_level)
    }
}

impl Default for PodRules {
    fn default() -> Self {
        PodLevelResources::default().into()
    }
}
