//! Node files that reproduce a disagreement: a pod that the kubelet refused and that topolet decides on differently.
//!
//! Each is a node file (`topolet capture --node`) with two manifests beside it: the pod, with what both decided in its
//! first lines, and the pods that ran. A file appears as a whole or not at all, the node file last. Of more than [`KEPT`] the
//! oldest are removed.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use node_input::{LoadedMachine, NodeRecorder, Requests};
use node_state::{PodNames, StateFolder, manifest};
use node_view::NodeView;
use node_view::node_sources::NodeSources;
use pod_spec::Pod;
use serde_json::json;

use super::pods::Refusal;

/// How many node files are kept.
const KEPT: usize = 20;
/// How their names begin.
const PREFIX: &str = "disagreement-";
/// How the name of a node file ends.
const NODE: &str = ".tar.zst";
/// How the names of those beside it end: the pod, and the pods that ran.
const POD: &str = ".tar.zst.pod.yaml";
const PODS: &str = ".tar.zst.pods.json";
/// The most characters of a pod's name in the names of its files, which have at most 255 bytes.
const LONGEST: usize = 150;

/// A folder of node files.
pub struct Disagreements {
    folder: PathBuf,
    recorder: NodeRecorder,
}

/// The content of a node file.
struct Moment {
    state: StateFolder,
    names: PodNames,
    /// The manifests of all pods; `None`: not all are known.
    residents: Option<serde_json::Value>,
}

impl Disagreements {
    /// Makes the folder.
    ///
    /// # Errors
    /// It is in the kubelet's root folder or cannot be made, or the machine cannot be packed.
    pub fn new(
        folder: &Path,
        root: &Path,
        sources: &NodeSources,
        machine: &LoadedMachine,
    ) -> anyhow::Result<Self> {
        let (shown, shown_root) = (folder.display(), root.display());
        // What a link leads to, too, and before anything is made.
        let there = resolved(folder)?;
        ensure!(
            !there.starts_with(resolved(root)?),
            "--disagreements {shown} is in the kubelet's root folder {shown_root}, in which nothing is written: name another folder"
        );
        fs::create_dir_all(folder).with_context(|| format!("failed to make --disagreements {shown}"))?;
        let recorder = sources.recorder(machine).with_context(|| format!("--disagreements {shown}"))?;
        Ok(Self { folder: there, recorder })
    }

    /// Writes a node file of the node as it is served, and logs its path. `here` is topolet's decision.
    pub(super) fn pack(&self, view: &NodeView, refusal: &Refusal, pod: &Pod, here: &str) {
        let name = &refusal.name;
        match self.packed(view, refusal, pod, here) {
            Ok((file, replay)) => {
                let file = file.display().to_string();
                tracing::info!(pod = name, file, replay, "the node is packed as it was decided on");
            }
            Err(error) => tracing::warn!(pod = name, "the node cannot be packed: {error:#}"),
        }
        match self.remove_oldest() {
            Ok(0) => {}
            Ok(removed) => {
                let folder = self.folder.display();
                tracing::info!(removed, "the oldest node files in {folder} are removed, {KEPT} are kept");
            }
            Err(error) => tracing::warn!("old node files cannot be removed: {error:#}"),
        }
    }

    /// The node file, and the command that decides on the pod again.
    fn packed(
        &self,
        view: &NodeView,
        refusal: &Refusal,
        pod: &Pod,
        here: &str,
    ) -> anyhow::Result<(PathBuf, String)> {
        let moment = Moment::of(view, pod);
        // Names of pods have no `_`. Two long names that are cut alike differ by the time, and in the files.
        let name: String = refusal.name.replace('/', "_").chars().take(LONGEST).collect();
        let time = view.clock.text().replace(':', "");
        let path = |end: &str| self.folder.join(format!("{PREFIX}{time}-{name}{end}"));
        let (node, pod_file, pods_file) = (path(NODE), path(POD), path(PODS));
        let shown = |path: &Path| quoted(&path.display().to_string());
        let mut replay = format!("topolet explain -m {} -f {}", shown(&node), shown(&pod_file));
        if moment.residents.is_some() {
            replay.push_str(&format!(" --pods {}", shown(&pods_file)));
        }
        for argument in self.recorder.arguments() {
            replay.push_str(&format!(" {}", quoted(argument)));
        }
        let one_line = |text: &str| text.replace(['\n', '\r'], " ");
        let head = format!(
            "# refused by the kubelet: {}: {}\n# decided here: {}\n# {}\n",
            one_line(&refusal.reason),
            one_line(&refusal.message),
            one_line(here),
            one_line(&replay)
        );
        // JSON is YAML.
        let text = head + &serde_json::to_string_pretty(&manifest(pod))? + "\n";
        self.write(&pod_file, text.as_bytes())?;
        if let Some(residents) = &moment.residents {
            self.write(&pods_file, serde_json::to_string_pretty(residents)?.as_bytes())?;
        }
        let ledger = &view.snapshot().ledger;
        let archive = self.recorder.file(moment.state, moment.names, ledger.inventory())?;
        self.write(&node, &archive)?;
        Ok((node, replay))
    }

