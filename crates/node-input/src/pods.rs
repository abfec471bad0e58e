//! Pods in files of manifests.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use node_output::{manifest_error, manifest_style, quoted_error};
use pod_spec::{Pod, PodRules};
use topology_discovery::is_archive;
use topology_manifest::{Manifests, PodLimit, Source, UnknownFields, read_manifests_up_to};

use crate::files;
use crate::folder::diagnosed;

/// Whether everything in some files has become pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wholeness {
    /// It has.
    #[default]
    Whole,
    /// Something is refused or skipped, and a warning has named it.
    Partial,
}

/// The files that are meant by the paths of a command line: of a folder its `.yaml`, `.yml` and `.json` files in the order of
/// their names, not those of folders below it.
///
/// # Errors
/// A folder cannot be read, or has no such file.
pub fn manifest_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed = || format!("failed to read folder {}", path.display());
        let mut found = Vec::new();
        for entry in path.read_dir().with_context(failed)? {
            let file = entry.with_context(failed)?.path();
            let extension = file.extension().and_then(|extension| extension.to_str());
            if matches!(extension, Some("yaml" | "yml" | "json")) && !file.is_dir() {
                found.push(file);
            }
        }
        let shown = path.display();
        ensure!(
            !found.is_empty(),
            "folder {shown} has no .yaml, .yml or .json file; {}",
            diagnosed(&shown.to_string())
        );
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

/// Everything in a file of manifests; `-` is standard input. `unknown` says what becomes of fields that pods do not have.
///
/// # Errors
/// The file cannot be read.
pub fn manifests_in(path: &Path, rules: PodRules, unknown: UnknownFields) -> anyhow::Result<Manifests> {
    let bytes = files::read_list(path)?;
    let name = path.display().to_string();
    ensure!(!is_archive(&bytes), "{name} is an archive, and manifests are text; {}", diagnosed(&name));
    let read = Source::from_list(&files::name(path), &bytes)
        .and_then(|source| read_manifests_up_to(PodLimit::Cluster, &source, rules, unknown));
    Ok(read.map_err(manifest_error)?)
}

/// The pods that a file lists, running or not: all of them, since a pod that is missing counts as gone.
///
/// # Errors
/// The file cannot be read, or one of its pods.
pub(crate) fn listed(path: &Path) -> anyhow::Result<Vec<Pod>> {
    let Manifests { pods, refused, lists, .. } =
        manifests_in(path, PodRules::default(), UnknownFields::Report)?;
    if let Some(refusal) = refused.first() {
        return Err(quoted_error(refusal.render(manifest_style())).into());
    }
    // An empty list says that no pod runs; a file without a list is a mistake.
    ensure!(
        !pods.is_empty() || lists > 0,
        "{} has no pods: expected manifests with UIDs, such as `kubectl get pods -o yaml` prints",
        path.display()
    );
    Ok(pods.into_iter().map(Pod::delivered).collect())
}
