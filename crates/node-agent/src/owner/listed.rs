//! What follows from a listing of the watched folder: pods that come, pods that go, and pods whose file is another one.

use std::collections::BTreeMap;
use std::sync::Arc;

use pod_spec::{Pod, PodUid};
use serde_json::Value;
use topology_admission::SourcesReady;

use super::Owner;
use super::change::Change;
use super::pending::PendingPod;
use crate::effect::EndReason;
use crate::listing::{ListedPod, Listing};
use node_state::ManifestFile;
use node_state::{Source, manifest};

/// What a listing has of a pod of the folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ManifestState<'l> {
    /// Its file cannot be used: it stays as it is.
    Unusable,
    /// Its manifest has not changed, and is in this file now.
    Same(&'l ManifestFile),
    /// Its manifest is gone, or is another one.
    Removed,
}

/// A listing, with its pods and their manifests by UID.
struct Index<'l> {
    listing: &'l Listing,
    pods: BTreeMap<&'l PodUid, (&'l ListedPod, Value)>,
}

impl<'l> Index<'l> {
    fn new(listing: &'l Listing) -> Self {
        let pods = listing.pods.iter().map(|listed| (&listed.pod.uid, (listed, manifest(&listed.pod))));
        Self { listing, pods: pods.collect() }
    }

    fn manifest_state(&self, source: &Source, uid: &PodUid, own: &Value) -> ManifestState<'l> {
        if self.listing.holds_back(source.file()) {
            return ManifestState::Unusable;
        }
        match self.pods.get(uid) {
            Some((listed, manifest)) if manifest == own => ManifestState::Same(&listed.file),
            _ => ManifestState::Removed,
        }
    }

    /// Whether a pod that has not been admitted stays, with its source brought up to date.
    fn keeps(&self, source: &mut Source, pod: &Pod) -> bool {
        if !source.is_folder() {
            return true;
        }
        match self.manifest_state(source, &pod.uid, &manifest(pod)) {
            ManifestState::Unusable => true,
            ManifestState::Same(file) => {
                *source = Source::Folder(Some(file.clone()));
                true
            }
            ManifestState::Removed => false,
        }
    }
}

impl Owner {
    pub(super) fn listed(&mut self, listing: &Listing) {
        let index = Index::new(listing);
        self.end_removed(&index);
        self.admissions.retain_mut(|waiting| index.keeps(&mut waiting.source, &waiting.pod));
        self.deferred.retain_pods(|source, pod| index.keeps(source, pod));
        self.backlog.retain_pods(|waiting| index.keeps(&mut waiting.source, &waiting.pod));
        self.refused.retain(|refused| {
            let mut source = refused.source.clone();
            let keeps = index.keeps(&mut source, &refused.pod);
            if source != refused.source {
                Arc::make_mut(refused).source = source;
            }
            keeps
        });
        self.admit_new(listing);
        if self.ledger.sources() == SourcesReady::No {
            self.changes.push_back(Change::SourcesReady);
        }
    }

    /// Pods of the folder whose manifest is gone or another one end; of those that stay the file is kept up to date.
    fn end_removed(&mut self, index: &Index<'_>) {
        let of_folder = self.pods.values().filter(|record| record.source.is_folder());
        let changes = of_folder.filter_map(|record| {
            let uid = record.pod.uid.clone();
            match index.manifest_state(&record.source, &uid, &record.manifest) {
                ManifestState::Unusable => None,
                ManifestState::Same(file) if record.source.file() == Some(file) => None,
                ManifestState::Same(file) => Some(Change::File { uid, file: file.clone() }),
                ManifestState::Removed => {
                    Some(Change::End { uid, ticket: None, why: EndReason::ManifestGone })
                }
            }
        });
        self.changes.extend(changes.collect::<Vec<_>>());
    }

    /// New pods get in line.
    fn admit_new(&mut self, listing: &Listing) {
        let ends = |uid: &PodUid| {
            self.changes.iter().any(|change| matches!(change, Change::End { uid: other, .. } if other == uid))
        };
        let is_known = |uid: &PodUid| {
            let stays = self.pods.contains_key(uid) && !ends(uid);
            stays
                || self.refused.get(uid).is_some_and(|refused| refused.source.is_folder())
                || self.admissions.iter().chain(self.backlog.pods()).any(|waiting| waiting.pod.uid == *uid)
                || self.deferred.pod(uid).is_some()
        };
        let new = listing.pods.iter().filter(|listed| !is_known(&listed.pod.uid)).map(|listed| {
            let source = Source::Folder(Some(listed.file.clone()));
            PendingPod::new(listed.pod.clone(), source, None)
        });
        let new: Vec<PendingPod> = new.collect();
        for pending in &new {
            self.refused.remove(&pending.pod.uid);
        }
        self.admissions.extend(new);
    }
}
