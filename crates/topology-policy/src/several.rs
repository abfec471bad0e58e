//! More than one reachable set of one size, for those who want to see the runners-up.
//!
//! The sets are split up by what the lowest one contains: those without its first node, those with the first
//! but not the second, and so on. Each part has a lowest set, and the lowest of these comes next.

use alloc::vec::Vec;

use node_cover::{OutOfSteps, Steps};
use numa_bitmask::NodeMask;

use crate::lowest;
use crate::zone::Zone;

/// The sets with all of `keep` and none of `out`, of which `lowest` is the lowest.
struct Share {
    lowest: NodeMask,
    keep: NodeMask,
    out: NodeMask,
}

/// Up to `count` reachable sets of `size` nodes, the lowest numbers first.
pub(crate) fn several(
    zone: &Zone<'_, '_>,
    size: u32,
    count: usize,
    steps: &mut Steps,
) -> Result<Vec<NodeMask>, OutOfSteps> {
    let mut shares = Vec::new();
    let mut split = |shares: &mut Vec<Share>, keep, out| -> Result<(), OutOfSteps> {
        if let Some(lowest) = lowest::within(zone, keep, out, size, steps)? {
            shares.push(Share { lowest, keep, out });
        }
        Ok(())
    };
    split(&mut shares, NodeMask::EMPTY, NodeMask::EMPTY)?;
    let mut found = Vec::new();
    while found.len() < count {
        let next = shares.iter().enumerate().min_by_key(|(_, share)| share.lowest);
        let Some((at, _)) = next else { break };
        let Share { lowest, mut keep, out } = shares.swap_remove(at);
        found.push(lowest);
        for node in lowest - keep {
            split(&mut shares, keep, out.with(node))?;
            keep = keep.with(node);
        }
    }
    Ok(found)
}
