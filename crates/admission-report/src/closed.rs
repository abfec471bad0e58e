//! Why a NUMA node that has enough of a resource does not serve a unit alone.

use core::fmt;

use topology_model::NodeIds;

/// Why a node that has enough of a resource does not serve the unit alone.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Closed {
    /// CPUs that init containers left are on these nodes, and are counted first.
    HandedOn(NodeIds),
    /// Its memory is grouped with that of these nodes.
    Grouped(NodeIds),
    /// The devices are near other nodes too.
    NotNear,
    /// Its memory is used alone, and the unit needs more nodes.
    UsedAlone,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandedOn(nodes) => write!(f, "only with NUMA {nodes}"),
            Self::Grouped(nodes) => write!(f, "grouped with NUMA {nodes}"),
            Self::NotNear => f.write_str("near other nodes too"),
            Self::UsedAlone => f.write_str("used alone"),
        }
    }
}
