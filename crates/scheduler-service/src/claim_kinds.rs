//! The kinds of `resource.k8s.io` by which devices are predicted.

use cluster_node::Watched;

/// The kinds of objects by which devices are predicted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Slices,
    Classes,
    Claims,
    Templates,
    TaintRules,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Slices, Self::Classes, Self::Claims, Self::Templates, Self::TaintRules];

    /// As rules of RBAC name it.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Slices => "resourceslices",
            Self::Classes => "deviceclasses",
            Self::Claims => "resourceclaims",
            Self::Templates => "resourceclaimtemplates",
            Self::TaintRules => "devicetaintrules",
        }
    }

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Slices => "ResourceSlice",
            Self::Classes => "DeviceClass",
            Self::Claims => "ResourceClaim",
            Self::Templates => "ResourceClaimTemplate",
            Self::TaintRules => "DeviceTaintRule",
        }
    }

    /// As what an object is read: rules for taints are watched in the newest version that is served, and the oldest has all fields of the
    /// newer ones.
    pub(crate) const fn api_version(self) -> &'static str {
        match self {
            Self::TaintRules => "resource.k8s.io/v1alpha3",
            _ => "resource.k8s.io/v1",
        }
    }

    pub(crate) const fn watched(self) -> Watched {
        match self {
            Self::Slices => Watched::ResourceSlices,
            Self::Classes => Watched::DeviceClasses,
            Self::Claims => Watched::ResourceClaims,
            Self::Templates => Watched::ResourceClaimTemplates,
            Self::TaintRules => Watched::DeviceTaintRules,
        }
    }
}
