//! What would have fitted: changes to the pod, the node or the moment under which a refused pod is admitted. Each has
//! been tried by attempting it; none is a guess.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use device_manager::Replies;
use node_config::Scope;
use pod_spec::{Pod, PodUid, ResourceName};
use topology_model::NodeId;
use topology_policy::KubeletPolicy;

use crate::attempt::Placement;
use crate::ledger::Ledger;
use crate::node::Node;
use crate::refusal::Refused;
use crate::trace::Trace;
use crate::trial::Trial;

/// How many attempts an explanation may make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tries(pub usize);

impl Default for Tries {
    fn default() -> Self {
        Self(500)
    }
}

/// What would have to be otherwise for a refused pod.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Whether it fits the node when nothing else runs there.
    pub on_empty_node: OnEmptyNode,
    /// What would fit, the smallest change of each kind first.
    pub would_fit: Vec<WouldFit>,
    /// Whether everything was looked at.
    pub search: Search,
}

/// Whether a pod fits a node on which nothing else runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEmptyNode {
    /// It does: not now, rather than never.
    Fits,
    /// It does not: waiting is of no use.
    DoesNotFit,
    /// Not known: a device plugin would have to be asked, or there were too few tries.
    #[default]
    Unknown,
}

/// Whether everything was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// It was.
    #[default]
    Complete,
    /// There were more candidates than tries.
    Cut,
}

/// A change under which the pod is admitted.
#[derive(Clone, Debug)]
pub struct WouldFit {
    /// What changes.
    pub change: Change,
    /// Where the pod runs then.
    pub placement: Placement,
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The node waits until these pods have gone: one, or two where no single one is enough.
    Wait(Vec<PodUid>),
    /// The pod asks for less of some resources.
    AskLess(BTreeMap<ResourceName, Less>),
    /// The node has more devices of a resource on one NUMA node.
    MoreDevices {
        /// Of which resource.
        resource: ResourceName,
        /// Where.
        node: NodeId,
        /// How many more.
        count: u64,
    },
    /// The node has another policy.
    Policy(KubeletPolicy),
    /// The node has another scope.
    Scope(Scope),
}

/// A smaller amount: CPUs, bytes or devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Less {
    /// What the unit asks for now.
    pub asked: u64,
    /// What it can have.
    pub fits: u64,
}

impl Node {
    /// What would have to be otherwise for `pod`, which was `refused` beside what `ledger` holds with this `trace`.
    ///
    /// Candidates are read off the trace, since acceptance does not follow amounts: under `restricted` a larger
    /// request can fit where a smaller one does not.
    #[must_use]
    pub fn explain(
        &self,
        ledger: &Ledger,
        pod: &Pod,
        replies: &Replies,
        (refused, trace): (&Refused, &Trace),
        tries: Tries,
    ) -> Explanation {
        let mut trial = Trial::new(self, ledger, pod, replies, tries);
        let on_empty_node = trial.on_empty_node();
        // The few candidates first: tries may be short.
        let rules = trial.rules();
        let less = trial.asks_less(refused, trace.units.last());
        let devices = trial.more_devices(trace.units.last());
        let mut would_fit = trial.waits();
        would_fit.extend(less);
        would_fit.extend(devices);
        would_fit.extend(rules);
        Explanation { on_empty_node, would_fit, search: trial.search() }
    }
}
