//! What a machine is imagined to have more of, as an argument: `intel.com/vf@1=8`, `cpu@0=16`, `memory@1=64Gi`.

use core::fmt;
use core::str::FromStr;

use k8s_quantity::{Amount, Quantity};
use pod_spec::ResourceName;
use thiserror::Error;
use topology_model::NodeId;

use crate::amount_text::{no_quantity, page_size, quantity, whole_units};

/// The most devices that one argument adds: a plugin's list of more does not fit a message.
const MOST_DEVICES: u64 = 65_536;

/// So much more of a resource on a NUMA node: `RESOURCE@NODE=AMOUNT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addition {
    pub(crate) what: More,
    pub(crate) node: NodeId,
}

/// An amount of a resource; above 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum More {
    /// Logical CPUs.
    Cpus(u64),
    /// Bytes beside huge pages.
    Memory(u64),
    /// Bytes of huge pages of so many bytes each, a multiple of that.
    HugePages { page: u64, bytes: u64 },
    /// Devices of a plugin.
    Devices(ResourceName, u64),
}

/// Why an argument adds nothing.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadAddition {
    /// It has no `=`.
    #[error("expected an amount, as in {0}")]
    NoAmount(String),
    /// It has no `@`.
    #[error("expected a NUMA node, as in {0}")]
    NoNode(String),
    /// What is behind `@` is no number.
    #[error("expected the number of a NUMA node behind @, found {0:?}")]
    Node(String),
    /// No machine can have more of it.
    #[error(
        "expected cpu, memory, hugepages-SIZE or a device plugin's resource such as example.com/gpu, found {0:?}"
    )]
    Resource(String),
    /// No page has that size.
    #[error("no page has {0:?}, expected a power of two such as 2Mi or 1Gi")]
    Page(String),
    /// The amount is none of the resource.
    #[error("expected {expected}, found {found:?}")]
    Amount {
        /// What an amount of the resource is, with an example.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The amount is no quantity at all.
    #[error("{}", no_quantity(.0))]
    NoQuantity(String),
    /// It is 0.
    #[error("adds nothing: expected more than 0")]
    Nothing,
    /// It is more than is counted with.
    #[error("no machine has so much: {0}")]
    TooMuch(String),
    /// It is more than a plugin can list.
    #[error("expected at most {MOST_DEVICES} devices, found {0}")]
    TooMany(u64),
}

impl FromStr for Addition {
    type Err = BadAddition;

    fn from_str(text: &str) -> Result<Self, BadAddition> {
        let (left, amount) = match text.split_once('=') {
            Some((left, amount)) => (left, Some(amount)),
            None => (text, None),
        };
        let (resource, node) = match left.rsplit_once('@') {
            Some((resource, node)) => (resource, Some(node)),
            None => (left, None),
        };
        let kind = Kind::named(resource)?;
        let Some(node) = node else {
            return Err(BadAddition::NoNode(format!("{resource}@0={}", amount.unwrap_or(kind.example()))));
        };
        let id: u32 = node.parse().map_err(|_| BadAddition::Node(node.to_owned()))?;
        let Some(amount) = amount else {
            return Err(BadAddition::NoAmount(format!("{resource}@{node}={}", kind.example())));
        };
        Ok(Self { what: kind.amount(amount)?, node: NodeId(i64::from(id)) })
    }
}

/// A resource of which machines can have more.
enum Kind {
    Cpu,
    Memory,
    HugePages { page: u64, name: String },
    Devices(ResourceName),
}

impl Kind {
    fn named(resource: &str) -> Result<Self, BadAddition> {
        if let Some(size) = resource.strip_prefix("hugepages-") {
            let page = page_size(size).ok_or_else(|| BadAddition::Page(size.to_owned()))?;
            return Ok(Self::HugePages { page, name: resource.to_owned() });
        }
        match resource {
            "cpu" => Ok(Self::Cpu),
            "memory" => Ok(Self::Memory),
            name if device_manager::is_extended_resource(name) => Ok(Self::Devices(ResourceName::new(name))),
            _ => Err(BadAddition::Resource(resource.to_owned())),
        }
    }

    const fn example(&self) -> &'static str {
        match self {
            Self::Cpu => "16",
            Self::Memory => "64Gi",
            Self::HugePages { .. } => "16Gi",
            Self::Devices(_) => "1",
        }
    }

    fn amount(self, text: &str) -> Result<More, BadAddition> {
        let wrong = |what: &str, example: &str| BadAddition::Amount {
            expected: format!("{what} such as {example}"),
            found: text.to_owned(),
        };
        if quantity(text).is_err() {
            return Err(BadAddition::NoQuantity(text.to_owned()));
        }
        let whole = whole_units(text).ok();
        let most = |amount: Quantity| amount.value() == i64::MAX;
        if whole.is_none() && text.parse().is_ok_and(most) {
            return Err(BadAddition::TooMuch(text.to_owned()));
        }
        if whole == Some(0) {
            return Err(BadAddition::Nothing);
        }
        match self {
            Self::Cpu => Ok(More::Cpus(whole.ok_or_else(|| wrong("a whole number of CPUs", "16"))?)),
            Self::Memory => Ok(More::Memory(whole.ok_or_else(|| wrong("an amount", "64Gi"))?)),
            Self::HugePages { page, name } => {
                let bytes = whole.filter(|bytes| bytes.is_multiple_of(page));
                let size = Amount::Bytes(page);
                let what = format!("an amount as pods request {name}, a multiple of {size}");
                let example = if page < 1 << 30 { "512Mi" } else { "16Gi" };
                Ok(More::HugePages { page, bytes: bytes.ok_or_else(|| wrong(&what, example))? })
            }
            Self::Devices(name) => match whole.ok_or_else(|| wrong("a whole number of devices", "8"))? {
                count if count > MOST_DEVICES => Err(BadAddition::TooMany(count)),
                count => Ok(More::Devices(name, count)),
            },
        }
    }
}

