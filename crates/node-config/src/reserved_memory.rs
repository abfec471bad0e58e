//! Memory kept back on NUMA nodes: `reservedMemory` of the file and the flag `--reserved-memory`.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use cpuset::go_atoi;
use k8s_quantity::Quantity;
use kubelet_release::FlagTexts;
use thiserror::Error;

/// Memory kept back on one NUMA node.
#[derive(Clone, PartialEq, Debug)]
pub struct ReservedMemory {
    /// Id of the node; any number.
    pub numa_node: i32,
    /// How much of `memory` and of each huge page size, by resource name.
    pub limits: BTreeMap<String, Quantity>,
}

/// Why a value of `--reserved-memory` cannot be read. The texts are the kubelet's from 1.35 on; [`text`](Self::text) has
/// those of each release.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReservedMemoryFlagError {
    /// Not one colon between node and amounts.
    #[error(
        "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got {0}"
    )]
    Group(String),
    /// No integer before the colon.
    #[error("failed to convert the NUMA node ID, expected integer, got {0}")]
    Node(String),
    /// Not one equals sign between resource and amount.
    #[error("the reserved limit has incorrect value, expected type=quantity, got {0}")]
    Limit(String),
    /// Neither memory nor huge pages.
    #[error("memory type conversion error, unknown type: \"{0}\"")]
    Type(String),
    /// No quantity after the equals sign.
    #[error("failed to parse the quantity: {0}")]
    Quantity(String),
    /// Another value after an empty one.
    #[error("no target (nil pointer to *[]MemoryReservation)")]
    AfterEmpty,
}

impl ReservedMemoryFlagError {
    /// The text as a release spells it.
    #[must_use]
    pub fn text(&self, texts: FlagTexts) -> String {
        match (texts, self) {
            (FlagTexts::Misspelt, Self::Node(text)) => {
                format!("failed to convert the NUMA node ID, exptected integer, got {text}")
            }
            (FlagTexts::Misspelt, Self::Limit(text)) => {
                format!("the reserved limit has incorrect value, expected type=quantatity, got {text}")
            }
            (FlagTexts::Misspelt, Self::Quantity(text)) => {
                format!("failed to parse the quantatity, expected quantatity, got {text}")
            }
            (FlagTexts::Misspelt, Self::AfterEmpty) => {
                "no target (nil pointer to *[]MemoryReservation".to_owned()
            }
            (FlagTexts::Misspelt | FlagTexts::Spelt, error) => error.to_string(),
        }
    }
}

/// Whether memory of this name can be reserved: `memory`, or anything that begins with `hugepages-`.
pub(crate) fn is_memory(resource: &str) -> bool {
    resource == "memory" || resource.starts_with("hugepages-")
}

/// The flag `--reserved-memory` as it is being set, value after value.
///
/// Upstream an empty value stores nothing, and with it the flag loses what it refers to: it then shows nothing, and
/// any later value is refused.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReservedMemoryFlag {
    reserved: Vec<ReservedMemory>,
    target: Target,
}

/// Whether the flag still refers to its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Target {
    #[default]
    Kept,
    Lost,
}

impl ReservedMemoryFlag {
    /// Takes one more value: groups separated by `;`, each `NODE:TYPE=QUANTITY[,TYPE=QUANTITY...]`. The number of
    /// the node is cut to 32 bits, and of two amounts for one type the last counts, both as upstream.
    ///
    /// # Errors
    /// What is wrong first, from the left.
    pub fn set(&mut self, value: &str) -> Result<(), ReservedMemoryFlagError> {
        if self.target == Target::Lost {
            return Err(ReservedMemoryFlagError::AfterEmpty);
        }
        if value.is_empty() {
            self.target = Target::Lost;
            return Ok(());
        }
        for group in value.split(';') {
            self.reserved.push(ReservedMemory::parse_group(group)?);
        }
        Ok(())
    }

    /// What has been stored, in order.
    #[must_use]
    pub fn reserved(&self) -> &[ReservedMemory] {
        &self.reserved
    }
}

/// All reservations, in order of their texts.
impl fmt::Display for ReservedMemoryFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown: Vec<_> = match self.target {
            Target::Kept => self.reserved.iter().map(ToString::to_string).collect(),
            Target::Lost => Vec::new(),
        };
        shown.sort_unstable();
        f.write_str(&shown.join(","))
    }
}

