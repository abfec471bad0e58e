//! A kubelet that is watched while it runs: what it counts, by the state files in its root folder, and whether it starts
//! again on the machine as that is now.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use node_state::{PodNames, StateFolder};

use crate::counted::Counted;
use crate::folder::any_state_of;
use crate::machine::LoadedMachine;
use crate::next_start;
use crate::node::LoadedNode;
use crate::packed::{Running, Source};
use crate::resume;

/// Why the next start of a kubelet fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextStartFails {
    /// The kubelet's error.
    pub why: String,
    /// In what the machine has changed since the kubelet started, as text to be shown; `None`: no total of memory or huge
    /// pages has.
    pub changed: Option<String>,
}

impl LoadedMachine {
    /// The machine with the kubelet whose root folder is `root`. Memory and huge pages are those that its state files count,
    /// whether it runs or not. What was found of another kubelet is left out, and so are devices: the watcher asks for those
    /// itself.
    #[must_use]
    pub fn of_kubelet_at(mut self, root: &Path) -> Self {
        self.packed = self.packed.filter(|packed| match &packed.source {
            Source::Kubelet { root: own, .. } => is_same(own, root),
            Source::File => true,
        });
        if let Some(packed) = self.packed.as_mut().and_then(Arc::get_mut)
            && packed.state_root().is_some()
        {
            packed.devices = None;
        }
        // `--memory` and `--hugepages` hold, whatever the files count.
        let is_replaced = !self.given.is_empty();
        let state = if is_replaced { None } else { any_state_of(root).ok() };
        self.counted = state.and_then(|state| Counted::of(&self.info, &state, Running::Yes));
        self
    }
}

impl LoadedNode {
    /// Why its kubelet does not start again from `folder` on `machine`, read anew, with this node's configuration; `None`: it
    /// does.
    #[must_use]
    pub fn next_start_fails(
        &self,
        machine: &LoadedMachine,
        folder: &StateFolder,
        names: &PodNames,
    ) -> Option<NextStartFails> {
        let refused = match next_start::started(&machine.info, self.config()) {
            Ok(node) => resume::refused_by(folder, &node, names),
            Err(error) => Some(error),
        };
        let why = self.pods_files_refused(folder).or(refused)?;
        let counted = Counted::of(&machine.info, folder, Running::Yes);
        let changed = counted.map(|counted| counted.note());
        Some(NextStartFails { why, changed })
    }
}

/// Whether both paths lead to one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}
