//! `--reserved-memory`, the text form of reservations: `0:memory=1Gi,hugepages-2Mi=4Mi;1:memory=1Gi`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;
use pod_spec::{ResourceList, ResourceName};
use thiserror::Error;
use topology_model::NodeId;

use crate::reservation::is_memory;
use crate::{Reservation, Reservations};

/// What is wrong with the text. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FlagError {
    /// A group is not a node, one colon, and a list.
    #[error(
        "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got {0}"
    )]
    Group(String),
    /// The node is no integer.
    #[error("failed to convert the NUMA node ID, expected integer, got {0}")]
    Node(String),
    /// An item is not a type, one equals sign, and a quantity.
    #[error("the reserved limit has incorrect value, expected type=quantity, got {0}")]
    Limit(String),
    /// Neither memory nor huge pages.
    #[error("memory type conversion error, unknown type: \"{0}\"")]
    Type(String),
    /// The quantity cannot be read.
    #[error("failed to parse the quantity: {0}")]
    Quantity(String),
    /// The flag is used again after an empty value.
    #[error("no target (nil pointer to *[]MemoryReservation)")]
    AfterEmpty,
}

impl Reservations {
    /// The list that the values of a repeated flag make, in order.
    ///
    /// An empty value stores nothing and makes any later use of the flag fail. A node is cut to 32 bits, and of a
    /// resource that is named twice in a group the last amount counts.
    ///
    /// ```
    /// use memory_manager::Reservations;
    ///
    /// let kept = Reservations::from_flags(["0:memory=1Gi;1:memory=512Mi", "1:hugepages-2Mi=4Mi"])?;
    /// assert_eq!(kept.to_string(), "0:memory=1Gi,1:hugepages-2Mi=4Mi,1:memory=512Mi");
    /// # Ok::<(), memory_manager::FlagError>(())
    /// ```
    pub fn from_flags<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, FlagError> {
        let mut kept = Vec::new();
        let mut was_empty = false;
        for value in values {
            if was_empty {
                return Err(FlagError::AfterEmpty);
            }
            if value.is_empty() {
                was_empty = true;
                continue;
            }
            for group in value.split(';') {
                kept.push(reservation(group)?);
            }
        }
        Ok(Self(kept))
    }
}

fn reservation(group: &str) -> Result<Reservation, FlagError> {
    let (node, limits) = pair(group, ':').ok_or_else(|| FlagError::Group(group.to_owned()))?;
    let id: i64 = node.parse().map_err(|_| FlagError::Node(node.to_owned()))?;
    let mut kept = ResourceList::new();
    for limit in limits.split(',') {
        let (resource, amount) = pair(limit, '=').ok_or_else(|| FlagError::Limit(limit.to_owned()))?;
        let name = ResourceName::new(resource);
        if !is_memory(&name) {
            return Err(FlagError::Type(resource.to_owned()));
        }
        let amount: Quantity = amount.parse().map_err(|_| FlagError::Quantity(amount.to_owned()))?;
        kept.insert(name, amount);
    }
    #[expect(clippy::cast_possible_truncation, reason = "as the kubelet, which keeps 32 bits")]
    let node = NodeId(i64::from(id as i32));
    Ok(Reservation { node, limits: kept })
}

/// The two sides of the only `separator`.
fn pair(text: &str, separator: char) -> Option<(&str, &str)> {
    text.split_once(separator).filter(|(_, rest)| !rest.contains(separator))
}
