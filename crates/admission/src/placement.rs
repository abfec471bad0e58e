//! Which of the node sets that a topology policy ranks equal a unit gets, where a placement strategy decides.
//!
//! Each strategy gives every NUMA node a score; of equal node sets the one with the smallest sum wins. Scores are worked out
//! for each unit from what is free then. A merge admits a unit under all strategies or under none; what they change is what
//! the next unit finds.
//!
//! *Keep-room* counts places. A place is room for one unit of the mix, and the mix is the units that hold something on the
//! node and the one that is being placed, each as often as it is there. A unit that needs `w` NUMA nodes has on each the place of a
//! `w`-th of its request. A node's score is the number of places that are lost there when the unit takes its share of it,
//! as the fragmentation measure of FGD (Weng et al., USENIX ATC 2023) counts it for a whole machine. Example: node 0 has
//! 8 CPUs and 2 cards free, node 1 has 8 CPUs; half of the mix asks for 4 CPUs and a card, half for 2 CPUs. A unit of 2
//! CPUs takes one place of its own kind on either, but half a place of those with a card on node 0: it gets node 1.

mod scores;
mod mix;
mod places;

pub(crate) use mix::mix;
pub(crate) use scores::Scoring;
