//! How the QoS class of a pod is worked out.

use k8s_quantity::{Format, Quantity, Sign};
use kubelet_release::QosBy;

use crate::{EmptyPodResources, Pod, PodLevelResources, PodResources, PodRules, QosClass, ResourceList};

/// The two resources that decide the class.
const DECIDING: [&str; 2] = ["cpu", "memory"];

impl Pod {
    /// The class: that of the pod's status if it is set, else computed.
    ///
    /// With `spec.resources` present the containers are not looked at. Where it is empty, releases differ
    /// ([`EmptyPodResources`]). Otherwise the containers decide, by their sums or one by one ([`QosBy`]): requests of
    /// 1 and 3 CPUs against limits of 2 and 2 are Guaranteed by sums, and Burstable one by one.
    #[must_use]
    pub fn qos_class(&self, rules: impl Into<PodRules>) -> QosClass {
        if let Some(class) = self.status_qos {
            return class;
        }
        let rules = rules.into();
        if let Some(resources) = self.classifying_resources(rules) {
            return class_of(rules.qos, [(&resources.requests, &resources.limits)].into_iter());
        }
        class_of(rules.qos, self.containers.iter().map(|container| (&container.requests, &container.limits)))
    }

    /// The pod-level resources, if they decide the class and not the containers.
    pub(crate) fn classifying_resources(&self, rules: PodRules) -> Option<&PodResources> {
        let is_empty = match rules.empty {
            EmptyPodResources::BestEffort => false,
            EmptyPodResources::NoClass => !self.has_pod_level_resources(),
        };
        let counts = rules.pod_level == PodLevelResources::Count && !is_empty;
        self.resources.as_ref().filter(|_| counts)
    }
}

/// Requests and limits of a pod or of a container.
type Part<'a> = (&'a ResourceList, &'a ResourceList);

fn class_of<'a>(by: QosBy, parts: impl Iterator<Item = Part<'a>> + Clone) -> QosClass {
    match by {
        QosBy::Sums => class_of_sums(parts),
        QosBy::Containers => class_of_each(parts),
    }
}

fn class_of_sums<'a>(parts: impl Iterator<Item = Part<'a>> + Clone) -> QosClass {
    // Where each part has equal amounts, the sums are equal: most pods need no sums.
    let is_equal = |(requests, limits): Part<'_>| {
        DECIDING.into_iter().all(|resource| match (requests.get(resource), limits.get(resource)) {
            (Some(request), Some(limit)) => limit.sign() == Sign::Positive && request == limit,
            _ => false,
        })
    };
    if parts.clone().next().is_some() && parts.clone().all(is_equal) {
        return QosClass::Guaranteed;
    }
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

/// Parts of the same class have it together; parts of different classes are Burstable.
fn class_of_each<'a>(parts: impl Iterator<Item = Part<'a>>) -> QosClass {
    let classes = parts.flat_map(|(requests, limits)| {
        DECIDING.into_iter().map(|resource| class_of_resource(requests.get(resource), limits.get(resource)))
    });
    let mixed = |one: QosClass, other: QosClass| if one == other { one } else { QosClass::Burstable };
    classes.reduce(mixed).unwrap_or(QosClass::BestEffort)
}

/// Nothing is an amount of zero here.
fn class_of_resource(request: Option<&Quantity>, limit: Option<&Quantity>) -> QosClass {
    let zero = Quantity::default();
    let (request, limit) = (request.unwrap_or(&zero), limit.unwrap_or(&zero));
    if request != limit {
        QosClass::Burstable
    } else if request.is_zero() {
        QosClass::BestEffort
    } else {
        QosClass::Guaranteed
    }
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
