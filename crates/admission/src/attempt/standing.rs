//! How a node stands to a resource: what of a refusal is its own fault, and what another resource's.

use numa_bitmask::NodeIndex;
use pod_spec::ResourceName;

use crate::attempt::trace::{Answered, ResourceTrace, UnitTrace};

/// Whether one node alone could serve one resource of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It could.
    Fits,
    /// It has so much too little.
    Lacks(u64),
    /// It has enough, and must not serve it alone: it is bound together with other nodes, or what init containers
    /// handed on is elsewhere.
    Closed,
}

impl UnitTrace {
    /// How `node` stands to `row`, one of the unit's resources.
    #[must_use]
    pub fn standing(&self, row: &ResourceTrace, node: NodeIndex) -> Standing {
        let accepted = match row.answer {
            Answered::Sets { single, .. } => Some(single.contains(node)),
            Answered::Impossible => Some(false),
            Answered::NoOpinion => None,
        };
        let lack = row.lack(node);
        match (accepted, lack) {
            (Some(true), _) | (None, 0) => Standing::Fits,
            (_, 1..) => Standing::Lacks(lack),
            // Memory and huge pages are answered for together: where one of them lacks, all are refused.
            (Some(false), 0) if is_memory(&row.resource) && self.lacks_memory(node) => Standing::Fits,
            (Some(false), 0) => Standing::Closed,
        }
    }

    fn lacks_memory(&self, node: NodeIndex) -> bool {
        self.resources.iter().any(|row| is_memory(&row.resource) && row.lack(node) > 0)
    }
}

impl ResourceTrace {
    /// How much more is asked than the node has; what is near no node can be had with any.
    fn lack(&self, node: NodeIndex) -> u64 {
        let Some(amounts) = &self.amounts else { return 0 };
        let here = amounts.nodes.get(node.get()).map_or(0, |cell| cell.free);
        amounts.asked.saturating_sub(here.saturating_add(amounts.elsewhere.free))
    }
}

fn is_memory(resource: &ResourceName) -> bool {
    resource.as_str() == "memory" || resource.is_hugepages()
}
