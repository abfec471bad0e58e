//! What kind of thing a resource is.

use alloc::string::String;
use core::fmt;

use k8s_quantity::Amount;
use pod_spec::ResourceName;
use serde::{Serialize, Serializer};
use topology_admission::{ResourceTrace, RowKind};

/// A resource by its kind. Shown and serialized as its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Resource {
    /// `cpu`.
    Cpu,
    /// `memory`.
    Memory,
    /// One size of huge pages: `hugepages-1Gi`.
    HugePages(ResourceName),
    /// What device plugins and other parties outside of Kubernetes offer: `nvidia.com/gpu`.
    Extended(ResourceName),
    /// Devices of claims, which have been allocated: `claim gpu`.
    Claims(ResourceName),
    /// Anything else of Kubernetes' own: `ephemeral-storage`, `pods`.
    Other(ResourceName),
}

impl Resource {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::HugePages(name) | Self::Extended(name) | Self::Claims(name) | Self::Other(name) => {
                name.as_str()
            }
        }
    }

    /// So much of it as a person reads it: bytes of memory and huge pages in binary units, all else as a count.
    #[must_use]
    pub const fn amount(&self, value: u64) -> Amount {
        match self {
            Self::Memory | Self::HugePages(_) => Amount::Bytes(value),
            Self::Cpu | Self::Extended(_) | Self::Claims(_) | Self::Other(_) => Amount::Count(value),
        }
    }

    /// The same of amounts that are compared: different ones are different texts.
    #[must_use]
    pub fn compared<const N: usize>(&self, values: [u64; N]) -> [String; N] {
        Amount::told_apart(values.map(|value| self.amount(value)))
    }

    /// An amount with its noun: `92 CPUs`, `16Gi of memory`, `8 of nvidia.com/gpu`.
    #[must_use]
    pub(crate) fn counted(&self, amount: &str) -> String {
        match self {
            Self::Cpu if amount == "1" => String::from("1 CPU"),
            Self::Cpu => alloc::format!("{amount} CPUs"),
            Self::Claims(_) if amount == "1" => alloc::format!("1 device of {self}"),
            Self::Claims(_) => alloc::format!("{amount} devices of {self}"),
            other => alloc::format!("{amount} of {other}"),
        }
    }

    /// Whether the memory manager allocates it.
    #[must_use]
    pub const fn is_memory(&self) -> bool {
        matches!(self, Self::Memory | Self::HugePages(_))
    }
}

impl From<&ResourceName> for Resource {
    fn from(name: &ResourceName) -> Self {
        match name.as_str() {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            _ if name.is_hugepages() => Self::HugePages(name.clone()),
            text if text.contains('/') => Self::Extended(name.clone()),
            _ => Self::Other(name.clone()),
        }
    }
}

impl From<&ResourceTrace> for Resource {
    fn from(row: &ResourceTrace) -> Self {
        match row.kind {
            RowKind::Claims => Self::Claims(row.resource.clone()),
            RowKind::Resource => Self::from(&row.resource),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Resource {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Resource".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
