//! Hints as cases write them: in node ids.

use numa_bitmask::NodeIndex;
use serde_json::Value;
use topology_hint::{Affinity, Answers, ForeignNodes, Hint, ListedHint, Preference};
use topology_model::{NodeId, Nodes};

use crate::case::numbers;

pub(super) fn push(answers: &mut Answers, resource: &str, list: &Value, nodes: &Nodes) {
    match list.as_array() {
        None => answers.push_no_opinion(resource),
        Some(hints) => answers.push_list(resource, hints.iter().map(|hint| listed(hint, nodes))),
    }
}

/// A hint in node ids as one in positions, with what the machine lacks beside it.
pub(super) fn listed(hint: &Value, nodes: &Nodes) -> ListedHint {
    let preferred = hint["preferred"].as_bool() == Some(true);
    let preference = if preferred { Preference::Preferred } else { Preference::Acceptable };
    if hint["mask"].is_null() {
        return Hint { affinity: Affinity::Any, preference }.into();
    }
    let ids = numbers(&hint["mask"]);
    let own = nodes.mask_of(ids.iter().copied().map(NodeId));
    let lacking = ids.iter().filter(|id| nodes.index_of(NodeId(**id)).is_none());
    let foreign =
        lacking.filter_map(|id| NodeIndex::try_from(*id).ok()).fold(0, |all, bit| all | 1 << bit.get());
    ListedHint { hint: Hint { affinity: Affinity::Nodes(own), preference }, foreign: ForeignNodes(foreign) }
}
