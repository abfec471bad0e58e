//! Kinds of `resource.k8s.io`, and the versions in which each exists.

use super::shapes::{CLAIM, CLASS, SLICE, Shape, TAINT_RULE, TEMPLATE};

pub(super) const GROUP: &str = "resource.k8s.io/";
const V1: &str = "v1";
const V1BETA2: &str = "v1beta2";
/// The version with devices and requests of another form.
pub(super) const V1BETA1: &str = "v1beta1";
/// The oldest version of `DeviceTaintRule`.
pub(super) const V1ALPHA3: &str = "v1alpha3";

/// A kind of object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Slice,
    Class,
    Claim,
    Template,
    TaintRule,
}

const KINDS: [(&str, Kind); 5] = [
    ("ResourceSlice", Kind::Slice),
    ("DeviceClass", Kind::Class),
    ("ResourceClaim", Kind::Claim),
    ("ResourceClaimTemplate", Kind::Template),
    ("DeviceTaintRule", Kind::TaintRule),
];

impl Kind {
    /// The kind of this name in the version of an `apiVersion`.
    pub(super) fn find(api_version: &str, kind: &str) -> Option<Self> {
        let kind = Self::named(kind)?;
        let version = api_version.strip_prefix(GROUP)?;
        kind.versions().contains(&version).then_some(kind)
    }

    /// The kind of this name.
    pub(super) fn named(kind: &str) -> Option<Self> {
        KINDS.into_iter().find(|(name, _)| *name == kind).map(|(_, kind)| kind)
    }

    const fn versions(self) -> &'static [&'static str] {
        match self {
            Self::Slice | Self::Class | Self::Claim | Self::Template => &[V1, V1BETA2, V1BETA1],
            Self::TaintRule => &[V1, V1BETA2, V1ALPHA3],
        }
    }

    pub(super) const fn shape(self) -> Shape {
        match self {
            Self::Slice => SLICE,
            Self::Class => CLASS,
            Self::Claim => CLAIM,
            Self::Template => TEMPLATE,
            Self::TaintRule => TAINT_RULE,
        }
    }
}
