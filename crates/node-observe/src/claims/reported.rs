//! What was reported of claims: each thing once, and again once a claim has other devices.

use std::collections::{BTreeMap, BTreeSet};

use admission_report::{Alignment, WhyElsewhere};
use node_view::{Kind, NodeView, PodName, reason};
use pod_spec::ContainerName;

use super::found::{Found, FoundClaim};

/// A container by the UID of its pod and its name.
type Key = (String, ContainerName);

/// What was reported.
#[derive(Default)]
pub(super) struct Reported {
    /// The devices that lie elsewhere, by container, as the last event has them.
    elsewhere: BTreeMap<Key, BTreeSet<String>>,
    /// What is not known, by container, as the log has it.
    unknown: BTreeMap<Key, BTreeSet<String>>,
    /// Why each source gives nothing, as the log has it.
    failed: BTreeMap<&'static str, String>,
}

impl Reported {
    /// Adds an event for each container some of whose devices lie elsewhere, and logs what is not known. A container of which all is
    /// aligned is forgotten, as is one that is gone.
    pub(super) fn report(&mut self, view: &NodeView, found: &Found) {
        let mut containers: BTreeMap<Key, Vec<&FoundClaim>> = BTreeMap::new();
        for claim in found.claims() {
            let key = (claim.pod.uid.clone(), claim.container.clone());
            containers.entry(key).or_default().push(claim);
        }
        self.elsewhere.retain(|key, _| containers.contains_key(key));
        self.unknown.retain(|key, _| containers.contains_key(key));
        for (key, claims) in &containers {
            let of =
                |alignment| claims.iter().copied().filter(move |found| found.claim.alignment == alignment);
            if let Some(pod) = claims.first().map(|found| &found.pod) {
                self.misaligned(view, pod, key, &of(Alignment::Elsewhere).collect::<Vec<_>>());
                self.not_known(pod, key, of(Alignment::Unknown));
            }
            if of(Alignment::Aligned).count() == claims.len() {
                self.elsewhere.remove(key);
                self.unknown.remove(key);
            }
        }
    }

    fn misaligned(&mut self, view: &NodeView, pod: &PodName, key: &Key, claims: &[&FoundClaim]) {
        let devices: BTreeSet<String> = claims
            .iter()
            .flat_map(|found| found.devices.iter().map(|device| format!("{} {device}", found.claim.claim)))
            .collect();
        if devices.is_empty() || self.elsewhere.get(key) == Some(&devices) {
            return;
        }
        let (_, container) = key;
        let sentences: Vec<String> = claims.iter().map(|found| found.claim.misalignment()).collect();
        let message = format!("{container}: {}; {}", sentences.join("; "), WhyElsewhere::Kubelet);
        tracing::warn!(pod = pod.full(), "{message}");
        view.events.add(Some(pod.clone()), Kind::Warning, reason::CLAIM_NOT_ALIGNED, message);
        self.elsewhere.insert(key.clone(), devices);
    }

    fn not_known<'c>(&mut self, pod: &PodName, key: &Key, claims: impl Iterator<Item = &'c FoundClaim>) {
        let logged = self.unknown.entry(key.clone()).or_default();
        for found in claims {
            let text = found.claim.doubt();
            if !logged.contains(&text) {
                tracing::info!(pod = pod.full(), "{}: {text}", key.1);
                logged.insert(text);
            }
        }
    }

    /// Logs why a source gives nothing, if it was not that before.
    pub(super) fn source_fails(&mut self, source: &'static str, why: &str) {
        if self.failed.get(source).is_none_or(|before| before != why) {
            tracing::warn!("{why}");
            self.failed.insert(source, why.to_owned());
        }
    }

    /// Notes that a source gives something again.
    pub(super) fn source_works(&mut self, source: &'static str) {
        if self.failed.remove(source).is_some() {
            tracing::info!("claims are read again: {source}");
        }
    }
}