impl ReservedMemory {
    fn parse_group(group: &str) -> Result<Self, ReservedMemoryFlagError> {
        use ReservedMemoryFlagError as E;
        let (node, amounts) = split_once_only(group, ':').ok_or_else(|| E::Group(group.to_owned()))?;
        let node_id = go_atoi(node).map_err(|_| E::Node(node.to_owned()))?;
        let mut limits = BTreeMap::new();
        for amount in amounts.split(',') {
            let (resource, quantity) =
                split_once_only(amount, '=').ok_or_else(|| E::Limit(amount.to_owned()))?;
            if !is_memory(resource) {
                return Err(E::Type(resource.to_owned()));
            }
            let parsed = quantity.parse::<Quantity>().map_err(|_| E::Quantity(quantity.to_owned()))?;
            limits.insert(resource.to_owned(), parsed);
        }
        Ok(Self { numa_node: truncated(node_id), limits })
    }
}

/// The two parts around the only separator.
fn split_once_only(text: &str, separator: char) -> Option<(&str, &str)> {
    text.split_once(separator).filter(|(_, rest)| !rest.contains(separator))
}

/// The low 32 bits, as Go's conversion gives them.
fn truncated(id: i64) -> i32 {
    let [a, b, c, d, ..] = id.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// As the flag is written: `NODE:TYPE=QUANTITY,...`, in order of the texts after the colon.
impl fmt::Display for ReservedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut amounts: Vec<_> =
            self.limits.iter().map(|(resource, amount)| format!("{resource}={amount}")).collect();
        amounts.sort_unstable();
        write!(f, "{}:{}", self.numa_node, amounts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_names_nodes_and_amounts() {
        for (value, read) in [
            ("", Ok("")),
            ("0:memory=1Gi", Ok("0:memory=1Gi")),
            ("0:memory=1Gi,hugepages-2Mi=2M;1:memory=2Gi", Ok("0:hugepages-2Mi=2M,memory=1Gi,1:memory=2Gi")),
            ("+1:memory=1Gi", Ok("1:memory=1Gi")),
            ("4294967296:memory=1", Ok("0:memory=1")),
            ("0:memory=1,memory=2", Ok("0:memory=2")),
            ("0:hugepages-=2Mi,hugepages-1Gi=1000m", Ok("0:hugepages-1Gi=1,hugepages-=2Mi")),
            (
                "0-memory=1",
                Err(
                    "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got 0-memory=1",
                ),
            ),
            (
                "0:memory=1;",
                Err(
                    "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ",
                ),
            ),
            ("x:memory=1", Err("failed to convert the NUMA node ID, expected integer, got x")),
            ("0:memory", Err("the reserved limit has incorrect value, expected type=quantity, got memory")),
            ("0:cpu=1", Err("memory type conversion error, unknown type: \"cpu\"")),
            ("0:memory=one", Err("failed to parse the quantity: one")),
        ] {
            let shown = set(&[value]).map(|(_, shown)| shown);
            assert_eq!(shown.as_deref().map_err(String::as_str), read, "{value}");
        }
    }

    #[test]
    fn the_flag_may_be_set_again_unless_a_value_was_empty() {
        for (values, read) in [
            (&[][..], Ok((0, ""))),
            (&["1:memory=1Gi", "0:memory=1Gi"], Ok((2, "0:memory=1Gi,1:memory=1Gi"))),
            (&["0:memory=1Gi", ""], Ok((1, ""))),
            (&["", "0:memory=1Gi"], Err("no target (nil pointer to *[]MemoryReservation)")),
            (&["", ""], Err("no target (nil pointer to *[]MemoryReservation)")),
            (&["x:memory=1", ""], Err("failed to convert the NUMA node ID, expected integer, got x")),
        ] {
            let shown = set(values);
            let shown = shown.as_ref().map(|(stored, shown)| (*stored, shown.as_str()));
            assert_eq!(shown.map_err(String::as_str), read, "{values:?}");
        }
    }

    fn set(values: &[&str]) -> Result<(usize, String), String> {
        let mut flag = ReservedMemoryFlag::default();
        for value in values {
            flag.set(value).map_err(|error| error.to_string())?;
        }
        Ok((flag.reserved().len(), flag.to_string()))
    }
}
