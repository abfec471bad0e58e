//! The files of what pods were admitted and run with: a kubelet does not start from damaged ones, and starts without them.

use std::path::PathBuf;

use kubelet_checkpoint::pods::{PodFile, PodsFile};
use topology_admission::PodAllocations;

use super::{Assumption, Remedy, Work};
use crate::fault::{Damage, Fault};

impl Work<'_> {
    /// Damaged files are put aside: the kubelet then takes what the manifests request.
    pub(super) fn allocations(&mut self) {
        if self.node.pod_allocations() == PodAllocations::Forgotten {
            return;
        }
        for file in PodFile::ALL {
            let Some(contents) = self.found.pods_file(file) else { continue };
            let Err(error) = PodsFile::read(contents, self.node.kubelet_rules().pod_allocations) else {
                continue;
            };
            let path = PathBuf::from(file.path());
            let fault = Fault::Damaged(Damage::of_pods(error, contents));
            self.result.aside.insert(path.clone());
            self.add_at(path, fault, Some(Assumption::NotResized), Remedy::PutAsideAllocations, &[]);
        }
    }
}
