//! The watched folder: each file in it holds pods that run as long as it is there.
//!
//! A file is usable as a whole or not at all: one bad document spoils it, as in the kubelet. What is wrong with a file
//! is logged once, until the file changes; the pods that came from it stay. A file that changes while it is read is
//! left for the next time. A pipe, socket or device, and a directory that is named like a manifest, is a file that cannot
//! be used.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubelet_checkpoint::store::open_regular;
use pod_spec::{Origin, Phase, Pod, PodRules, PodUid};
use thiserror::Error;
use topology_manifest::{MAX_BYTES, NotAccepted, Source as Text, read_accepted_pods};

use crate::listing::{ListedPod, Listing};
use node_state::ManifestFile;

/// A folder with manifests.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    rules: PodRules,
    files: BTreeMap<PathBuf, WatchedFile>,
    /// Pods in two files that have been reported already.
    twins: Vec<FolderProblem>,
}

/// What is known of a file.
#[derive(Debug, Default)]
struct WatchedFile {
    /// Of the contents when it was last looked at.
    hash: Option<u64>,
    /// The pods when it could be read last; `None`: it never could.
    pods: Option<Vec<Arc<Pod>>>,
    /// Why it cannot be used now.
    fault: Option<String>,
}

/// The folder cannot be read.
#[derive(Debug, Error)]
#[error("failed to read folder {path}")]
pub struct FolderError {
    /// The path of the folder.
    pub path: PathBuf,
    /// The error of the operating system.
    #[source]
    pub error: io::Error,
}

/// What is wrong with a file; reported once, until it changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderProblem {
    /// The path of the file.
    pub file: PathBuf,
    /// What follows from it.
    pub kind: FolderProblemKind,
    /// What is wrong, as text to be shown.
    pub what: String,
}

/// What follows from something wrong in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolderProblemKind {
    /// The file cannot be used, and its pods stay as they are.
    Unusable,
    /// A pod of it is in another file already, which counts.
    Twin,
    /// A field is ignored that pods do not have.
    Ignored,
}

/// A file as it was read.
enum FileContents {
    Whole(Vec<u8>),
    /// It changed meanwhile.
    Moving,
    Failed(io::Error),
}

impl Folder {
    /// A folder that has not been read.
    #[must_use]
    pub fn new(path: &Path, rules: PodRules) -> Self {
        Self { path: path.to_path_buf(), rules, files: BTreeMap::new(), twins: Vec::new() }
    }

    /// Reads what has changed since the last time: all pods, and what is newly wrong.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(&mut self) -> Result<(Listing, Vec<FolderProblem>), FolderError> {
        let failed = |error| FolderError { path: self.path.clone(), error };
        let mut there = BTreeSet::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            // A link counts as what it leads to; one that leads nowhere is a problem.
            let is_folder = fs::metadata(entry.path()).is_ok_and(|about| about.is_dir());
            let is_passed_over = is_folder && !is_named_as_manifest(&entry.path());
            if !is_hidden && !is_passed_over {
                there.insert(entry.path());
            }
        }
        self.files.retain(|path, _| there.contains(path));
        let mut problems = Vec::new();
        for path in there {
            let known = self.files.entry(path.clone()).or_default();
            let new = known.look(&path, self.rules);
            problems.extend(new.into_iter().map(|(kind, what)| FolderProblem {
                file: path.clone(),
                kind,
                what,
            }));
        }
        let (listing, twins) = self.listing();
        problems.extend(twins.iter().filter(|twin| !self.twins.contains(twin)).cloned());
        self.twins = twins;
        Ok((listing, problems))
    }

    /// The files that cannot be used now, and why.
    pub fn unusable(&self) -> impl Iterator<Item = (ManifestFile, &str)> {
        self.files.iter().filter_map(|(path, known)| Some((ManifestFile::at(path), known.fault.as_deref()?)))
    }

    /// All pods; of two that are the same the one in the first file, and the other is a problem.
    fn listing(&self) -> (Listing, Vec<FolderProblem>) {
        let mut twins = Vec::new();
        let mut uids: BTreeMap<PodUid, PathBuf> = BTreeMap::new();
        let mut names: BTreeMap<(String, String), PathBuf> = BTreeMap::new();
        let mut listing = Listing::default();
        for (path, known) in &self.files {
            let file = ManifestFile::at(path);
            // A file that has only been seen in the middle of a write may hold any of its pods.
            if known.fault.is_some() || known.pods.is_none() {
                listing.unusable.insert(file.clone());
            }
            for pod in known.pods.iter().flatten() {
                let named = (pod.namespace.clone(), pod.name.clone());
                match uids.get(&pod.uid).or_else(|| names.get(&named)) {
                    Some(first) if first != path => twins.push(FolderProblem {
                        file: path.clone(),
                        kind: FolderProblemKind::Twin,
                        what: format!("pod {}/{} is in {} already", named.0, named.1, first.display()),
                    }),
                    _ => {
                        uids.insert(pod.uid.clone(), path.clone());
                        names.insert(named, path.clone());
                        listing.pods.push(ListedPod { pod: pod.clone(), file: file.clone() });
                    }
                }
            }
        }
        (listing, twins)
    }
}

