//! The reachable set of one size with the lowest number.
//!
//! The highest nodes weigh most, so each node, from the highest down, is left out if some reachable set can do
//! without it and the higher ones left out so far. The last set found is a witness: what it does not contain can
//! be left out without another search.

use numa_bitmask::NodeMask;
use topology_hint::{OutOfSteps, Steps};

use crate::closest::highest;
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
    let (mut keep, mut out) = (keep, out);
    while let Some(highest) = highest(witness - keep) {
        // Whatever is higher and not in the witness stays out.
        let above = !NodeMask::all(highest.get() + 1);
        let without = out | ((zone.room - keep) & above) | highest.into();
        match zone.find(keep, without, size, steps)? {
            Some(found) => witness = found,
            None => keep = keep.with(highest),
        }
        out = without - keep;
    }
    Ok(Some(witness))
}
