//! Values that JSON has as text: names, node sets, sentences.

use core::fmt::Display;

use pod_spec::Role;
use serde::{Serialize, Serializer};
use topology_admission::{OnEmptyNode, Search, Standing};
use topology_model::NodeId;

pub(crate) fn text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
pub(crate) fn some_text<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn texts<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(Text))
}

/// A value as its text.
pub(crate) struct Text<'a, T>(pub(crate) &'a T);

impl<T: Display> Serialize for Text<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// All of them as one text.
pub(crate) fn sentences<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&crate::words::joined(values, "; "))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn role<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.name())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn node<S: Serializer>(node: &NodeId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(node.0)
}

/// Whether the node alone could serve the resource.
pub(crate) fn fits<S: Serializer>(standing: &Standing, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*standing == Standing::Fits)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_unknown(on_empty_node: &OnEmptyNode) -> bool {
    *on_empty_node == OnEmptyNode::Unknown
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn fits_empty<S: Serializer>(value: &OnEmptyNode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*value == OnEmptyNode::Fits)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_complete(search: &Search) -> bool {
    *search == Search::Complete
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_cut<S: Serializer>(search: &Search, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*search == Search::Cut)
}

/// Has a type the schema of the members that it is written as.
macro_rules! written_as {
    ($whole:ty, $members:ty) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $whole {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                <$members>::schema_name()
            }

            fn schema_id() -> alloc::borrow::Cow<'static, str> {
                <$members>::schema_id()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$members>::json_schema(generator)
            }
        }
    };
}
pub(crate) use written_as;
