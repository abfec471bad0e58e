//! The next restart of the kubelet, beside the pods that are known.

use kubelet_checkpoint::pods::PodFile;
use node_state::{Restart, StartError, StateFolder};

use crate::judged::{JudgedNode, NO_CONFIGURATION};
use crate::node::LoadedNode;
use crate::removed_files::Removed;
use crate::resume::{Requests, running};
use crate::source::Resident;

/// The note where not all pods that run are known, or not all that they request.
const NO_PODS: &str = "the pods that run, or what they request, are not known; --pods takes them from `kubectl get pods -A \
    --field-selector spec.nodeName=NODE -o yaml`";

impl LoadedNode {
    /// Why a kubelet does not start from the files of what pods were admitted with, or run with; `None`: they do not keep it
    /// from that.
    #[must_use]
    pub fn pods_files_refused(&self, folder: &StateFolder) -> Option<String> {
        let mut refused = PodFile::ALL.iter().filter_map(|file| folder.strict_pods(&self.node, *file).err());
        refused.next().map(|error| match error {
            StartError::Pods(..) => format!("it panics: {error}"),
            _ => error.to_string(),
        })
    }
}

impl JudgedNode {
    /// What the next restart does: of pods that are not known, what they hold is all that counts.
    #[must_use]
    pub fn next_restart(&self, resident: &Resident) -> Restart {
        if !self.by.is_configured() {
            return Restart::not_known(NO_CONFIGURATION.to_owned());
        }
        if let Some(why) = &self.node.kubelet_stops {
            return Restart { stopped: Some(why.clone()), ..Restart::impossible() };
        }
        let Resident { folder, names, .. } = resident;
        let removed = self.node.removed_of(folder).filter(Removed::is_with_configuration);
        let folder = removed.as_ref().map_or(folder, |removed| &removed.folder);
        let Some((pods, requests)) = running(folder, &self.node, names) else { return Restart::impossible() };
        let not_known = (requests != Requests::OfEveryPod).then(|| NO_PODS.to_owned());
        Restart::of(folder, &self.node.node, &pods, not_known)
    }
}
