//! Feature gates of DRA, as the value that everything here is asked with.

use alloc::string::{String, ToString};
use core::fmt;

/// A gate of DRA that changes validation, pools or allocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// `DRAAdminAccess`: requests may take devices that are in use.
    AdminAccess,
    /// `DRAConsumableCapacity`: several allocations of one device.
    ConsumableCapacity,
    /// `DRADerivedAttributes`: attributes of a request by expression.
    DerivedAttributes,
    /// `DRADeviceBindingConditions`, with `DRAResourceClaimDeviceStatus`: devices that are ready only after allocation.
    DeviceBindingConditions,
    /// `DRADeviceCompatibilityGroups`: which devices may draw on one counter set together.
    DeviceCompatibilityGroups,
    /// `DRADeviceTaints`: devices that only requests with a toleration get.
    DeviceTaints,
    /// `DRAExtendedResource`: classes that serve extended resources of pods.
    ExtendedResource,
    /// `DRAFractionalCapacityRange`: request policies in thousandths.
    FractionalCapacityRange,
    /// `DRAListTypeAttributes`: attributes with several values.
    ListTypeAttributes,
    /// `DRANodeAllocatableResources`: devices that take CPUs or memory of the node.
    NodeAllocatableResources,
    /// `DRAOptionalNodeOperations`: allocations that the kubelet need not prepare.
    OptionalNodeOperations,
    /// `DRAPartitionableDevices`: counters, and slices whose devices choose their nodes.
    PartitionableDevices,
    /// `DRAPartitionableDevicesType`: an attribute that names the type of a partition.
    PartitionableDevicesType,
    /// `DRAPrioritizedList`: requests with alternatives.
    PrioritizedList,
    /// `DRAWorkloadResourceClaims`: claims that pod groups share.
    WorkloadResourceClaims,
}

use Feature::{
    AdminAccess, ConsumableCapacity, DerivedAttributes, DeviceBindingConditions, DeviceCompatibilityGroups,
    DeviceTaints, ExtendedResource, FractionalCapacityRange, ListTypeAttributes, NodeAllocatableResources,
    OptionalNodeOperations, PartitionableDevices, PartitionableDevicesType, PrioritizedList,
    WorkloadResourceClaims,
};

impl Feature {
    /// All of them, by name.
    pub const ALL: [Self; 15] = [
        AdminAccess,
        ConsumableCapacity,
        DerivedAttributes,
        DeviceBindingConditions,
        DeviceCompatibilityGroups,
        DeviceTaints,
        ExtendedResource,
        FractionalCapacityRange,
        ListTypeAttributes,
        NodeAllocatableResources,
        OptionalNodeOperations,
        PartitionableDevices,
        PartitionableDevicesType,
        PrioritizedList,
        WorkloadResourceClaims,
    ];

    /// The gate's name for `--feature-gates`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AdminAccess => "DRAAdminAccess",
            ConsumableCapacity => "DRAConsumableCapacity",
            DerivedAttributes => "DRADerivedAttributes",
            DeviceBindingConditions => "DRADeviceBindingConditions",
            DeviceCompatibilityGroups => "DRADeviceCompatibilityGroups",
            DeviceTaints => "DRADeviceTaints",
            ExtendedResource => "DRAExtendedResource",
            FractionalCapacityRange => "DRAFractionalCapacityRange",
            ListTypeAttributes => "DRAListTypeAttributes",
            NodeAllocatableResources => "DRANodeAllocatableResources",
            OptionalNodeOperations => "DRAOptionalNodeOperations",
            PartitionableDevices => "DRAPartitionableDevices",
            PartitionableDevicesType => "DRAPartitionableDevicesType",
            PrioritizedList => "DRAPrioritizedList",
            WorkloadResourceClaims => "DRAWorkloadResourceClaims",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// The gates that are on.
///
/// ```
/// use dra_model::{Feature, Features};
///
/// let features = Features::DEFAULT.without(Feature::DeviceTaints);
/// assert!(!features.has(Feature::DeviceTaints) && features.has(Feature::AdminAccess));
/// assert_eq!(Features::of_names(["stable"]), Ok(Features::STABLE));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Features(u32);

impl Features {
    /// No gate of DRA but that of extended resources, which no set leaves out.
    pub const NONE: Self = Self::of(&[ExtendedResource]);
    /// What the allocator `stable` covers.
    pub const STABLE: Self =
        Self::NONE.and(&[AdminAccess, PrioritizedList, PartitionableDevices, DeviceTaints]);
    /// What components of 1.37.2 without flags have: all up to beta, but fractional ranges, which need a minimum
    /// compatibility version of 1.37.
    pub const DEFAULT: Self = Self::STABLE.and(&[ConsumableCapacity, DeviceBindingConditions]);
    /// What the allocator `incubating` covers.
    pub const INCUBATING: Self = Self::DEFAULT.and(&[FractionalCapacityRange]);
    /// What the allocator `experimental` covers: all gates that the allocator knows.
    pub const ALL: Self = Self::INCUBATING.and(&[
        DeviceCompatibilityGroups,
        DerivedAttributes,
        ListTypeAttributes,
        OptionalNodeOperations,
    ]);

    /// These alone.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Self {
        Self(0).and(features)
    }

    /// These as well.
    #[must_use]
    pub const fn and(self, features: &[Feature]) -> Self {
        let mut bits = self.0;
        let mut at = 0;
        while at < features.len() {
            bits |= features[at].bit();
            at += 1;
        }
        Self(bits)
    }

    /// All but this one.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !feature.bit())
    }

    /// Whether the gate is on.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Whether all gates of the other set are on here.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of them that the allocator knows.
    #[must_use]
    pub(crate) const fn of_allocator(self) -> Self {
        Self(self.0 & Self::ALL.0)
    }

    /// The gates that are on, by name.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.has(*feature))
    }

    /// The set of one of the words `none`, `stable`, `default`, `incubating` and `all`.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::NONE),
            "stable" => Some(Self::STABLE),
            "default" => Some(Self::DEFAULT),
            "incubating" => Some(Self::INCUBATING),
            "all" => Some(Self::ALL),
            _ => None,
        }
    }

    /// The gates of these names, or of the words of [`Self::of_word`]; no name: [`Self::DEFAULT`].
    ///
    /// # Errors
    /// [`UnknownFeature`]: a name that is neither.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownFeature> {
        let mut all = None;
        for name in names {
            let feature = Feature::ALL.into_iter().find(|feature| feature.name() == name);
            let more = feature.map(|feature| Self::of(&[feature])).or_else(|| Self::of_word(name));
            let more = more.ok_or_else(|| UnknownFeature { name: name.to_string() })?;
            all = Some(Self(all.unwrap_or(Self::NONE).0 | more.0));
        }
        Ok(all.unwrap_or(Self::DEFAULT))
    }
}

impl Default for Features {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A name that is no gate of DRA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFeature {
    /// As it was written.
    pub name: String,
}

impl fmt::Display for UnknownFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown feature {:?}", self.name)
    }
}

impl core::error::Error for UnknownFeature {}
