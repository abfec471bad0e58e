//! Faults of the watched folder: files that cannot be used, or a folder that cannot be read.
//!
//! The pods of an unusable file stay as they are until the file is corrected or removed. Meanwhile the daemon is not
//! ready, and `/readyz` names these pods.

use conditions::State;
use node_agent::Snapshot;
use node_state::ManifestFile;

use super::conditions::NodeCondition::ManifestsUsable;
use super::conditions::{NodeConditions, joined};

impl NodeConditions {
    /// The folder has been read, and these files of it cannot be used.
    pub fn manifests_read(&self, unusable: impl IntoIterator<Item = (ManifestFile, String)>) {
        let sentence = |file: &ManifestFile, why| format!("manifest {file} cannot be used: {why}");
        self.fails_of(
            ManifestsUsable,
            unusable.into_iter().map(|(file, why)| (file.to_string(), sentence(&file, why))),
        );
    }

    /// The folder cannot be read; whether that is new.
    pub fn manifests_not_read(&self, why: &str) -> bool {
        self.set(ManifestsUsable, "", State::failed(ManifestsUsable.reason(), why)).is_some()
    }

    /// Why manifests cannot be used, with the pods that stay as they are for it; `None`: nothing is wrong.
    pub fn unusable_manifests(&self, snapshot: &Snapshot) -> Option<String> {
        let each = self.wrong_of(ManifestsUsable).into_iter().map(|(on, why)| {
            let pods = match &*on {
                "" => of_folder(snapshot),
                file => held_back(snapshot, &ManifestFile::new(file)),
            };
            format!("{why}: {}", kept(&pods))
        });
        joined(&each.collect::<Vec<_>>())
    }
}

/// The pods that came from a file, as `NAMESPACE/NAME`.
pub fn held_back(snapshot: &Snapshot, file: &ManifestFile) -> Vec<String> {
    names(snapshot, |of| of.is_none_or(|of| of == file))
}

/// All pods of the folder.
fn of_folder(snapshot: &Snapshot) -> Vec<String> {
    names(snapshot, |_| true)
}

fn names(snapshot: &Snapshot, is_it: impl Fn(Option<&ManifestFile>) -> bool) -> Vec<String> {
    let of_folder = snapshot.pods.values().filter(|record| record.source.is_folder());
    let held = of_folder.filter(|record| is_it(record.source.file()));
    let mut names: Vec<String> =
        held.map(|record| format!("{}/{}", record.pod.namespace, record.pod.name)).collect();
    names.sort();
    names
}

/// What becomes of pods whose manifest cannot be read.
pub fn kept(pods: &[String]) -> String {
    match pods {
        [] => "no pod that runs came from it".to_owned(),
        [pod] => format!("pod {pod} stays as it is"),
        pods => format!("pods {} stay as they are", pods.join(", ")),
    }
}
