//! The node as it is now, for those who only look.

use std::collections::BTreeMap;
use std::sync::Arc;

use device_manager::Moment;
use pod_spec::{Pod, PodUid};
use topology_admission::{Ledger, Reason};

use crate::deferred_pod::DeferredPod;
use crate::effect::Answer;
use crate::enforcement::Enforcement;
use crate::known::known;
use node_state::{Record, Source};

/// One moment of a node. Cheap to clone; never changes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Everything that is allocated on the node.
    pub ledger: Ledger,
    /// The pods that run, by UID.
    pub pods: BTreeMap<PodUid, Arc<Record>>,
    /// The pods that were refused and not deleted since, by UID.
    pub refused: BTreeMap<PodUid, Arc<RefusedPod>>,
    /// The pods that have not been decided on.
    pub waiting: Vec<Arc<Pod>>,
    /// The pods that wait for device plugins, in the order in which they are decided on.
    pub deferred: Vec<Arc<DeferredPod>>,
    /// When it was so.
    pub at: Moment,
    /// Where running containers belong.
    pub places: Vec<Enforcement>,
    /// Why files on disk are behind; `None`: they are not.
    pub behind: Option<String>,
}

impl Snapshot {
    /// What is answered at once to who wants the pod admitted: that it runs as it is, or why it cannot come as it is.
    /// `None`: it is to be decided on.
    #[must_use]
    pub fn answer_to(&self, pod: &Pod) -> Option<Answer> {
        let waiting = self.waiting.iter().map(AsRef::as_ref);
        known(self.pods.values().map(AsRef::as_ref), waiting, self.deferred.iter().map(AsRef::as_ref), pod)
    }
}

/// A pod that was refused.
#[derive(Clone, Debug)]
pub struct RefusedPod {
    /// The pod as it was asked for.
    pub pod: Arc<Pod>,
    /// The request or the file that asked for it.
    pub source: Source,
    /// The kubelet's reason.
    pub reason: Reason,
    /// The kubelet's message.
    pub message: String,
}
