//! The reachable set of one size with the lowest number.

use node_cover::{OutOfSteps, Steps};
use numa_bitmask::NodeMask;

use crate::zone::{Zone, fill};

/// The lowest reachable set of `size` nodes; `None` if there is none, or none below `below`.
pub(crate) fn lowest(
    zone: &Zone<'_, '_>,
    size: u32,
    below: Option<NodeMask>,
    steps: &mut Steps,
) -> Result<Option<NodeMask>, OutOfSteps> {
    let floor = fill(NodeMask::EMPTY, zone.room, size);
    if floor.len() < size || below.is_some_and(|below| below <= floor) {
        return Ok(None);
    }
    if zone.reaches(floor, steps)? {
        return Ok(Some(floor));
    }
    if size == 1 {
        for node in zone.room - floor {
            if zone.reaches(node.into(), steps)? {
                return Ok(Some(node.into()));
            }
        }
        return Ok(None);
    }
    within(zone, NodeMask::EMPTY, NodeMask::EMPTY, size, steps)
}

/// The lowest reachable set of `size` nodes with all of `keep` and none of `out`.
pub(crate) fn within(
    zone: &Zone<'_, '_>,
    keep: NodeMask,
    out: NodeMask,
    size: u32,
    steps: &mut Steps,
) -> Result<Option<NodeMask>, OutOfSteps> {
    let Some(mut witness) = zone.find(keep, out, size, steps)? else { return Ok(None) };
    node_cover::lowest(zone.room, keep, out, &mut witness, |keep, out| zone.find(keep, out, size, steps))?;
    Ok(Some(witness))
}
