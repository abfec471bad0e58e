//! The state files of a kubelet that owns the node, as they were read last.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use node_input::Requests;
use node_state::{PodNames, Quarantine, StateFolder};

/// The state files and the quarantined pods, as `state show` prints them.
pub struct Observed {
    /// The kubelet's state files.
    pub folder: StateFolder,
    /// The pods that may have lost part of what they held.
    pub quarantine: Quarantine,
    /// The names of pods, and which of them run.
    pub names: PodNames,
    /// Which requests of the pods that run are known.
    pub requests: Requests,
}

/// The files that fitted together last, for readers.
#[derive(Clone, Default)]
pub struct ObservedFiles(Arc<ArcSwapOption<Observed>>);

impl ObservedFiles {
    /// The files that fitted together last; `None`: no kubelet is watched.
    pub fn latest(&self) -> Option<Arc<Observed>> {
        self.0.load_full()
    }
}

/// The write handle of the thread that reads a kubelet's files.
#[derive(Default)]
pub struct ObservedWriter(ObservedFiles);

impl ObservedWriter {
    /// For readers.
    pub fn files(&self) -> ObservedFiles {
        self.0.clone()
    }

    /// Replaces the files that readers get.
    pub fn publish(&self, observed: Observed) {
        self.0.0.store(Some(Arc::new(observed)));
    }
}
