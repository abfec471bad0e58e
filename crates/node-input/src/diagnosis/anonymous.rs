//! A support bundle that tells nothing of whose nodes it is about, and on which is decided as on the original.
//!
//! Nothing is copied: each part is written anew of what is understood of it, in the layout of a must-gather, with made-up names.
//! What decides stays: amounts, CPUs, NUMA nodes, policies, effects of taints, names of resources of public vendors. What is not
//! understood is left out and counted.

mod names;
mod words;
mod plain;
mod shape;
mod state;
mod config;
mod objects;
mod claims;
mod log;
mod xml;
mod machine;
mod holdings;
mod archive;
mod alike;

use std::collections::BTreeMap;

use node_config::Rules;
use pod_claims::ClusterObjects;
use serde_json::{Value, json};
use support_bundle::{Bundle, BundlePod, DocumentKind, NodeEvidence, StateName};

pub use self::alike::differences;
use self::config::Chosen;
use self::machine::Captured;
pub use self::names::{NameKind, Names};
use self::shape::LeftOut;
use super::kubelet::FoundKubelet;
use crate::base_choice::Reading;
use crate::kubelet_version::KubeletVersion;
use crate::object_text::ObjectText;

/// The folder that everything lies in.
const TOP: &str = "anonymous";

/// A bundle with made-up names.
#[derive(Debug)]
pub struct Anonymised {
    /// Paths and contents, in order.
    pub files: Vec<(String, Vec<u8>)>,
    /// What stands in the place of which name.
    pub names: Names,
    /// What was left out, as text to be shown.
    pub left_out: Vec<String>,
}

impl Anonymised {
    /// The files as a `.tar.gz` archive.
    ///
    /// # Errors
    /// A path is too long for an archive.
    pub fn archive(&self) -> anyhow::Result<Vec<u8>> {
        Ok(archive::packed(&self.files)?)
    }
}

/// Makes a bundle anonymous.
///
/// # Errors
/// What was captured of a machine cannot be packed.
pub fn anonymised(bundle: Bundle) -> anyhow::Result<Anonymised> {
    let Bundle { mut nodes, configurations, claims, unbound, remarks, .. } = bundle;
    let mut notes = Vec::new();
    let texts: Vec<ObjectText> =
        claims.iter().map(|own| ObjectText::named(own.path.clone(), own.text.clone())).collect();
    // What cannot be read decides nothing of the original either.
    let objects = ObjectText::objects(&texts);
    let machines: Vec<Vec<Captured>> =
        nodes.iter_mut().map(|node| machine::captured(node, &mut notes)).collect();
    let parts: Vec<Part<'_>> = nodes
        .iter()
        .zip(&machines)
        .map(|(evidence, machines)| {
            let kubelet = FoundKubelet::of(evidence, &configurations, &mut Vec::new(), &mut Vec::new());
            Part { evidence, machines, kubelet }
        })
        .collect();
    // The first round collects names, the second writes with their numbers.
    let known = objects.as_ref().ok();
    let mut first = Writer::default();
    first.all(&parts, known)?;
    let mut writer = Writer { names: first.names.numbered(), ..Writer::default() };
    writer.all(&parts, known)?;
    let Writer { files, names, left_out, notes: more } = writer;
    notes.extend(more);
    let mut count = |count: usize, one: &str, many: &str| match count {
        0 => {}
        1 => notes.push(format!("1 {one}")),
        count => notes.push(format!("{count} {many}")),
    };
    count(
        left_out.members,
        "field of files that decides nothing or is not known",
        "fields of files that decide nothing or are not known",
    );
    let unread = if objects.is_err() { claims.len() } else { 0 };
    count(
        unread,
        "file with slices, device classes and claims that cannot be read",
        "files with slices, device classes and claims that cannot be read",
    );
    count(unbound.len(), "pod that is bound to no node", "pods that are bound to no node");
    count(remarks.len(), "remark about what could not be read", "remarks about what could not be read");
    let mut once = BTreeMap::new();
    for note in notes {
        *once.entry(note).or_insert(0_usize) += 1;
    }
    let left_out = once
        .into_iter()
        .map(|(note, times)| if times > 1 { format!("{note} ({times} times)") } else { note });
    Ok(Anonymised { files, names, left_out: left_out.collect() })
}

/// A node and what was read of it.
struct Part<'b> {
    evidence: &'b NodeEvidence,
    machines: &'b [Captured],
    kubelet: FoundKubelet,
}

/// Writes files.
#[derive(Default)]
struct Writer {
    files: Vec<(String, Vec<u8>)>,
    names: Names,
    left_out: LeftOut,
    notes: Vec<String>,
}

