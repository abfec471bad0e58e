//! Attempts that never happen: each change that could help is made on a copy, and the pod attempted again.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use device_manager::{Replies, Reply};
use node_config::{PodChoice, Scope, TopologyPolicyName};
use numa_bitmask::NodeMask;
use pod_spec::{Pod, PodUid};
use topology_policy::KubeletPolicy;

use crate::attempt::admission::Admission;
use crate::attempt::refusal::Refused;
use crate::attempt::trace::Search;
use crate::attempt::trace::{Trace, UnitTrace};
use crate::attempt::{Placement, Rules, Verdict};
use crate::explain::change::Change;
use crate::explain::explanation::{Limits, OnEmptyNode, Plugins, Tries, WouldFit};
use crate::ledger::Ledger;
use crate::node::Node;

/// Maximum number of reported changes of one kind.
pub(crate) const MOST_OF_A_KIND: usize = 2;
/// On machines with more NUMA nodes pairs of them are not looked at.
const MOST_NODES_FOR_PAIRS: usize = 16;

/// A refused pod, and how many attempts are left to find out what would help.
pub(crate) struct Trial<'a> {
    pub(crate) node: &'a Node,
    pub(crate) ledger: &'a Ledger,
    /// As it came.
    pub(crate) pod: &'a Pod,
    /// The same with its QoS class.
    pub(crate) classified: Arc<Pod>,
    pub(crate) refused: &'a Refused,
    pub(crate) trace: &'a Trace,
    replies: &'a Replies,
    /// Those by which it was refused.
    pub(crate) rules: Rules,
    tries: usize,
    /// Whether there are plugins that may have to be asked on the way.
    plugins_are_asked: bool,
    stop: &'a dyn Fn() -> ControlFlow<()>,
    kept: &'a BTreeSet<PodUid>,
    made: usize,
    search: Search,
}

/// What a trial came to.
pub(crate) enum Tried {
    Fits(Placement, Plugins),
    Refused,
    /// No try is left.
    CutOff,
}

impl Tried {
    pub(crate) fn with(self, change: Change) -> Option<WouldFit> {
        match self {
            Self::Fits(placement, plugins) => Some(WouldFit { change, placement, plugins }),
            Self::Refused | Self::CutOff => None,
        }
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn new(
        admission: Admission<'a>,
        refused: &'a Refused,
        trace: &'a Trace,
        limits: Limits<'a>,
    ) -> Self {
        let Admission { node, ledger, pod, replies, rules, .. } = admission;
        let Limits { tries: Tries(tries), stop, kept } = limits;
        Self {
            node,
            ledger,
            pod,
            classified: Arc::new(node.classified(pod.clone())),
            refused,
            trace,
            replies,
            rules,
            tries,
            plugins_are_asked: ledger.inventory().has_plugins(),
            stop,
            kept,
            made: 0,
            search: Search::Complete,
        }
    }

    /// Whether everything was looked at, and how many attempts were made.
    pub(crate) fn end(self) -> (Search, usize) {
        (self.search, self.made)
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.search == Search::Cut
    }

    /// The question, with so many of the tries that are left, and what it was about.
    pub(crate) fn limited(&self, most: usize) -> (Admission<'a>, Limits<'a>) {
        let admission = self.node.admission(self.ledger, self.pod).with(self.replies).under(self.rules);
        let tries = Tries(most.min(self.tries.saturating_sub(self.made)));
        (admission, Limits { tries, stop: self.stop, kept: self.kept })
    }

    /// So many attempts were made elsewhere.
    pub(crate) const fn count(&mut self, attempts: usize) {
        self.made += attempts;
    }

    /// The unit that was refused, or the last one where the pod was refused as a whole.
    pub(crate) fn unit(&self) -> Option<&'a UnitTrace> {
        self.trace.units.last()
    }

    fn attempt(&mut self, node: &Node, rules: Rules, ledger: Ledger, pod: &Arc<Pod>) -> Tried {
        if self.made >= self.tries || self.is_cut() || (self.stop)().is_break() {
            self.search = Search::Cut;
            return Tried::CutOff;
        }
        self.made += 1;
        let mut willing: Option<Replies> = None;
        let again = self.plugins_are_asked.then(|| ledger.clone());
        let mut next = Some(ledger);
        while let Some(ledger) = next.take() {
            let replies = willing.as_ref().unwrap_or(self.replies);
            match node.verdict_under(rules, ledger, pod, replies) {
                Verdict::Admitted(placement) => {
                    let plugins = match willing {
                        None => Plugins::HaveAnswered,
                        Some(_) => Plugins::TakenAsWilling,
                    };
                    return Tried::Fits(placement, plugins);
                }
                Verdict::Refused(_) => break,
                Verdict::NeedsPlugin(question) => {
                    let reply = Reply::willing(&question);
                    // A question that has been answered is not asked again.
                    willing.get_or_insert_with(|| self.replies.clone()).insert(question, reply);
                    next.clone_from(&again);
                }
            }
        }
        Tried::Refused
    }

