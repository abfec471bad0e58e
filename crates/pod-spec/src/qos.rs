//! The QoS class: how surely a pod gets what it asked for.

use k8s_quantity::{Format, Quantity, Sign};

use crate::{Pod, ResourceList};

/// How surely a pod gets what it asked for; only Guaranteed pods get exclusive CPUs and memory bookings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QosClass {
    /// No requests and no limits for CPU and memory.
    BestEffort,
    /// Some requests or limits.
    Burstable,
    /// Limits for CPU and memory in every container, with sums equal to those of the requests.
    Guaranteed,
}

/// Whether resources at pod level count: the feature gate `PodLevelResources`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodLevelResources {
    /// They do.
    #[default]
    Count,
    /// They are as if they were not there.
    Ignored,
}

impl QosClass {
    /// The name in a pod's status.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "BestEffort",
            Self::Burstable => "Burstable",
            Self::Guaranteed => "Guaranteed",
        }
    }
}

/// The two resources that decide the class.
const DECIDING: [&str; 2] = ["cpu", "memory"];

impl Pod {
    /// The class: that of the pod's status if it is set, else computed.
    ///
    /// With `spec.resources` present, even empty, the containers are not looked at. Otherwise sums over all
    /// containers are compared, not containers one by one: requests of 1 and 3 CPUs against limits of 2 and 2 are
    /// Guaranteed.
    #[must_use]
    pub fn qos_class(&self, pod_level: PodLevelResources) -> QosClass {
        if let Some(class) = self.status_qos {
            return class;
        }
        match (&self.resources, pod_level) {
            (Some(resources), PodLevelResources::Count) => {
                class_of([(&resources.requests, &resources.limits)])
            }
            _ => class_of(self.containers.iter().map(|container| (&container.requests, &container.limits))),
        }
    }
}

fn class_of<'a>(parts: impl IntoIterator<Item = (&'a ResourceList, &'a ResourceList)>) -> QosClass {
    // A resource is in a sum once some part has a positive amount of it.
    let mut requests = [None, None];
    let mut limits = [None, None];
    let mut all_limited = true;
    for (own_requests, own_limits) in parts {
        for (at, resource) in DECIDING.into_iter().enumerate() {
            add(&mut requests[at], own_requests.get(resource));
            all_limited &= add(&mut limits[at], own_limits.get(resource)) == Added::Yes;
        }
    }
    if requests.iter().chain(&limits).all(Option::is_none) {
        return QosClass::BestEffort;
    }
    // Equal sums of the same resources: an absent sum equals an absent one only.
    if all_limited && requests == limits { QosClass::Guaranteed } else { QosClass::Burstable }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Added {
    Yes,
    No,
}

fn add(sum: &mut Option<Quantity>, amount: Option<&Quantity>) -> Added {
    let Some(amount) = amount.filter(|amount| amount.sign() == Sign::Positive) else { return Added::No };
    *sum.get_or_insert_with(|| Quantity::from_units(0, Format::DecimalSi)) += amount;
    Added::Yes
}
