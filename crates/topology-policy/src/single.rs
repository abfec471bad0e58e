//! `single-numa-node` in closed form.
//!
//! Only preferred hints count, and of those only such without a node set or with exactly one node. If some answer
//! has none left, the unit is refused. Otherwise the lowest node wins that every answer names or leaves open and
//! at least one names, or of these the one with the lowest score; without any, the unit is admitted anywhere if every answer leaves it open.

use numa_bitmask::NodeMask;
use topology_hint::{Answer, Answers, Family, Hint, Preference};

use crate::distance::Ties;
use crate::outcome::{Admit, Merged};

pub(crate) fn merge(nodes: NodeMask, ties: Ties<'_>, answers: &Answers) -> Merged {
    let refused = Merged { hint: Hint::NONE, admit: Admit::No };
    let anywhere = Merged { hint: Hint::ANY, admit: Admit::Yes };
    if nodes.is_empty() {
        return refused;
    }
    // Nodes that every answer accepts, nodes that some answer names, and whether all leave it open.
    let (mut common, mut named, mut all_open) = (nodes, NodeMask::EMPTY, true);
    for (_, answer) in answers.iter() {
        let own = singles(answer, nodes);
        let open = leaves_open(answer);
        if !open {
            common &= own;
            all_open = false;
        }
        named |= own;
    }
    let candidates = common & named;
    let best = match ties.scores() {
        None => candidates.first(),
        Some(scores) => candidates.iter().min_by_key(|node| scores.of(*node)),
    };
    match best {
        // All nodes merged into one: the kubelet stores "any".
        Some(node) if nodes == NodeMask::single(node) => anywhere,
        Some(node) => Merged { hint: Hint::on(node.into(), Preference::Preferred), admit: Admit::Yes },
        None if all_open => anywhere,
        None => refused,
    }
}

/// Whether the answer has a preferred hint without a node set.
pub(crate) fn leaves_open(answer: Answer<'_>) -> bool {
    match answer {
        Answer::NoOpinion => true,
        Answer::Impossible => false,
        Answer::Family(family) => family.any() == Some(Preference::Preferred),
        Answer::List(list) => list.iter().any(|listed| listed.hint == Hint::ANY),
    }
}

/// The nodes of the machine that the answer names alone and prefers.
fn singles(answer: Answer<'_>, nodes: NodeMask) -> NodeMask {
    match answer {
        Answer::NoOpinion | Answer::Impossible => NodeMask::EMPTY,
        Answer::Family(family) => {
            (family.single_nodes() & nodes).iter().filter(|node| prefers(family, (*node).into())).collect()
        }
        Answer::List(list) => {
            list.iter()
                .filter(|listed| listed.hint.is_preferred() && listed.width() == Some(1))
                .filter_map(|listed| listed.hint.affinity.nodes())
                .fold(NodeMask::EMPTY, |all, mask| all | mask)
                & nodes
        }
    }
}

pub(crate) fn prefers(family: Family<'_>, mask: NodeMask) -> bool {
    family.accepts(mask) == Some(Preference::Preferred)
}
