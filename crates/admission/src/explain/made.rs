//! A change that was tried, made: the node, its ledger and the pod as they would be.

use alloc::string::ToString as _;

use node_config::{OwnOptions, Regroup};
use numa_bitmask::NodeMask;
use pod_spec::Pod;

use crate::attempt::Verdict;
use crate::explain::asks;
use crate::explain::change::{Change, Move, Turn};
use crate::explain::other_node;
use crate::ledger::Ledger;
use crate::node::Node;

/// A node with its ledger and a pod, after a [`Change`] to one of them.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The node.
    pub node: Node,
    /// What it holds.
    pub ledger: Ledger,
    /// The pod.
    pub pod: Pod,
}

impl Node {
    /// The node with `ledger`, and `pod`, after `change`. A policy or scope is the pod's where the pod has chosen one, else
    /// the node's.
    ///
    /// `None`: the change cannot be made there, such as more devices of a resource that no plugin has registered. A change
    /// that an explanation lists can be made to what it explains.
    #[must_use]
    pub fn changed(&self, ledger: &Ledger, pod: &Pod, change: &Change) -> Option<Changed> {
        let same = Changed { node: self.clone(), ledger: ledger.clone(), pod: pod.clone() };
        let chosen = self.chosen(pod).unwrap_or_default();
        Some(match change {
            Change::Wait(pods) => {
                let ledger = pods.iter().fold(ledger.clone(), |ledger, pod| ledger.release(pod));
                Changed { ledger, ..same }
            }
            Change::Move(moved) => Changed { ledger: self.with_moved(ledger, moved)?, ..same },
            Change::AskLess(all) | Change::AskMore(all) => {
                // Exclusive CPUs that were chosen are asked for by the limit.
                let mut pod =
                    if chosen.exclusive.is_empty() { pod.clone() } else { self.classified(pod.clone()) };
                all.iter().try_for_each(|asks| asks::ask(&mut pod, asks))?;
                Changed { pod, ..same }
            }
            Change::More { node: id, amounts } => {
                let index = self.nodes.index_of(*id)?;
                let (node, ledger) = other_node::with_more(self, ledger, index, *id, amounts)?;
                Changed { node: node.unwrap_or_else(|| self.clone()), ledger, ..same }
            }
            Change::ReserveCpus(cpus) => {
                let (policy, held) = (self.cpus.as_ref()?, ledger.cpus()?);
                let nodes = self.nodes.all();
                let pairs =
                    nodes.iter().flat_map(|from| nodes.without(from).iter().map(move |to| (from, to)));
                let mut moved = pairs.filter_map(|(from, to)| {
                    policy.with_reserved_moved(held, NodeMask::single(from), NodeMask::single(to))
                });
                let (policy, held) = moved.find(|(policy, _)| policy.reserved() == cpus)?;
                let node = Self { cpus: Some(policy), ..self.clone() };
                Changed { node, ledger: ledger.clone().with_cpus(held), ..same }
            }
            Change::Regroup => {
                let options = OwnOptions { regroup: Regroup::WhenUnneeded, ..self.options.clone() };
                Changed { node: Self { options, ..self.clone() }, ..same }
            }
            Change::PreferLinks => Changed { node: other_node::preferring_links(self)?, ..same },
            Change::Policy(policy) if chosen.policy.is_some() => {
                Changed { pod: wishing(pod, "policy", policy.name()), ..same }
            }
            Change::Policy(policy) => Changed { node: Self { policy: *policy, ..self.clone() }, ..same },
            Change::Scope(scope) if chosen.scope.is_some() => {
                Changed { pod: wishing(pod, "scope", scope.name()), ..same }
            }
            Change::Scope(scope) => Changed { node: Self { scope: *scope, ..self.clone() }, ..same },
        })
    }
}

impl Node {
    /// The ledger when the pod that moves has been deleted, and created again if it is before others.
    fn with_moved(&self, ledger: &Ledger, moved: &Move) -> Option<Ledger> {
        let without = ledger.release(&moved.pod);
        match moved.turn {
            Turn::Last => Some(without),
            Turn::First => {
                let resident = ledger.pods_by_arrival().find(|pod| pod.uid == moved.pod)?;
                let attempt = self.admission(&without, resident).attempt();
                let is_admitted = matches!(attempt.verdict, Verdict::Admitted(_));
                is_admitted.then(|| without.commit(attempt).ok()).flatten()
            }
        }
    }
}

/// The pod with another choice.
fn wishing(pod: &Pod, name: &str, value: &str) -> Pod {
    let mut pod = pod.clone();
    pod.constraints.wishes.choose(name.to_string(), value.to_string());
    pod
}
