//! Faults of the watched folder: files that cannot be used, or a folder that cannot be read.
//!
//! The pods of an unusable file stay as they are until the file is corrected or removed. Meanwhile the daemon is not
//! ready, and `/readyz` names these pods.

use std::collections::BTreeMap;

use node_agent::Snapshot;
use node_state::ManifestFile;
use parking_lot::{Mutex, MutexGuard};

/// The present faults.
#[derive(Default)]
pub struct Manifests(Mutex<Faults>);

#[derive(Default)]
struct Faults {
    /// Why the folder cannot be read.
    folder: Option<String>,
    /// Why each file cannot be used.
    files: BTreeMap<ManifestFile, String>,
}

impl Manifests {
    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.0.lock()
    }

    /// The folder has been read, and these files of it cannot be used.
    pub fn read(&self, files: impl IntoIterator<Item = (ManifestFile, String)>) {
        *self.faults() = Faults { folder: None, files: files.into_iter().collect() };
    }

    /// The folder cannot be read; whether that is new.
    pub fn not_read(&self, why: &str) -> bool {
        let before = self.faults().folder.replace(why.to_owned());
        before.as_deref() != Some(why)
    }

    /// How many files cannot be used; a folder that cannot be read is one more.
    pub fn unusable(&self) -> usize {
        let faults = self.faults();
        faults.files.len() + usize::from(faults.folder.is_some())
    }

    /// Why the daemon is not ready, with the pods that stay as they are for it; `None`: nothing is wrong.
    pub fn why_not_ready(&self, snapshot: &Snapshot) -> Option<String> {
        let faults = self.faults();
        let folder = faults.folder.as_ref().map(|why| format!("{why}: {}", kept(&of_folder(snapshot))));
        let files = faults.files.iter().map(|(file, why)| {
            let kept = kept(&held_back(snapshot, file));
            format!("manifest {file} cannot be used: {why}: {kept}")
        });
        let all: Vec<String> = folder.into_iter().chain(files).collect();
        (!all.is_empty()).then(|| all.join("; "))
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
