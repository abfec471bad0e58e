//! Values as JSON has them.

use std::fmt::Display;

use kubelet_release::{Fault, Version};
use pod_spec::QosClass;
use serde::Serializer;

pub(crate) fn text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(crate) fn release<S: Serializer>(version: &Version, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(version.release().minor())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(crate) fn fault<S: Serializer>(fault: &Fault, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fault.id())
}

#[expect(clippy::ref_option, reason = "serde passes fields so")]
pub(crate) fn some_text<S: Serializer>(
    value: &Option<impl Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(crate) fn class<S: Serializer>(class: &QosClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.name())
}
