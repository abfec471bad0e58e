//! Whose restart would be enough: the smallest of the plans that [`Admission::repack`] finds, within a few attempts.
//!
//! [`Admission::repack`]: crate::Admission::repack

use cpuset::CpuSet;
use numa_bitmask::NodeMask;

use crate::attempt::Placement;
use crate::explain::change::{Change, Move, Turn};
use crate::explain::explanation::WouldFit;
use crate::explain::trial::Trial;
use crate::node::Node;
use crate::repack::plan::{Plan, Step};
use crate::repack::search::MoveSearch;

/// An explanation makes no more attempts to find a pod that could move.
const MOST_ATTEMPTS: usize = 40;

impl Trial<'_> {
    /// One pod that could restart elsewhere on the node.
    pub(crate) fn moves(&mut self) -> Option<WouldFit> {
        let (admission, limits) = self.limited(MOST_ATTEMPTS);
        if self.is_cut() || admission.hopeless(self.refused).is_some() {
            return None;
        }
        let mut search = MoveSearch::new(admission, self.trace, limits);
        let plan = search.plan(1);
        let repack = search.end(plan, None);
        self.count(repack.attempts);
        let plan = repack.plan?;
        let placement = plan.placement(&plan.pod)?.clone();
        Some(WouldFit { change: Change::Move(self.node.moved(&plan)?), placement, plugins: plan.plugins })
    }
}

impl Node {
    /// The only move of a plan.
    fn moved(&self, plan: &Plan) -> Option<Move> {
        let pod = plan.moved.first()?;
        let mut created = plan.steps.iter().filter_map(|step| match step {
            Step::Create { pod, .. } => Some(pod),
            Step::Delete(_) => None,
        });
        let is_last = created.next_back() == Some(pod);
        let turn = if is_last { Turn::Last } else { Turn::First };
        Some(Move { pod: pod.clone(), turn, nodes: self.nodes_of_placement(plan.placement(pod)?) })
    }

    /// The nodes of a pod's merged hints and CPUs; `None`: any will do.
    fn nodes_of_placement(&self, placement: &Placement) -> Option<NodeMask> {
        let containers = || placement.containers.iter();
        let exclusive = containers().filter_map(|placed| placed.cpus.as_ref()?.exclusive());
        let cpus = exclusive.fold(CpuSet::default(), |all, cpus| &all | cpus);
        let on_nodes = self.cpus.as_ref().map_or(NodeMask::EMPTY, |policy| policy.nodes_of(&cpus));
        let hinted = containers().filter_map(|placed| placed.hint?.affinity.nodes());
        let hinted = hinted.filter(|nodes| *nodes != self.nodes.all());
        let nodes = hinted.fold(on_nodes, |all, nodes| all | nodes);
        (!nodes.is_empty()).then_some(nodes)
    }
}
