//! Values of expressions while they are evaluated.

mod list;
mod map;
mod equality;
mod order;
mod arithmetic;
mod fault;
mod version;
mod number;
pub(crate) mod time;
mod network;
mod url;
mod format;

use alloc::string::{String, ToString as _};
use alloc::sync::Arc;

use k8s_quantity::Quantity;

pub(crate) use equality::Verdict;
pub(crate) use fault::{Budget, Fault};
pub(crate) use format::Format;
pub(crate) use list::List;
pub(crate) use map::{Key, Map};
pub(crate) use network::{Address, Prefix};
pub(crate) use number::double_text;
pub(crate) use time::Timestamp;
pub(crate) use url::Url;
pub(crate) use version::Version;

use crate::checker::types::{CIDR, FORMAT, IP, OPTIONAL, QUANTITY, SEMVER, URL};
use crate::syntax::expression::Literal;

/// A value. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    List(List),
    Map(Arc<Map>),
    /// A type, by the name that its values have when they are evaluated.
    Type(&'static str),
    Optional(Option<Arc<Value>>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    Quantity(Arc<Quantity>),
    /// The result of an addition or a subtraction: Kubernetes compares nothing with it.
    Computed(Arc<Quantity>),
    Version(Arc<Version>),
    Address(Address),
    Prefix(Prefix),
    Url(Arc<Url>),
    Format(&'static Format),
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::String(text.into())
    }

    pub(crate) fn none() -> Self {
        Self::Optional(None)
    }

    pub(crate) fn some(self) -> Self {
        Self::Optional(Some(Arc::new(self)))
    }

    /// The name of its type.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => OPTIONAL,
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Quantity(_) | Self::Computed(_) => QUANTITY,
            Self::Version(_) => SEMVER,
            Self::Address(_) => IP,
            Self::Prefix(_) => CIDR,
            Self::Url(_) => URL,
            Self::Format(_) => FORMAT,
        }
    }

    /// How large it is where costs depend on that: characters, bytes, elements; 1 for all others.
    pub(crate) fn size(&self) -> u64 {
        let size = match self {
            Self::String(text) if text.is_ascii() => text.len(),
            Self::String(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Address(address) => address.bytes(),
            Self::Prefix(prefix) => usize::from(prefix.length()).div_ceil(8),
            _ => 1,
        };
        u64::try_from(size).unwrap_or(u64::MAX)
    }

    /// As [`Self::size`], where cel-go looks into optional values.
    pub(crate) fn inner_size(&self) -> u64 {
        match self {
            Self::Optional(Some(inner)) => inner.inner_size(),
            _ => self.size(),
        }
    }

    /// Its text, as `string()` gives it; `None` for a value that has none.
    pub(crate) fn to_text(&self) -> Option<String> {
        Some(match self {
            Self::String(text) => text.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Uint(number) => number.to_string(),
            Self::Double(number) => double_text(*number),
            Self::Bytes(bytes) => core::str::from_utf8(bytes).ok()?.to_string(),
            Self::Duration(nanoseconds) => time::duration_text(*nanoseconds),
            Self::Timestamp(timestamp) => time::timestamp_text(*timestamp),
            Self::Address(address) => address.to_string(),
            Self::Prefix(prefix) => prefix.to_string(),
            Self::Type(name) => (*name).to_string(),
            _ => return None,
        })
    }

    /// As errors name a key or an index.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::String(text) => String::from(&**text),
            _ => self.to_text().unwrap_or_else(|| self.type_name().into()),
        }
    }
}

impl From<&Literal> for Value {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Uint(value) => Self::Uint(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::String(value) => Self::String(value.clone()),
            Literal::Bytes(value) => Self::Bytes(value.clone()),
        }
    }
}
