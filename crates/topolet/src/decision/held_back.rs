//! Memory that is free and cannot be had, since its nodes serve others alone or in a group; and memory that moves so
//! that a group is dissolved.

use memory_manager::{Bound, Enough, HeldBack};
use numa_bitmask::NodeMask;
use pod_spec::PodUid;
use topology_admission::{ResourceTrace, Standing, UnitTrace};

use super::{Facts, Note};
use crate::render::ranges;

/// So many pods of one group, and so many groups, are named.
const MOST_NAMED: usize = 3;

impl Facts<'_> {
    /// Where there is enough, and who is in the way.
    pub(super) fn held_back(&self) -> Option<String> {
        let HeldBack { enough, bound } = self.trace.held_back.as_ref()?;
        let (nodes, rule) = match enough {
            Enough::EachOf(nodes) => {
                let each = if nodes.len() == 1 { "" } else { " each" };
                (
                    *nodes,
                    format!(
                        "enough{each} alone, but nodes over which a pod's memory is spread are a group, and serve only requests that need them all"
                    ),
                )
            }
            Enough::Together(nodes) => {
                (*nodes, "enough together, but a node in use joins no others".to_owned())
            }
        };
        let have = if nodes.len() == 1 { "has" } else { "have" };
        let told = bound.iter().take(MOST_NAMED).map(|bound| self.bound(bound, *enough));
        let told = and_more(&told.collect::<Vec<_>>(), bound.len(), ", ");
        Some(format!("{} {have} {rule}: {told}", self.numbered(nodes)))
    }

    /// Which nodes have free memory that a unit asks for and that they do not give alone, since they are of a group;
    /// and who made the group.
    pub(super) fn bound_memory(&self, unit: &UnitTrace) -> Option<String> {
        let is_memory =
            |row: &&ResourceTrace| row.resource.as_str() == "memory" || row.resource.is_hugepages();
        let rows: Vec<&ResourceTrace> = unit.resources.iter().filter(is_memory).collect();
        let is_closed = |node| rows.iter().any(|row| unit.standing(row, node) == Standing::Closed);
        let closed: NodeMask =
            self.nodes().iter().map(|(index, _)| index).filter(|index| is_closed(*index)).collect();
        // The group can be one of this pod's own containers.
        let found = [self.before, self.ledger].map(|ledger| ledger.memory().map(|held| held.bound(closed)));
        let bound = found.into_iter().flatten().find(|bound| bound.iter().any(is_group))?;
        let groups: Vec<&Bound> = bound.iter().filter(|bound| is_group(bound)).collect();
        let told: Vec<String> =
            groups.iter().take(MOST_NAMED).map(|bound| self.bound(bound, Enough::EachOf(closed))).collect();
        let told = and_more(&told, groups.len(), ", ");
        Some(format!("{told}; memory of a group serves only requests that need all its NUMA nodes"))
    }

    /// `NUMA 1 is grouped with NUMA 0 by pod large`.
    fn bound(&self, bound: &Bound, enough: Enough) -> String {
        let wanted = match enough {
            Enough::EachOf(nodes) => bound.nodes & nodes,
            Enough::Together(_) => bound.nodes,
        };
        // Who is grouped with whom is as true the other way round.
        let partners = match bound.nodes.first() {
            Some(first) if wanted == bound.nodes => NodeMask::single(first),
            _ => bound.nodes - wanted,
        };
        let (own, how) = match bound.nodes.len() {
            1 => (bound.nodes, "used alone".to_owned()),
            _ => (bound.nodes - partners, format!("grouped with {}", self.numbered(partners))),
        };
        let is = if own.len() == 1 { "is" } else { "are" };
        let pods = match bound.pods.len() {
            0 => String::new(),
            1 => format!(" by pod {}", self.holders(&bound.pods)),
            _ => format!(" by pods {}", self.holders(&bound.pods)),
        };
        format!("{} {is} {how}{pods}", self.numbered(own))
    }

    /// Whose memory moves, so that a group that nobody needs any more is dissolved.
    pub(super) fn moved(&self) -> Option<Note> {
        let told = self.moved.iter().map(|moved| {
            let to = self.nodes().show(moved.to.into());
            let pod = self.named(&moved.pod);
            format!("{} of {pod} from NUMA {} to {to}", moved.container, self.nodes().show(moved.from))
        });
        let told: Vec<String> = told.collect();
        let text =
            format!("admitted after memory moves, since a group is not needed any more: {}", told.join(", "));
        (!told.is_empty()).then_some(Note { containers: Vec::new(), text })
    }

    fn holders(&self, pods: &[PodUid]) -> String {
        let named: Vec<String> = pods.iter().take(MOST_NAMED).map(|pod| self.named(pod)).collect();
        and_more(&named, pods.len(), " and ")
    }

    fn numbered(&self, nodes: NodeMask) -> String {
        let ids = self.nodes().ids_of(nodes).map(|id| id.0);
        format!("NUMA {}", ranges(ids))
    }
}

fn is_group(bound: &Bound) -> bool {
    bound.nodes.len() > 1
}

/// `a, b and 4 more`.
fn and_more(named: &[String], all: usize, last: &str) -> String {
    match (all - named.len(), named) {
        (0, [first @ .., end]) if !first.is_empty() => format!("{}{last}{end}", first.join(", ")),
        (0, _) => named.join(", "),
        (more, _) => format!("{} and {more} more", named.join(", ")),
    }
}
