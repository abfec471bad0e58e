//! Which of the node sets that a topology policy ranks equal a unit gets, where a placement strategy decides.
//!
//! Each strategy gives every NUMA node a score; of equal node sets the one with the smallest sum wins. Scores are worked out
//! for each unit from what is free then. A merge admits a unit under all strategies or under none; what they change is what
//! the next unit finds.
//!
//! *Keep-room* counts places. A place is room for one unit of the mix: the mix is given, or it is the units that hold
//! something on the node and the one that is being placed, each as often as it is there, and for each resource of devices
//! one unit of one device. A unit that needs `w` NUMA nodes has
//! on each the place of a `w`-th of its request. What many places of a kind are worth grows ever more slowly: `n` of them
//! `n / (n + 3)`, so the last ones count most. A node's score is the worth that is lost on the machine when the unit takes
//! its share there. Only room for a whole unit is a place; of what is left over a quarter counts, so that it
//! decides between equals. That nodes are compared by the units that would fit no more is from FGD (Weng et
//! al., USENIX ATC 2023), which counts all parts of places alike. Example: node 0 has 8 CPUs and 2 cards free,
//! node 1 has 8 CPUs; half of the mix asks for 4 CPUs and a card, half for 2 CPUs. A unit of 2 CPUs takes one
//! of eight places of its kind on either, but on node 0 also one of the two with a card: it gets node 1.

mod scores;
mod rows;
mod mix;
mod known;
mod places;
mod kinds;

pub use kinds::PodKinds;
pub(crate) use known::{Known, KnownMix};
pub(crate) use mix::Mix;
pub(crate) use rows::Rows;
pub(crate) use scores::Scoring;
