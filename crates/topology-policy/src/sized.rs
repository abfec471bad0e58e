//! Node sets of one size, in ascending number.

use numa_bitmask::NodeMask;

/// Every subset of `room` with `size` nodes, ascending.
pub(crate) fn subsets_of_size(room: NodeMask, size: u32) -> SizedSubsets {
    let places = room.len();
    let next = if size == 0 || size > places { None } else { Some((1_u128 << size) - 1) };
    SizedSubsets { room, end: 1 << places, next }
}

/// The iterator of [`subsets_of_size`].
#[derive(Debug)]
pub(crate) struct SizedSubsets {
    room: NodeMask,
    /// The first word past the places of the room.
    end: u128,
    /// Which places of the room come next.
    next: Option<u128>,
}

impl Iterator for SizedSubsets {
    type Item = NodeMask;

    fn next(&mut self) -> Option<NodeMask> {
        let places = self.next.filter(|places| *places < self.end)?;
        // The next higher word with as many bits.
        let lowest = places & places.wrapping_neg();
        let ripple = places + lowest;
        self.next = Some(ripple | (((places ^ ripple) / lowest) >> 2));
        let chosen = self.room.iter().enumerate().filter(|(place, _)| places >> place & 1 == 1);
        Some(chosen.map(|(_, node)| node).collect())
    }
}
