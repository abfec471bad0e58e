//! Which pods run, as an audit and a repair want to know it.

use crate::folder::StateFolder;
use crate::names::PodNames;
use crate::quarantine::Quarantine;
use crate::repair::{PodList, RunningPod, Standing};

impl PodNames {
    /// Which pods there are: those that are known, else those that have files in the folder, else any. `earlier` are
    /// quarantined since a repair before.
    #[must_use]
    pub fn pod_list(&self, folder: &StateFolder, earlier: &Quarantine) -> PodList {
        let Some(known) = self.known() else {
            return if folder.pods.is_empty() { PodList::Unknown } else { PodList::Recorded };
        };
        let running = known.iter().map(|(uid, name)| {
            let is_quarantined = earlier.pods.contains_key(uid.as_str());
            let pod = RunningPod {
                name: name.clone(),
                manifest: self.specs().get(uid).cloned(),
                standing: if is_quarantined { Standing::Quarantined } else { Standing::Listed },
            };
            (uid.clone(), pod)
        });
        PodList::Listed(running.collect())
    }
}