    /// The pod as it is, on the node as it is.
    pub(crate) fn attempt_beside(&mut self, ledger: Ledger) -> Tried {
        self.attempt_on(self.node, ledger)
    }

    /// Another pod.
    pub(crate) fn attempt_pod(&mut self, pod: Pod) -> Tried {
        let pod = Arc::new(self.node.classified(pod));
        self.attempt(self.node, self.rules, self.ledger.clone(), &pod)
    }

    /// Under other rules.
    fn attempt_under(&mut self, rules: Rules) -> Tried {
        let pod = Arc::clone(&self.classified);
        self.attempt(self.node, rules, self.ledger.clone(), &pod)
    }

    /// The pod as it is, on another node.
    pub(crate) fn attempt_on(&mut self, node: &Node, ledger: Ledger) -> Tried {
        let pod = Arc::clone(&self.classified);
        self.attempt(node, self.rules, ledger, &pod)
    }

    pub(crate) fn on_empty_node(&mut self) -> OnEmptyNode {
        let empty = self.node.empty_ledger().with_inventory(self.ledger.inventory().clone());
        match self.attempt_beside(empty) {
            Tried::Fits(..) => OnEmptyNode::Fits,
            Tried::Refused => OnEmptyNode::DoesNotFit,
            Tried::CutOff => OnEmptyNode::Unknown,
        }
    }

    /// Node sets on which another request could be: single nodes, and where more than one will do pairs and all.
    pub(crate) fn node_sets(&self) -> Vec<NodeMask> {
        let all = self.node.nodes().all();
        let mut sets: Vec<NodeMask> = all.iter().map(NodeMask::from).collect();
        if self.rules.policy != KubeletPolicy::SingleNumaNode && all.len() > 1 {
            if all.len() as usize <= MOST_NODES_FOR_PAIRS {
                let pairs = all.iter().flat_map(|first| {
                    let later = all.iter().filter(move |second| *second > first);
                    later.map(move |second| NodeMask::from(first).with(second))
                });
                sets.extend(pairs.filter(|pair| *pair != all));
            }
            sets.push(all);
        }
        sets
    }

    /// The other scope, and the strictest of the looser policies under which it fits.
    pub(crate) fn rules(&mut self) -> Vec<WouldFit> {
        const LOOSER: [KubeletPolicy; 4] = [
            KubeletPolicy::SingleNumaNode,
            KubeletPolicy::Restricted,
            KubeletPolicy::BestEffort,
            KubeletPolicy::None,
        ];
        let own = self.rules;
        let (node, allowed) = (self.node.rules(), self.node.pod_policy());
        let choice = self.node.chosen(self.pod).unwrap_or_default();
        let scope = match own.scope {
            Scope::Container => Scope::Pod,
            Scope::Pod => Scope::Container,
        };
        let mut found = Vec::new();
        // A pod that chooses can choose what is allowed, or what the node has.
        let can_have_scope =
            choice.scope.is_none() || scope == node.scope || allowed.allows(PodChoice::Scope(scope));
        let can_have = |policy: KubeletPolicy| {
            let named = TopologyPolicyName::from_name(policy.name()).map(PodChoice::Policy);
            choice.policy.is_none()
                || policy == node.policy
                || named.is_some_and(|named| allowed.allows(named))
        };
        if own.policy != KubeletPolicy::None && self.pod.containers.len() > 1 && can_have_scope {
            let tried = self.attempt_under(Rules { scope, ..own });
            found.extend(tried.with(Change::Scope(scope)));
        }
        let looser = LOOSER.iter().skip_while(|policy| **policy != own.policy).skip(1);
        found.extend(
            looser
                .copied()
                .filter(|policy| can_have(*policy))
                .find_map(|policy| self.attempt_under(Rules { policy, ..own }).with(Change::Policy(policy))),
        );
        found
    }
}
