//! The scheduler that asks the kubelet's own rules: `scheduler-extender` behind kube-scheduler's sums.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use pod_spec::Pod;
use scheduler_extender::{NodeFacts, NodeState, OneThread, StateVersion, View};
use topology_admission::{Ledger, Node};

/// The greatest score that kube-scheduler is given, as deployed.
const STEPS: u16 = 100;

/// A view of all machines, as the extender has it when every node has published its last change.
#[derive(Debug)]
pub(crate) struct Extender {
    view: View,
    /// By kind of machine.
    nodes: Vec<Arc<Node>>,
    /// By machine.
    names: Vec<String>,
    changes: u64,
}

impl Extender {
    /// Machines of these kinds, on which nothing runs.
    pub(crate) fn new<'a>(
        nodes: impl IntoIterator<Item = &'a Node>,
        machines: impl IntoIterator<Item = (usize, &'a Ledger)>,
    ) -> Self {
        let nodes = nodes.into_iter().map(|node| Arc::new(node.clone())).collect();
        let mut extender = Self { view: View::new(), nodes, names: Vec::new(), changes: 0 };
        for (at, (kind, ledger)) in machines.into_iter().enumerate() {
            extender.names.push(format!("{at}"));
            extender.publish(at, kind, ledger);
        }
        extender
    }

    /// A machine of this kind holds something else now.
    pub(crate) fn publish(&mut self, at: usize, kind: usize, ledger: &Ledger) {
        let (Some(name), Some(node)) = (self.names.get(at), self.nodes.get(kind)) else { return };
        self.changes += 1;
        let state = NodeState {
            version: StateVersion { run: 0, change: self.changes },
            facts: NodeFacts::Exact { node: Arc::clone(node), ledger: ledger.clone() },
            told: BTreeSet::new(),
        };
        self.view.update(name, state);
    }

    /// A pod has come to the cluster.
    pub(crate) fn learn(&mut self, pod: &Pod) {
        self.view.learn(pod);
    }

    /// Of the machines that have enough in sum, given with what would be left of them, the best that would admit the pod:
    /// by score, then where most is left, then the first.
    pub(crate) fn choose(&mut self, pod: &Pod, enough: &[(i64, usize)]) -> Option<usize> {
        let names: Vec<&String> = enough.iter().filter_map(|(_, at)| self.names.get(*at)).collect();
        let judged = self.view.filter(pod, &names, &OneThread);
        let scores = self.view.score(pod, &names, &OneThread);
        let fitting = enough.iter().zip(judged).zip(scores).filter(|((_, judged), _)| judged.verdict.fits());
        let best = fitting.max_by_key(|(((left, at), _), score)| (score.of(STEPS), *left, Reverse(*at)));
        best.map(|(((_, at), _), _)| *at)
    }
}
