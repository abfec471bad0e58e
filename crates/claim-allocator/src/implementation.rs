//! Whether a copy of the allocator has the features that are on.

use alloc::format;
use alloc::string::String;

use dra_model::{Feature, Features, Implementation};

/// Whether a copy has all the features that allocators know.
pub(crate) fn covers(implementation: Implementation, features: Features) -> bool {
    let supported = match implementation {
        Implementation::Stable => Features::STABLE,
        Implementation::Incubating => Features::INCUBATING,
        Implementation::Experimental => Features::ALL,
    };
    features.iter().all(|feature| supported.has(feature) || !Features::ALL.has(feature))
}

/// The features as Go prints them.
pub(crate) fn printed(features: Features) -> String {
    let fields = [
        ("AdminAccess", Feature::AdminAccess),
        ("CompatibilityGroups", Feature::DeviceCompatibilityGroups),
        ("ConsumableCapacity", Feature::ConsumableCapacity),
        ("DerivedAttributes", Feature::DerivedAttributes),
        ("DeviceBindingAndStatus", Feature::DeviceBindingConditions),
        ("DeviceTaints", Feature::DeviceTaints),
        ("FractionalCapacityRange", Feature::FractionalCapacityRange),
        ("ListTypeAttributes", Feature::ListTypeAttributes),
        ("OptionalNodeOperations", Feature::OptionalNodeOperations),
        ("PartitionableDevices", Feature::PartitionableDevices),
        ("PrioritizedList", Feature::PrioritizedList),
    ];
    let fields = fields.map(|(name, feature)| format!("{name}:{}", features.has(feature)));
    format!("{{{}}}", fields.join(" "))
}
