//! Claims for which kube-scheduler's search for devices exceeds its limit. It searches before it asks extenders, so that none is asked
//! about such a pod, and no agent sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use claim_allocator::Timeout;
use claim_explanation::{Asked, Limits, explain};
use dra_model::{Features, Node, ResourceClaim};
use pod_claims::{ClaimLedger, ClaimsDecision, ClusterObjects};
use pod_spec::Pod;

use crate::claims::selects_by_labels;
use crate::explained_claims::shown;

/// kube-scheduler's words for a node on which its search exceeded `filterTimeout`.
const TIMED_OUT: &str = "timed out trying to allocate devices";

/// Of so many nodes the search is computed: most nodes of a cluster are alike.
const MOST_NODES: usize = 16;

/// That kube-scheduler's search for devices exceeded its limit. Displays as the end of a sentence about that search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimedOut {
    /// On this node. From Kubernetes 1.36 on that ends the attempt for all nodes.
    OnNode(String),
    /// On so many nodes, the others of which were looked at; `None`: the message has no number.
    OnNodes(Option<usize>),
}

impl TimedOut {
    /// By kube-scheduler's message about a pod: `running "DynamicResources" filter plugin: node NODE: timed out trying to allocate
    /// devices`, or `0/3 nodes are available: 3 timed out trying to allocate devices.`
    #[must_use]
    pub fn by(message: &str) -> Option<Self> {
        let (before, _) = message.split_once(TIMED_OUT)?;
        let before = before.trim_end();
        let node = before.strip_suffix(':').and_then(|named| named.rsplit_once("node "));
        Some(match node {
            Some((_, node)) if !node.contains(' ') => Self::OnNode(node.to_owned()),
            _ => {
                let last = before.rsplit([' ', ',', ':']).next();
                Self::OnNodes(last.and_then(|count| count.parse().ok()))
            }
        })
    }

    /// The node, where the message names it.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::OnNode(node) => Some(node),
            Self::OnNodes(_) => None,
        }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("exceeded its limit of 10 s on ")?;
        match self {
            Self::OnNode(node) => write!(f, "node {node}, and no extender is asked about the pod"),
            Self::OnNodes(Some(1)) => f.write_str("1 node, about which no extender is asked"),
            Self::OnNodes(Some(nodes)) => write!(f, "{nodes} nodes, about which no extender is asked"),
            Self::OnNodes(None) => f.write_str("some nodes, about which no extender is asked"),
        }
    }
}

/// The longest search for the claims of a pod. Displays as `the search takes 2007109 steps on node worker-1; …`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowSearch {
    node: String,
    steps: u128,
    /// What ends in time, or that no devices are found anyway.
    way_out: String,
}

impl SlowSearch {
    /// The longest search on some nodes, each with the objects that decide there; `None`: all end in time, or their cost is not known.
    #[must_use]
    pub fn among(pod: &Pod, nodes: impl IntoIterator<Item = (Node, ClusterObjects)>) -> Option<Self> {
        let mut longest: Option<(ClaimLedger, ClaimsDecision, u128)> = None;
        for (node, objects) in nodes.into_iter().take(MOST_NODES) {
            let mut ledger = ClaimLedger::new(objects, node, Features::DEFAULT, BTreeMap::new());
            let Some(decision) = ledger.decide(pod) else { continue };
            let Some(cost) = decision.cost.filter(|cost| cost.timeout() != Timeout::Within) else { continue };
            if longest.as_ref().is_none_or(|(.., steps)| *steps < cost.steps()) {
                longest = Some((ledger, decision, cost.steps()));
            }
        }
        let (ledger, decision, steps) = longest?;
        let (names, claims): (Vec<String>, Vec<ResourceClaim>) =
            decision.searched().map(|(name, claim)| (shown(name), claim)).unzip();
        let question = ledger.question(&claims);
        let explanation = explain(&Asked { question: &question, names: &names }, Limits::default());
        let order = explanation.would_fit.iter().find(|remedy| remedy.kind == "order");
        let way_out = match (order, &explanation.contradiction) {
            (Some(order), _) => order.text.clone(),
            (None, Some(_)) => format!("with more time it finds none: {}", explanation.reason),
            (None, None) => "no other order of its requests was found that ends in time".to_owned(),
        };
        Some(Self { node: ledger.node().name.clone(), steps, way_out })
    }

    /// The same on a node, or on the nodes that slices name.
    #[must_use]
    pub fn in_cluster(pod: &Pod, objects: &ClusterObjects, node: Option<&str>) -> Option<Self> {
        // Which of these a node has depends on its labels.
        if objects.slices.iter().any(selects_by_labels) {
            return None;
        }
        let names = objects.slices.iter().filter_map(|slice| slice.nodes.node_name.as_deref());
        let names: BTreeSet<&str> = names.filter(|name| node.is_none_or(|node| node == *name)).collect();
        let nodes = names.into_iter().map(|name| {
            let is_there = |own: &Option<String>| own.as_deref().is_none_or(|own| own == name);
            let slices = objects.slices.iter().filter(|slice| is_there(&slice.nodes.node_name)).cloned();
            let objects = ClusterObjects { slices: slices.collect(), ..objects.clone() };
            (Node { name: name.to_owned(), ..Node::default() }, objects)
        });
        Self::among(pod, nodes)
    }
}

impl fmt::Display for SlowSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, steps, way_out } = self;
        write!(f, "the search takes {steps} steps on node {node}; {way_out}")
    }
}

#[cfg(test)]
mod tests {
    use super::TimedOut;

    #[test]
    fn a_message_of_kube_scheduler_says_on_how_many_nodes_its_search_timed_out() {
        for (message, expected) in [
            ("0/3 nodes are available: 3 timed out trying to allocate devices.", Some("on 3 nodes")),
            (
                "0/4 nodes are available: 1 timed out trying to allocate devices, 3 cannot allocate all claims.",
                Some("on 1 node,"),
            ),
            ("timed out trying to allocate devices", Some("on some nodes")),
            (
                "running \"DynamicResources\" filter plugin: node worker-1: timed out trying to allocate devices",
                Some("on node worker-1, and no extender is asked about the pod"),
            ),
            ("0/3 nodes are available: 3 cannot allocate all claims.", None),
        ] {
            let found = TimedOut::by(message).map(|found| found.to_string());
            match expected {
                None => assert_eq!(found, None, "{message}"),
                Some(part) => assert!(found.is_some_and(|found| found.contains(part)), "{message}"),
            }
        }
    }
}
