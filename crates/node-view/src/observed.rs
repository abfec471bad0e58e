//! What a kubelet has written, where one owns the node.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use node_input::Requests;
use node_state::{PodNames, Quarantine, StateFolder};

/// What the files hold, and who is quarantined: what `state show` shows.
pub struct Observed {
    /// The kubelet's state files.
    pub folder: StateFolder,
    /// The pods that may have lost part of what they held.
    pub quarantine: Quarantine,
    /// Which pods run.
    pub names: PodNames,
    /// Which requests of the pods that run are known.
    pub requests: Requests,
}

/// The files that were taken last, for readers.
#[derive(Clone, Default)]
pub struct ObservedFiles(Arc<ArcSwapOption<Observed>>);

impl ObservedFiles {
    /// Those that were taken last; `None`: no kubelet is watched.
    pub fn latest(&self) -> Option<Arc<Observed>> {
        self.0.load_full()
    }
}

/// The right to say which files were taken, which the thread has that reads them.
#[derive(Default)]
pub struct ObservedWriter(ObservedFiles);

impl ObservedWriter {
    /// For readers.
    pub fn files(&self) -> ObservedFiles {
        self.0.clone()
    }

    /// These are taken now.
    pub fn publish(&self, observed: Observed) {
        self.0.0.store(Some(Arc::new(observed)));
    }
}
