//! What a decision was made of, and what the pods in it are called.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;

use memory_manager::Moved;
use numa_bitmask::NodeMask;
use pod_spec::{Pod, PodRules, PodUid};
use topology_admission::{Attempt, Ledger, Node, Rules, Trace};
use topology_model::{NodeIds, Nodes};

/// What a decision on one pod was made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The node.
    pub node: &'a Node,
    /// What it held before.
    pub before: &'a Ledger,
    /// What it holds after the decision, [`Attempt::after`]. A refused pod may have left something on it.
    pub after: &'a Ledger,
    /// The pod.
    pub pod: &'a Pod,
    /// What was looked at.
    pub trace: &'a Trace,
    /// Containers of other pods whose memory moves when this one is admitted, [`Attempt::moved`].
    pub moved: &'a [Moved],
    /// What the program that prints the report can add.
    pub advice: UserAdvice,
}

/// What the program that prints a report adds to it, so that its user can supply what is missing. Empty texts add
/// nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UserAdvice {
    /// After "no device plugin of it has registered".
    pub no_plugin: &'static str,
    /// After "no NUMA node has hugepages-1Gi".
    pub no_huge_pages: &'static str,
    /// After a note on resources that were not checked.
    pub unchecked: &'static str,
}

/// A pod as a person calls it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedPod {
    /// Its UID.
    pub uid: PodUid,
    /// Its name, with the namespace unless that is the reported pod's own; its UID if nothing else is known of it.
    pub name: String,
}

impl fmt::Display for NamedPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl<'a> Facts<'a> {
    /// Of `attempt`, which was made with this `trace` against what the node held `before`.
    #[must_use]
    pub fn new(
        node: &'a Node,
        before: &'a Ledger,
        pod: &'a Pod,
        attempt: &'a Attempt,
        trace: &'a Trace,
    ) -> Self {
        let (after, moved) = (&attempt.after, &attempt.moved);
        Self { node, before, after, pod, trace, moved, advice: UserAdvice::default() }
    }

    pub(crate) fn nodes(&self) -> &'a Nodes {
        self.node.nodes()
    }

    pub(crate) fn listed(&self, mask: NodeMask) -> NodeIds {
        self.nodes().listed(mask)
    }

    /// The rules by which the pod was decided on.
    pub(crate) fn rules(&self) -> Rules {
        self.trace.rules.unwrap_or_else(|| self.node.rules_of(self.pod))
    }

    pub(crate) const fn pod_rules(&self) -> PodRules {
        self.node.pod_rules()
    }

    pub(crate) fn named(&self, uid: &PodUid) -> NamedPod {
        let name = match self.before.pods().find(|pod| pod.uid == *uid) {
            Some(pod) if pod.namespace == self.pod.namespace => pod.name.clone(),
            Some(pod) => full_name(pod),
            // Earlier containers of the same pod can be in the way too.
            None if *uid == self.pod.uid => self.pod.name.clone(),
            None => uid.to_string(),
        };
        NamedPod { uid: uid.clone(), name }
    }
}

/// `NAMESPACE/NAME`; the name alone where only state files list the pod, which have no namespaces.
pub(crate) fn full_name(pod: &Pod) -> String {
    if pod.namespace.is_empty() { pod.name.clone() } else { format!("{}/{}", pod.namespace, pod.name) }
}