impl More {
    /// The sum of two amounts of one resource; `None`: they are of two.
    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Cpus(one), Self::Cpus(two)) => Some(Self::Cpus(one.saturating_add(*two))),
            (Self::Memory(one), Self::Memory(two)) => Some(Self::Memory(one.saturating_add(*two))),
            (Self::HugePages { page, bytes: one }, Self::HugePages { page: other, bytes: two })
                if page == other =>
            {
                Some(Self::HugePages { page: *page, bytes: one.saturating_add(*two) })
            }
            (Self::Devices(name, one), Self::Devices(other, two)) if name == other => {
                Some(Self::Devices(name.clone(), one.saturating_add(*two)))
            }
            _ => None,
        }
    }
}

/// As an argument.
impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        match &self.what {
            More::Cpus(count) => write!(f, "cpu@{node}={count}"),
            More::Memory(bytes) => write!(f, "memory@{node}={}", Amount::Bytes(*bytes)),
            More::HugePages { page, bytes } => {
                write!(f, "hugepages-{}@{node}={}", Amount::Bytes(*page), Amount::Bytes(*bytes))
            }
            More::Devices(name, count) => write!(f, "{name}@{node}={count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_of_pods() {
        for (text, shown) in [
            ("cpu@0=16", "cpu@0=16"),
            ("cpu@0=16000m", "cpu@0=16"),
            ("memory@1=64Gi", "memory@1=64Gi"),
            ("memory@1=1.5Gi", "memory@1=1.5Gi"),
            ("hugepages-1Gi@0=16Gi", "hugepages-1Gi@0=16Gi"),
            ("hugepages-1024Mi@0=16Gi", "hugepages-1Gi@0=16Gi"),
            ("hugepages-2Mi@3=1Gi", "hugepages-2Mi@3=1Gi"),
            ("intel.com/vf@1=8", "intel.com/vf@1=8"),
        ] {
            assert_eq!(text.parse::<Addition>().unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_has_one_error_with_an_example() {
        for (text, error) in [
            ("cpu@0", "expected an amount, as in cpu@0=16"),
            ("memory@1", "expected an amount, as in memory@1=64Gi"),
            ("hugepages-1Gi@1", "expected an amount, as in hugepages-1Gi@1=16Gi"),
            ("intel.com/vf@1", "expected an amount, as in intel.com/vf@1=1"),
            ("cpu", "expected a NUMA node, as in cpu@0=16"),
            ("intel.com/vf=8", "expected a NUMA node, as in intel.com/vf@0=8"),
            ("cpu@=16", "expected the number of a NUMA node behind @, found \"\""),
            ("cpu@-1=16", "expected the number of a NUMA node behind @, found \"-1\""),
            ("cpu@all=16", "expected the number of a NUMA node behind @, found \"all\""),
            (
                "",
                "expected cpu, memory, hugepages-SIZE or a device plugin's resource such as example.com/gpu, found \"\"",
            ),
            (
                "cpus@0=16",
                "expected cpu, memory, hugepages-SIZE or a device plugin's resource such as example.com/gpu, found \"cpus\"",
            ),
            ("hugepages-1gi@0=1Gi", "no page has \"1gi\", expected a power of two such as 2Mi or 1Gi"),
            ("hugepages-3Mi@0=6Mi", "no page has \"3Mi\", expected a power of two such as 2Mi or 1Gi"),
            (
                "hugepages-1Gi@0=16",
                "expected an amount as pods request hugepages-1Gi, a multiple of 1Gi such as 16Gi, found \"16\"",
            ),
            ("cpu@0=1.5", "expected a whole number of CPUs such as 16, found \"1.5\""),
            ("cpu@0=-2", "expected a whole number of CPUs such as 16, found \"-2\""),
            ("cpu@0=", "\"\" is no quantity, expected an amount such as 2, 500m or 1.5Gi"),
            ("memory@0=lots", "\"lots\" is no quantity, expected an amount such as 2, 500m or 1.5Gi"),
            ("intel.com/vf@0=0.5", "expected a whole number of devices such as 8, found \"0.5\""),
            ("intel.com/vf@0=100k", "expected at most 65536 devices, found 100000"),
            ("memory@0=8Ei", "no machine has so much: 8Ei"),
            ("cpu@0=0", "adds nothing: expected more than 0"),
            ("memory@0=0Gi", "adds nothing: expected more than 0"),
            ("intel.com/vf@0=0", "adds nothing: expected more than 0"),
        ] {
            assert_eq!(
                text.parse::<Addition>().map_err(|error| error.to_string()),
                Err(error.to_owned()),
                "{text}"
            );
        }
    }
}