    /// Writes a file that is there as a whole, or not at all.
    fn write(&self, path: &Path, content: &[u8]) -> anyhow::Result<()> {
        let begun = path.with_added_extension("tmp");
        let written = File::create(&begun)
            .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&begun, path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        if written.is_err() {
            // Half a file is of no use.
            let _ = fs::remove_file(&begun);
        }
        written.with_context(|| format!("failed to write {}", path.display()))
    }

    /// Removes all but the last [`KEPT`] node files with their manifests, and unfinished files; returns how many node files were
    /// removed.
    fn remove_oldest(&self) -> anyhow::Result<usize> {
        let failed = || format!("failed to read {}", self.folder.display());
        let mut moments = Vec::new();
        for entry in fs::read_dir(&self.folder).with_context(failed)? {
            let name = entry.with_context(failed)?.file_name().to_string_lossy().into_owned();
            if let Some(moment) = name.strip_prefix(PREFIX).and_then(|name| name.split(NODE).next()) {
                moments.push((moment.to_owned(), name));
            }
        }
        moments.sort();
        let mut kept: Vec<&String> = moments.iter().map(|(moment, _)| moment).collect();
        kept.dedup();
        let first_kept = kept.len().saturating_sub(KEPT);
        let gone = &kept[..first_kept];
        let mut removed = 0;
        for (moment, name) in &moments {
            if gone.contains(&moment) {
                let path = self.folder.join(name);
                fs::remove_file(&path).with_context(|| format!("failed to remove {}", path.display()))?;
                removed += usize::from(name.ends_with(NODE));
            }
        }
        Ok(removed)
    }
}

impl Moment {
    /// The node as it is served now, without the pod that was refused.
    fn of(view: &NodeView, refused: &Pod) -> Self {
        let snapshot = view.snapshot();
        let others =
            || snapshot.pods.values().map(|record| &*record.pod).filter(|pod| pod.uid != refused.uid);
        let name = |pod: &Pod| {
            if pod.namespace.is_empty() {
                pod.name.clone()
            } else {
                format!("{}/{}", pod.namespace, pod.name)
            }
        };
        let state = view.observed.latest().map(|observed| observed.folder.clone()).unwrap_or_default();
        let all_are_known = view.requests() == Requests::OfEveryPod && !state.is_empty();
        let residents = all_are_known.then(|| {
            let items: Vec<_> = others().map(manifest).collect();
            json!({ "apiVersion": "v1", "kind": "List", "items": items })
        });
        let names = PodNames::of(others().map(|pod| (pod.uid.clone(), name(pod))));
        Self { state, names, residents }
    }
}

/// A path with its links resolved; its last parts may not exist yet.
fn resolved(path: &Path) -> anyhow::Result<PathBuf> {
    let failed = || format!("failed to look at {}", path.display());
    let whole = std::path::absolute(path).with_context(failed)?;
    let there = whole.ancestors().find(|part| part.exists()).unwrap_or(Path::new("/"));
    let rest = whole.strip_prefix(there).unwrap_or(Path::new(""));
    // `..` behind a missing folder cannot be resolved.
    let is_plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    ensure!(is_plain, "{} leads back by `..` from a folder that is not there", path.display());
    Ok(there.canonicalize().with_context(failed)?.join(rest))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(quoted("/var/lib/a-b_c.tar.zst"), "/var/lib/a-b_c.tar.zst");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_path_is_resolved_before_it_is_there() {
        let own = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let root = own.path().join("kubelet");
        fs::create_dir(&root).unwrap_or_else(|error| panic!("{error}"));
        std::os::unix::fs::symlink(&root, own.path().join("link")).unwrap_or_else(|error| panic!("{error}"));
        let of = |path: &str| resolved(&own.path().join(path)).map_err(|error| error.to_string());
        let root = root.canonicalize().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(of("link/new/one"), Ok(root.join("new/one")));
        assert!(of("new/one").is_ok_and(|path| !path.starts_with(&root)));
        assert!(of("none/../kubelet/x").is_err());
    }
}
