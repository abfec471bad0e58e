//! Pods that a kubelet refused, by their status, by events and by lines of its log, and the decisions on them here.

use std::collections::BTreeMap;

use admission_report::KubeletRefusal;
use node_output::{RefusedPod, SightedBy, Sighting};
use pod_spec::Pod;
use support_bundle::{BundlePod, NodeEvidence};

use super::decides::{Decides, Pictures};

/// The pods that a node refused, by namespace and name.
pub(super) struct Refusals(BTreeMap<(String, String), Told>);

/// What tells of a refusal.
struct Told {
    uid: String,
    said: KubeletRefusal,
    seen: Vec<Sighting>,
}

impl Refusals {
    /// Those that a bundle tells of; `wanted` is the name of a pod, with or without its namespace.
    pub(super) fn of(evidence: &NodeEvidence, wanted: Option<&str>) -> Self {
        let mut all = Self(BTreeMap::new());
        for BundlePod { pod, failure, path } in &evidence.pods {
            let said = failure.as_ref().and_then(|own| KubeletRefusal::of_status(&own.reason, &own.message));
            if let Some(said) = said {
                let seen = sighting(SightedBy::Status, path);
                all.add(&pod.namespace, &pod.name, pod.uid.as_str(), said, seen);
            }
        }
        for event in &evidence.events {
            let own = &event.value;
            if let Some(said) = KubeletRefusal::of_status(&own.reason, &own.message) {
                let seen = Sighting { time: some(&own.last_seen), ..sighting(SightedBy::Event, &event.path) };
                all.add(&own.namespace, &own.name, &own.uid, said, seen);
            }
        }
        for log in &evidence.logs {
            for refusal in &log.refusals {
                let place = &refusal.place;
                let seen = Sighting {
                    line: Some(place.line),
                    time: some(&place.time),
                    ..sighting(SightedBy::Log, &log.path)
                };
                all.add(&refusal.namespace, &refusal.name, &refusal.uid, refusal.said.clone(), seen);
            }
        }
        if let Some(wanted) = wanted {
            let is_wanted = |(namespace, name): &(String, String)| {
                wanted == name || wanted.split_once('/') == Some((namespace.as_str(), name.as_str()))
            };
            all.0.retain(|pod, _| is_wanted(pod));
        }
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, namespace: &str, name: &str, uid: &str, said: KubeletRefusal, seen: Sighting) {
        let key = (namespace.to_owned(), name.to_owned());
        let told = self.0.entry(key).or_insert_with(|| Told { uid: uid.to_owned(), said, seen: Vec::new() });
        if told.uid.is_empty() {
            uid.clone_into(&mut told.uid);
        }
        match told.seen.iter_mut().find(|own| own.by == seen.by && own.file == seen.file) {
            Some(own) => *own = Sighting { count: own.count + 1, ..seen },
            None => told.seen.push(seen),
        }
    }

    /// Each with the decision on it, if `node` decides; its error says why it does not.
    pub(super) fn decided(
        self,
        evidence: &NodeEvidence,
        node: Result<&Decides, &str>,
        pictures: Pictures,
    ) -> Vec<RefusedPod> {
        let refused = self.0.into_iter().map(|((namespace, name), told)| {
            let Told { uid, said, seen } = told;
            let mut notes = Vec::new();
            let pod = manifest(evidence, &namespace, &name, &uid, &mut notes);
            let decision = match (node, pod) {
                (Ok(node), Some(pod)) => match node.decide(pod, &said, pictures) {
                    // On an empty node, which it was not.
                    Ok((report, _)) if report.is_admitted() && !node.knows_residents => {
                        Err("a node on which nothing runs admits it: what others held then decided, and no state file is in the bundle"
                            .to_owned())
                    }
                    decided => decided.map_err(|error| format!("{error:#}")),
                },
                (Ok(_), None) => Err("its manifest is not in the bundle; `kubectl get pod -o yaml` prints it until it is deleted".to_owned()),
                (Err(why), _) => Err(why.to_owned()),
            };
            let (decision, picture, not_decided) = match decision {
                Ok((report, picture)) => (Some(report), picture, None),
                Err(why) => (None, None, Some(why)),
            };
            RefusedPod { pod: format!("{namespace}/{name}"), said, seen, decision, picture, not_decided, notes }
        });
        refused.collect()
    }
}

fn sighting(by: SightedBy, file: &str) -> Sighting {
    Sighting { by, file: file.to_owned(), line: None, time: None, count: 1 }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The pod as it was refused, or a later one of its name.
fn manifest(
    evidence: &NodeEvidence,
    namespace: &str,
    name: &str,
    uid: &str,
    notes: &mut Vec<String>,
) -> Option<Pod> {
    let is_it = |pod: &&BundlePod| pod.pod.namespace == namespace && pod.pod.name == name;
    let named: Vec<&BundlePod> = evidence.pods.iter().filter(is_it).collect();
    let same = named.iter().find(|pod| uid.is_empty() || pod.pod.uid.as_str() == uid);
    if let Some(pod) = same {
        return Some(pod.pod.clone());
    }
    let other = named.first()?;
    notes.push("its manifest is that of another pod of its name, which came before or after it".to_owned());
    Some(other.pod.clone())
}