impl Writer {
    fn all(&mut self, parts: &[Part<'_>], objects: Option<&ClusterObjects>) -> anyhow::Result<()> {
        for (at, part) in parts.iter().enumerate() {
            self.node(part, at)?;
        }
        self.pods(parts);
        if let Some(list) = objects.and_then(|objects| claims::written(objects, &mut self.names)) {
            self.add("cluster-scoped-resources/resource.k8s.io/resourceslices/all.yaml", pretty(&list));
        }
        Ok(())
    }

    fn add(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.files.push((format!("{TOP}/{path}"), content.into()));
    }

    /// The files of a node in its folder, and its object.
    fn node(&mut self, part: &Part<'_>, at: usize) -> anyhow::Result<()> {
        let Part { evidence, machines, kubelet } = part;
        // One without a name gets one, since its folder has to be called.
        let name = match &evidence.name {
            Some(name) => self.names.name(NameKind::Node, name),
            None => format!("node-without-name-{}", at + 1),
        };
        let folder = format!("nodes/{name}");
        let reading = Reading::from(kubelet.version.map_or_else(Rules::default, KubeletVersion::rules));
        for (at, captured) in machines.iter().enumerate() {
            let archive = captured.archive(reading, &mut self.names, &mut self.left_out)?;
            self.add(&format!("{folder}/machine-{}.tar.gz", at + 1), archive);
        }
        for (at, text) in machine::texts(evidence, &mut self.notes).into_iter().enumerate() {
            self.add(&format!("{folder}/machine-{}.txt", at + 1), text);
        }
        self.hostnames(evidence, &name, &folder);
        self.state(evidence, &folder);
        let cpus = machines.first().map_or(1, Captured::cpus);
        let chosen = Chosen { config: kubelet.config.as_ref(), reading, cpus };
        let written =
            config::written(evidence, &chosen, &mut self.names, &mut self.left_out, &mut self.notes);
        for config::Written { path, text } in written {
            self.add(&format!("{folder}/{path}"), text);
        }
        for (at, document) in evidence.of_kind(DocumentKind::PodResources).enumerate() {
            match holdings::written(document, &mut self.names) {
                Some(text) => self.add(&format!("{folder}/podresources-{}.json", at + 1), text),
                None => self.notes.push("an answer of podresources that cannot be read".to_owned()),
            }
        }
        for (at, log) in evidence.logs.iter().enumerate() {
            if let Some(text) = log::written(log, &name, &mut self.names) {
                self.add(&format!("{folder}/kubelet-{}.log", at + 1), text);
            }
        }
        let statics = evidence.of_kind(DocumentKind::StaticPod).count();
        if statics > 0 {
            self.notes.push("manifests of static pods: what runs of them is among the pods".to_owned());
        }
        if let Some(object) = &evidence.object {
            let object = objects::node(&object.value, &mut self.names);
            self.add(&format!("cluster-scoped-resources/core/nodes/{name}.yaml"), pretty(&object));
        }
        Ok(())
    }

    /// What the node calls itself: as its folder is called, unless it is called otherwise there.
    fn hostnames(&mut self, evidence: &NodeEvidence, name: &str, folder: &str) {
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let Some(document) = evidence.of_kind(DocumentKind::Hostname).next() else { return };
        let host = String::from_utf8_lossy(&document.text).trim().to_owned();
        let is_same = evidence.name.as_ref().is_none_or(|own| short(own) == short(&host));
        let host = if is_same { name.to_owned() } else { self.names.name(NameKind::Node, &host) };
        self.add(&format!("{folder}/etc/hostname"), format!("{host}\n"));
    }

    /// The files that its kubelet keeps; a second one of a name lies apart.
    fn state(&mut self, evidence: &NodeEvidence, folder: &str) {
        let mut seen = BTreeMap::new();
        for document in &evidence.documents {
            let DocumentKind::State(name) = document.kind else { continue };
            let text = state::renamed(name, &document.text, &mut self.names, &mut self.left_out);
            let number: &mut usize = seen.entry(name).or_default();
            *number += 1;
            let below = if name == StateName::Device { "device-plugins/" } else { "" };
            let apart = if *number == 1 { String::new() } else { format!("z-{number}/") };
            self.add(&format!("{folder}/{apart}var/lib/kubelet/{below}{}", name.file_name()), text);
        }
    }

    /// Pods and events, by namespace.
    fn pods(&mut self, parts: &[Part<'_>]) {
        let mut pods: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut others = 0;
        for Part { evidence, .. } in parts {
            for pod in &evidence.pods {
                let BundlePod { pod: own, .. } = pod;
                let namespace = self.names.namespace(&own.namespace);
                pods.entry(namespace).or_default().push(objects::pod(pod, &mut self.names));
            }
            let node = evidence.name.as_ref().map(|name| self.names.name(NameKind::Node, name));
            for event in &evidence.events {
                match objects::event(&event.value, node.as_deref().unwrap_or_default(), &mut self.names) {
                    Some(value) => {
                        let namespace = self.names.namespace(&event.value.namespace);
                        events.entry(namespace).or_default().push(value);
                    }
                    None => others += 1,
                }
            }
        }
        if others > 0 {
            self.notes.push(format!("{others} events that tell of no refusal"));
        }
        for (kind, all) in [("pods", pods), ("events", events)] {
            for (namespace, items) in all {
                let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
                self.add(&format!("namespaces/{namespace}/core/{kind}.yaml"), pretty(&list));
            }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
