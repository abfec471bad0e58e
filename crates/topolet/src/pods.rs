//! Pods from manifests, as they are asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use admission_report::{KubeletRefusal, Notice};
use anyhow::bail;
use node_input::{Questions, Wholeness, manifest_files, manifests_in, shown_name};
use node_output::{manifest_style, quoted_error};
use pod_spec::{Origin, Pod, PodRules, PodUid};
use topology_manifest::{
    ClaimObjects, ManifestError, Manifests, Owner, Problem, Refusal, Skipped, UnknownFields,
};

use crate::arguments::ReadingArguments;
use crate::patience;
use crate::render::Screen;

/// The pods that are asked about.
#[derive(Default)]
pub(crate) struct Asked {
    /// In order; no two are the same pod.
    pub(crate) pods: Vec<Pod>,
    /// What made those that are made of templates.
    pub(crate) owners: BTreeMap<PodUid, Owner>,
    /// What the kubelet said of those that it did not admit.
    pub(crate) refused: BTreeMap<PodUid, KubeletRefusal>,
    /// Whether everything in the files has become pods.
    pub(crate) wholeness: Wholeness,
}

/// How manifests are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) arguments: ReadingArguments,
    /// Where the node's kubelet reads static pods; `None`: where kubelets usually do.
    pub(crate) static_pods: Option<&'a Path>,
}

/// The pods of all files. What is no pod is named on standard error, and so is what an API server would refuse.
pub(crate) fn from_files(
    files: &[PathBuf],
    reading: Reading<'_>,
    rules: PodRules,
    screen: Screen,
) -> anyhow::Result<Asked> {
    let unknown = if reading.arguments.lenient { UnknownFields::Report } else { UnknownFields::Refuse };
    let mut asked = Asked::default();
    let (mut has_ended, mut claims) = (false, ClaimObjects::default());
    let files = &manifest_files(files)?;
    for path in files {
        let are_static = reading.arguments.are_static || is_static(path, reading.static_pods);
        let rules = if are_static { rules.of_static_pods() } else { rules };
        let Manifests {
            mut pods,
            owners,
            controllers,
            failures,
            refused,
            skipped,
            claim_objects,
            unknown_fields,
            lists: _,
        } = patience::during(&format!("reading {}", shown_name(path)), screen, || {
            manifests_in(path, rules, unknown)
        })?;
        if are_static {
            make_static(&mut pods, &owners)?;
        }
        let render = |refusal: &Refusal| format!("{}{}", refusal.render(manifest_style()), way_out(refusal));
        // With nothing else to do it is the error of the whole command.
        if pods.is_empty() && skipped.is_empty() && files.len() == 1 && !refused.is_empty() {
            return Err(quoted_error(refused.iter().map(render).collect::<Vec<_>>().join("\n")).into());
        }
        for refusal in &refused {
            let Refusal { kind, name, .. } = refusal;
            screen.warn(format_args!("{}\n{kind} {name:?} is left out", render(refusal)));
            asked.wholeness = Wholeness::Partial;
        }
        tell_skipped(&skipped, reading.arguments.strict, screen);
        let is_missing = |skipped: &Skipped| skipped.meant().is_some() || reading.arguments.strict;
        let has_nothing = pods.is_empty() && !skipped.is_empty();
        let is_told = skipped.iter().any(is_missing);
        if has_nothing && !is_told {
            screen.warn(Notice::error(format!("{} has no pods", shown_name(path))));
        }
        if has_nothing || is_told {
            asked.wholeness = Wholeness::Partial;
        }
        for unknown in &unknown_fields {
            screen.warn(unknown.render(manifest_style()));
        }
        claims.extend(claim_objects);
        let Questions { pods, refused, left_out } = Questions::of(pods, &failures);
        has_ended |= left_out.is_some();
        if let Some(text) = left_out {
            screen.warn(Notice::warning(text));
        }
        asked.pods.extend(pods.into_iter().map(Pod::delivered));
        asked.refused.extend(refused);
        asked.owners.extend(owners.into_iter().chain(controllers));
    }
    claims.name_classes(&mut asked.pods);
    if asked.pods.is_empty() && (has_ended || claims != ClaimObjects::default()) {
        screen.warn(Notice::error("no pod is left to decide on"));
        asked.wholeness = Wholeness::Partial;
    }
    refuse_twins(&asked.pods)?;
    Ok(asked)
}

/// Objects without pods in one line; each that is an error in a line of its own.
fn tell_skipped(skipped: &[Skipped], strict: bool, screen: Screen) {
    const MOST: usize = 4;
    let (wrong, others): (Vec<_>, Vec<_>) =
        skipped.iter().partition(|skipped| strict || skipped.meant().is_some());
    for skipped in wrong {
        screen.warn(Notice::error(skipped.to_string()));
    }
    let mut shown: Vec<String> =
        others.iter().take(MOST).map(|skipped| format!("{} {:?}", skipped.kind, skipped.name)).collect();
    match others.len() {
        0 => {}
        1 => screen.warn(format_args!("note: {} is skipped: no pods are read from it", shown.remove(0))),
        count => {
            let more = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
            let shown = shown.join(", ");
            screen.warn(format_args!("note: {shown}{more} are skipped: no pods are read from them"));
        }
    }
}

/// How an object is admitted all the same, as a line.
fn way_out(refusal: &Refusal) -> &'static str {
    let is_unknown = |cause: &ManifestError| matches!(cause.problem(), Problem::UnknownObjectField { .. });
    if refusal.causes.iter().any(is_unknown) { "\n--lenient ignores unknown fields" } else { "" }
}

/// Where kubelets usually read the manifests of static pods.
const STATIC_PODS: &str = "/etc/kubernetes/manifests";

/// Whether a file is where the kubelet reads static pods: one of a folder, or the only one.
fn is_static(path: &Path, static_pods: Option<&Path>) -> bool {
    let place = static_pods.unwrap_or(Path::new(STATIC_PODS));
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

impl Asked {
    /// Leaves out pods that are bound to another node, which the kubelet of this one never sees. Where the node's name is
    /// not known all are kept, and several names are a warning.
    ///
    /// # Errors
    /// None is left.
    pub(crate) fn keep_those_of(&mut self, node: Option<&str>, screen: Screen) -> anyhow::Result<()> {
        let named = |pod: &Pod| pod.constraints.node_name.clone().filter(|name| !name.is_empty());
        let Some(node) = node else {
            let names: BTreeSet<String> = self.pods.iter().filter_map(named).collect();
            if names.len() > 1 {
                let shown: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
                let more = if names.len() > shown.len() { " and others" } else { "" };
                screen.warn(Notice::warning(format!(
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
            screen.warn(Notice::warning(format!("{pods} bound to other nodes than {node}, and left out")));
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