impl WatchedFile {
    /// Looks at the file; what is newly wrong with it.
    fn look(&mut self, path: &Path, rules: PodRules) -> Vec<(FolderProblemKind, String)> {
        let (hash, read) = match contents(path) {
            FileContents::Moving => return Vec::new(),
            FileContents::Failed(error) => {
                let what = error.to_string();
                (hash_of(what.as_bytes()), Err(what))
            }
            FileContents::Whole(text) => {
                let hash = hash_of(&text);
                if self.hash == Some(hash) {
                    return Vec::new();
                }
                (hash, pods(path, &text, rules))
            }
        };
        let is_new = self.hash != Some(hash);
        self.hash = Some(hash);
        match read {
            Ok((pods, ignored)) => {
                self.pods = Some(pods);
                self.fault = None;
                ignored.into_iter().map(|what| (FolderProblemKind::Ignored, what)).collect()
            }
            Err(what) => {
                self.fault = Some(what.clone());
                is_new.then_some((FolderProblemKind::Unusable, what)).into_iter().collect()
            }
        }
    }
}

/// Whether a directory of that name is taken for a manifest that something has replaced. Others are passed over, as by
/// the kubelet.
fn is_named_as_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The file, if it is the same before and after.
fn contents(path: &Path) -> FileContents {
    let stamp = |about: &fs::Metadata| (about.len(), about.modified().ok());
    let read = || {
        let file = open_regular(path)?;
        let before = stamp(&file.metadata()?);
        let mut text = Vec::new();
        (&file).take(MAX_BYTES as u64 + 1).read_to_end(&mut text)?;
        Ok((text, before == stamp(&file.metadata()?)))
    };
    match read() {
        Ok((text, true)) => FileContents::Whole(text),
        Ok((_, false)) => FileContents::Moving,
        Err(error) => FileContents::Failed(error),
    }
}

/// The pods of a file, as the kubelet has static pods, and the fields in it that are ignored.
fn pods(path: &Path, text: &[u8], rules: PodRules) -> Result<(Vec<Arc<Pod>>, Vec<String>), String> {
    let name = path.display().to_string();
    let read = Text::from_bytes(&name, text)
        .map_err(NotAccepted::from)
        .and_then(|text| read_accepted_pods(&text, rules.of_static_pods()));
    let read = read.map_err(|error| error.to_string())?;
    let active = read.pods.into_iter().filter(|pod| pod.phase == Phase::Active);
    let pods = active.map(|mut pod| {
        pod.constraints.origin = Origin::Static;
        Arc::new(pod.with_defaults(rules))
    });
    let ignored = read.unknown_fields.iter().map(|unknown| unknown.as_error().to_string());
    Ok((pods.collect(), ignored.collect()))
}
