//! Pods from manifests, as they are asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use admission_report::{KubeletRefusal, Notice};
use anyhow::bail;
use node_output::{manifest_style, quoted_error};
use pod_claims::ClusterObjects;
use pod_spec::{Origin, Pod, PodRules, PodUid};
use topology_manifest::{ClaimObjects, Manifests, Owner, Refusal, Skipped, UnknownFields};

use crate::files::name as shown_name;
use crate::object_text::{ObjectText, cluster_objects};
use crate::pods::{Wholeness, manifest_files, manifests_in};
use crate::questions::Questions;

/// The pods that are asked about.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// In order; no two are the same pod.
    pub pods: Vec<Pod>,
    /// What made those that are made of templates.
    pub owners: BTreeMap<PodUid, Owner>,
    /// Those that do not run beside the other pods of their owner: steps and alternatives.
    pub apart: BTreeSet<PodUid>,
    /// The kubelet's reason and message for those that it did not admit.
    pub refused: BTreeMap<PodUid, KubeletRefusal>,
    /// The objects that decide on claims.
    pub objects: ClusterObjects,
    /// Whether everything in the files has become pods.
    pub wholeness: Wholeness,
}

/// Who hears of what is found while pods are read.
pub trait Listener {
    /// Something is left out, skipped or in doubt: text to be shown, with or without the lines that it is about.
    fn warn(&self, text: impl Display);

    /// Does `work`, which may take long; `what` says what it is, as in `reading pods.yaml`.
    fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T;
}

/// What becomes of objects that make no pods, such as Services.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodlessObjects {
    /// They are skipped with a note.
    Skipped,
    /// They are errors.
    Refused,
}

/// Which pods are static pods of a kubelet's manifests folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StaticPods<'a> {
    /// All.
    All,
    /// Those of files in the folder where the node's kubelet reads static pods, or of this file; `None`: where kubelets
    /// usually do.
    At(Option<&'a Path>),
}

/// How manifests are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ManifestReading<'a> {
    /// What becomes of fields that pods do not have.
    pub unknown: UnknownFields,
    /// What becomes of objects without pods.
    pub podless: PodlessObjects,
    /// Which pods are static.
    pub static_pods: StaticPods<'a>,
}

impl Asked {
    /// The pods of all files. `listener` hears of what is no pod, and of what an API server would refuse.
    ///
    /// # Errors
    /// A file cannot be read, the only file has nothing but refused objects, a static pod is none, or a pod is there twice.
    pub fn from_files(
        files: &[PathBuf],
        reading: ManifestReading<'_>,
        rules: PodRules,
        listener: &impl Listener,
    ) -> anyhow::Result<Self> {
        from_files(files, reading, rules, listener)
    }

    /// The same beside what a cluster has, of which objects of the files replace those of the same kind and name.
    ///
    /// # Errors
    /// An object of the cluster cannot be read.
    pub fn in_cluster(mut self, listed: &[ObjectText]) -> anyhow::Result<Self> {
        let own = std::mem::replace(&mut self.objects, ObjectText::objects(listed)?);
        self.objects.extend(own);
        Ok(self)
    }
}

fn from_files(
    files: &[PathBuf],
    reading: ManifestReading<'_>,
    rules: PodRules,
    listener: &impl Listener,
) -> anyhow::Result<Asked> {
    let ManifestReading { unknown, podless, static_pods } = reading;
    let mut asked = Asked::default();
    let (mut has_ended, mut claims) = (false, ClaimObjects::default());
    let mut without_pods = Vec::new();
    let files = &manifest_files(files)?;
    for path in files {
        let are_static = is_static(path, static_pods);
        let rules = if are_static { rules.of_static_pods() } else { rules };
        let Manifests {
            mut pods,
            owners,
            apart,
            remarks,
            controllers,
            failures,
            refused,
            skipped,
            claim_objects,
            resources,
            unknown_fields,
            unnoticed,
            lists: _,
            nodes: _,
            events: _,
        } = listener
            .during(&format!("reading {}", shown_name(path)), || manifests_in(path, rules, unknown))?;
        if are_static {
            make_static(&mut pods, &owners)?;
        }
        let render = |refusal: &Refusal| {
            let way_out = refusal.way_out().map(|way_out| format!("\n{way_out}"));
            format!("{}{}", refusal.render(manifest_style()), way_out.unwrap_or_default())
        };
        // With nothing else to do it is the error of the whole command.
        if pods.is_empty() && skipped.is_empty() && files.len() == 1 && !refused.is_empty() {
            return Err(quoted_error(refused.iter().map(render).collect::<Vec<_>>().join("\n")).into());
        }
        for refusal in &refused {
            let Refusal { kind, name, .. } = refusal;
            listener.warn(format_args!("{}\n{kind} {name:?} is left out", render(refusal)));
            asked.wholeness = Wholeness::Partial;
        }
        let is_missing = |skipped: &Skipped| is_wrong(skipped, podless);
        // A note says why an object makes none.
        let has_nothing = pods.is_empty() && !skipped.is_empty() && remarks.is_empty();
        let is_told = skipped.iter().any(is_missing);
        match skipped.as_slice() {
            [alone] if has_nothing && !is_told => {
                let note = format!("note: {}", without(alone));
                without_pods.push((alone.to_string(), alone.instead(), Some(note)));
            }
            skipped => {
                tell_skipped(skipped, podless, listener);
                if has_nothing && !is_told {
                    let instead = skipped.iter().find_map(Skipped::instead);
                    without_pods.push((format!("{} has no pods", shown_name(path)), instead, None));
                }
            }
        }
        if is_told {
            asked.wholeness = Wholeness::Partial;
        }
        for remark in &remarks {
            listener.warn(format_args!("note: {remark}"));
        }
        for ignored in unknown_fields.iter().chain(&unnoticed) {
            listener.warn(ignored.render(manifest_style()));
        }
        claims.extend(claim_objects);
        asked.objects.extend(cluster_objects(resources));
        let Questions { pods, refused, left_out } = Questions::of(pods, &failures);
        has_ended |= left_out.is_some();
        if let Some(text) = left_out {
            listener.warn(Notice::warning(text));
        }
        asked.pods.extend(pods.into_iter().map(Pod::delivered));
        asked.refused.extend(refused);
        asked.owners.extend(owners.into_iter().chain(controllers));
        asked.apart.extend(apart);
    }
    // Beside other pods a file without any is a note.
    let is_all = asked.pods.is_empty();
    for (text, instead, note) in without_pods {
        if is_all {
            let instead = instead.map(|instead| format!(": expected {instead}")).unwrap_or_default();
            listener.warn(Notice::error(format!("{text}{instead}")));
            asked.wholeness = Wholeness::Partial;
        } else if let Some(note) = note {
            listener.warn(note);
        }
    }
    claims.name_classes(&mut asked.pods);
    if asked.pods.is_empty() && (has_ended || claims != ClaimObjects::default()) {
        listener.warn(Notice::error("no pod is left to decide on"));
        asked.wholeness = Wholeness::Partial;
    }
    refuse_twins(&asked.pods)?;
    Ok(asked)
}

