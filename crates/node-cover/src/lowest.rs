//! Of all sets that a search can find, the one with the lowest number.
//!
//! The highest nodes weigh most, so each node, from the highest down, is left out if some set can do without it and
//! without the higher ones left out so far. The last set found is a witness: what it does not contain can be left out
//! without another search.

use numa_bitmask::NodeMask;

use crate::OutOfSteps;

/// The set with the lowest number among those of one size inside `room`. `find` is given the nodes to contain and the
/// nodes to leave out, and returns any such set. The search starts from `witness`, a set that `find` could return for
/// `keep` and `out`; each better set replaces it, so that it holds the best so far when the steps run out.
pub fn lowest(
    room: NodeMask,
    keep: NodeMask,
    out: NodeMask,
    witness: &mut NodeMask,
    mut find: impl FnMut(NodeMask, NodeMask) -> Result<Option<NodeMask>, OutOfSteps>,
) -> Result<(), OutOfSteps> {
    let (mut keep, mut out) = (keep, out);
    while let Some(highest) = (*witness - keep).last() {
        // Whatever is higher and not in the witness stays out.
        let above = !NodeMask::all(highest.get() + 1);
        let without = out | ((room - keep) & above) | highest.into();
        match find(keep, without)? {
            Some(found) => *witness = found,
            None => keep = keep.with(highest),
        }
        out = without - keep;
    }
    Ok(())
}
