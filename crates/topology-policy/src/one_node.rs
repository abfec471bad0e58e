//! The preferred result where everything that is asked for fits on one node: the ordinary case, which needs no search.
//!
//! If each demanding answer (see [`preferred`](crate::preferred)) is a family that prefers sets of one node, only the
//! nodes that all of them accept alone are agreed. These are an intersection of masks, so no condition is brought into
//! the form that a search needs.

use numa_bitmask::NodeMask;
use topology_hint::{Answer, Answers, Family, Preferred};

use crate::distance::{Tie, Ties};
use crate::single::leaves_open;

/// What is known of the preferred result without a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OneNode {
    /// The tie holds the best preferred set.
    Preferred,
    /// No set is preferred.
    NothingPreferred,
    /// Sets of several nodes may be preferred, or hints are listed, or a distance is missing.
    NotHere,
}

/// Offers the nodes that all answers prefer; `tie` holds nothing yet.
pub(crate) fn merge(nodes: NodeMask, answers: &Answers, tie: &mut Tie<'_>) -> OneNode {
    let mut agreed = None;
    for (_, answer) in answers.iter().filter(|(_, answer)| !leaves_open(*answer)) {
        let own = match answer {
            Answer::Impossible => NodeMask::EMPTY,
            Answer::Family(family) if prefers_one(family) => family.single_nodes(),
            Answer::Family(_) | Answer::List(_) | Answer::NoOpinion => return OneNode::NotHere,
        };
        agreed = Some(agreed.unwrap_or(nodes) & own);
    }
    match agreed {
        None => OneNode::NotHere,
        Some(NodeMask::EMPTY) => OneNode::NothingPreferred,
        Some(agreed) => offer(agreed, tie),
    }
}

fn prefers_one(family: Family<'_>) -> bool {
    matches!(family.preferred(), Preferred::Size(1))
}

/// Offers each of `agreed`, at least one.
fn offer(agreed: NodeMask, tie: &mut Tie<'_>) -> OneNode {
    // Without distances and scores the lowest wins, and it comes first.
    let rivals = match tie.ties() {
        Ties::LowestNumber => 1,
        Ties::Closest(_) | Ties::Scored { .. } => agreed.len() as usize,
    };
    for node in agreed.iter().take(rivals) {
        if tie.offer(node.into()).is_err() {
            // The search meets the sets in another order, and says which distance it was.
            tie.forget();
            return OneNode::NotHere;
        }
    }
    OneNode::Preferred
}