/// That an object has no pods.
fn without(skipped: &Skipped) -> String {
    format!("{} {:?} has no pods", skipped.kind, skipped.name)
}

/// Reports objects without pods: each that is an error in a separate line, the others in one.
fn tell_skipped(skipped: &[Skipped], podless: PodlessObjects, listener: &impl Listener) {
    const MOST: usize = 4;
    let (wrong, others): (Vec<_>, Vec<_>) = skipped.iter().partition(|skipped| is_wrong(skipped, podless));
    for skipped in wrong {
        listener.warn(Notice::error(skipped.to_string()));
    }
    let mut shown: Vec<String> =
        others.iter().take(MOST).map(|skipped| format!("{} {:?}", skipped.kind, skipped.name)).collect();
    match others.len() {
        0 => {}
        1 => listener.warn(format_args!("note: {} has no pods", shown.remove(0))),
        count => {
            let more = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
            let shown = shown.join(", ");
            listener.warn(format_args!("note: {shown}{more} have no pods"));
        }
    }
}

/// Whether an object without pods is an error: by its name it should have some, or none may be there.
fn is_wrong(skipped: &Skipped, podless: PodlessObjects) -> bool {
    skipped.meant().is_some() || podless == PodlessObjects::Refused
}

/// Where kubelets usually read the manifests of static pods.
const STATIC_PODS: &str = "/etc/kubernetes/manifests";

/// Whether the pods of a file are static: all are, or it is where the kubelet reads them, one of a folder or the only one.
fn is_static(path: &Path, static_pods: StaticPods<'_>) -> bool {
    let StaticPods::At(place) = static_pods else { return true };
    let place = place.unwrap_or(Path::new(STATIC_PODS));
    let (Ok(path), Ok(place)) = (path.canonicalize(), place.canonicalize()) else { return false };
    path == place || path.parent() == Some(&place)
}

/// The pods are those of a kubelet's manifests folder, which takes pods only.
fn make_static(pods: &mut [Pod], owners: &BTreeMap<PodUid, Owner>) -> anyhow::Result<()> {
    if let Some(owner) = owners.values().next() {
        bail!("{owner} is no static pod: a kubelet reads only `kind: Pod` from its manifests folder");
    }
    for pod in pods {
        pod.constraints.origin = Origin::Static;
    }
    Ok(())
}

/// What decides on claims, where nothing is decided on them.
const CLAIMS_ELSEWHERE: &str =
    "claims of devices are not decided here: topolet admit decides them, by slices and device classes";

impl Asked {
    /// What decides on the claims of these pods, for who decides on them without; `None`: no pod has any.
    #[must_use]
    pub fn claims_elsewhere(&self) -> Option<String> {
        let has_claims = self.pods.iter().any(|pod| !pod.constraints.claims.is_empty());
        has_claims.then(|| CLAIMS_ELSEWHERE.to_owned())
    }

    /// Leaves out pods that are bound to another node, which the kubelet of this one never sees. Where the node's name is
    /// not known all are kept, and several names are a warning.
    ///
    /// # Errors
    /// None is left.
    pub fn keep_those_of(&mut self, node: Option<&str>, listener: &impl Listener) -> anyhow::Result<()> {
        let named = |pod: &Pod| pod.constraints.node_name.clone().filter(|name| !name.is_empty());
        let Some(node) = node else {
            let names: BTreeSet<String> = self.pods.iter().filter_map(named).collect();
            if names.len() > 1 {
                let shown: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
                let more = if names.len() > shown.len() { " and others" } else { "" };
                listener.warn(Notice::warning(format!(
                    "these are pods of {} nodes, {}{more}: --node-name NAME takes those of one",
                    names.len(),
                    shown.join(", ")
                )));
            }
            return Ok(());
        };
        let before = self.pods.len();
        self.pods.retain(|pod| named(pod).is_none_or(|name| name == node));
        let of_others = before - self.pods.len();
        let pods = if of_others == 1 { "1 pod is".to_owned() } else { format!("{of_others} pods are") };
        if of_others > 0 && self.pods.is_empty() {
            bail!("{pods} bound to other nodes than {node}, and none is left");
        }
        if of_others > 0 {
            listener.warn(Notice::warning(format!("{pods} bound to other nodes than {node}, and left out")));
        }
        Ok(())
    }
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
