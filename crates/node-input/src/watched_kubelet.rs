//! A kubelet that is watched while it runs: what it counts, by the state files in its root folder, and whether it starts
//! again on the machine as that is now.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::ensure;
use node_state::{PodNames, StateFolder};

use crate::counted::Counted;
use crate::folder::any_state_of;
use crate::machine::LoadedMachine;
use crate::next_start;
use crate::node::LoadedNode;
use crate::packed::{Packed, Running, Source};
use crate::pod_names::OWN;
use crate::resume;
use crate::sources::MachineSource;

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
    /// The root folder of the kubelet that runs on the machine, which was read from `source`; else the usual one.
    ///
    /// # Errors
    /// It does not exist.
    pub fn kubelet_root(&self, source: &MachineSource) -> anyhow::Result<PathBuf> {
        let found = self.packed.as_deref();
        let usual = Path::new(OWN);
        let root = match found.and_then(Packed::state_root) {
            // A machine that is mounted somewhere has its kubelet's files there.
            None if source.machine.contains('/') && Path::new(&source.machine).is_dir() => {
                Path::new(&source.machine).join(usual.strip_prefix("/").unwrap_or(usual))
            }
            root => root.unwrap_or(usual).to_path_buf(),
        };
        let which = if found.is_some_and(|found| found.running == Running::Yes) {
            "the root folder of the kubelet that was found here"
        } else {
            "no kubelet found here, and the usual root folder"
        };
        ensure!(root.is_dir(), "{which}, {}, does not exist: --root names another one", root.display());
        Ok(root)
    }

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
