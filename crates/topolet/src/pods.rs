//! Pods from manifests, as they are asked about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use pod_spec::{Phase, Pod};
use topology_manifest::{Source, read_pods};

use crate::document;
use crate::render::{Screen, manifest_style};

/// The pods of all files, in order; no two are the same pod.
pub(crate) fn from_files(files: &[PathBuf]) -> anyhow::Result<Vec<Pod>> {
    let mut pods = Vec::new();
    for path in files {
        pods.extend(from_file(path)?);
    }
    refuse_twins(&pods)?;
    Ok(pods)
}

fn from_file(path: &Path) -> anyhow::Result<Vec<Pod>> {
    let bytes = document::read(path)?;
    let name = if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() };
    let pods = Source::from_bytes(&name, &bytes)
        .and_then(|source| read_pods(&source))
        .map_err(|error| anyhow::anyhow!(error.render(manifest_style())))?;
    Ok(pods.into_iter().map(Pod::delivered).collect())
}

/// The pods that have not ended; the others hold nothing.
pub(crate) fn active(pods: Vec<Pod>, screen: Screen) -> Vec<Pod> {
    let (active, ended): (Vec<Pod>, Vec<Pod>) = pods.into_iter().partition(|pod| pod.phase == Phase::Active);
    for pod in ended {
        screen.warn(format_args!("warning: pod {}/{} has ended and is left out", pod.namespace, pod.name));
    }
    active
}

/// A pod that is there twice would be admitted beside itself.
fn refuse_twins(pods: &[Pod]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for pod in pods {
        if !seen.insert(&pod.uid) {
            bail!("pod {}/{} is there twice; give one of them another name", pod.namespace, pod.name);
        }
    }
    Ok(())
}
