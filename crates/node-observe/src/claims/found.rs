//! What is found of the claims of a node: where their devices lie, in one condition, and by driver.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use admission_report::{Alignment, ContainerClaim, DecidedClaims, WhyElsewhere};
use node_view::{ClaimDevices, ClaimsFound, PodName};
use pod_spec::{ContainerKey, ContainerName, Role};
use topology_admission::{Ledger, Node};

use super::held::HeldClaims;

/// So many claims are named in the condition.
const MOST_NAMED: usize = 3;

/// The claims of containers that hold CPUs or memory, in the order of pods, containers and claims; and those of all.
pub(super) struct Found {
    pinned: Vec<FoundClaim>,
    all: BTreeMap<ContainerKey, Vec<ContainerClaim>>,
}

/// A claim of a container.
pub(super) struct FoundClaim {
    pub(super) pod: PodName,
    pub(super) container: ContainerName,
    pub(super) claim: ContainerClaim,
    /// Its devices in the container, as `driver/pool/device`.
    pub(super) devices: BTreeSet<String>,
}

impl Found {
    /// Of these claims, beside what their containers hold on the ledger.
    pub(super) fn of(node: &Node, ledger: &Ledger, held: &[HeldClaims<'_>]) -> Self {
        let (mut pinned, mut all) = (Vec::new(), BTreeMap::<ContainerKey, Vec<ContainerClaim>>::new());
        for HeldClaims { pod, decided, unknown } in held {
            // Init containers have ended.
            for container in pod.containers.iter().filter(|container| container.role != Role::Init) {
                let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
                let known = ContainerClaim::held(node, ledger, &key, decided);
                let unknown = unknown.iter().filter(|claim| claim.containers.contains(&container.name));
                let unknown = unknown.filter_map(|claim| {
                    ContainerClaim::without_devices(node, ledger, &key, &claim.name, &claim.why)
                });
                let claims: Vec<ContainerClaim> = known.into_iter().chain(unknown).collect();
                let own = claims.iter().filter(|claim| claim.alignment != Alignment::NothingPinned);
                pinned.extend(own.map(|claim| FoundClaim {
                    pod: (*pod).into(),
                    container: container.name.clone(),
                    devices: devices(decided, &claim.claim, container.name.as_str()),
                    claim: claim.clone(),
                }));
                if !claims.is_empty() {
                    all.insert(key, claims);
                }
            }
        }
        pinned.sort_by(|a, b| a.place().cmp(&b.place()));
        Self { pinned, all }
    }

    /// The claims.
    pub(super) fn claims(&self) -> &[FoundClaim] {
        &self.pinned
    }

    /// Those of each container, of one without CPUs and memory too.
    pub(super) fn of_containers(&self) -> BTreeMap<ContainerKey, Vec<ContainerClaim>> {
        self.all.clone()
    }

    /// Whether all devices lie where CPUs and memory are; `None`: no container with CPUs or memory has a claim.
    pub(super) fn condition(&self) -> Option<ClaimsFound> {
        let of = |alignment| self.pinned.iter().filter(move |found| found.claim.alignment == alignment);
        let mut elsewhere: Vec<&FoundClaim> = of(Alignment::Elsewhere).collect();
        let unknown: Vec<&FoundClaim> = of(Alignment::Unknown).collect();
        if self.pinned.is_empty() {
            return None;
        }
        if elsewhere.is_empty() && unknown.is_empty() {
            return Some(ClaimsFound::Aligned);
        }
        if elsewhere.is_empty() {
            let unknown = named(&unknown, ContainerClaim::doubt);
            return Some(ClaimsFound::Unknown(unknown));
        }
        // The worst first; the sort keeps the order of equal ones.
        elsewhere.sort_by_key(|found| Reverse(found.devices_elsewhere()));
        let mut message = named(&elsewhere, ContainerClaim::misalignment);
        message.push_str(&format!("; {}", WhyElsewhere::Kubelet));
        if let Some(more) = Some(unknown.len()).filter(|more| *more > 0) {
            let claims = if more == 1 { "claim" } else { "claims" };
            message.push_str(&format!("; of {more} {claims} it is not known"));
        }
        Some(ClaimsFound::Elsewhere(message))
    }

    /// How many devices of each driver lie where.
    pub(super) fn by_driver(&self) -> Vec<ClaimDevices> {
        let mut drivers: BTreeMap<&str, ClaimDevices> = BTreeMap::new();
        for (driver, counts) in self.pinned.iter().flat_map(|found| &found.claim.drivers) {
            let all = drivers.entry(driver).or_default();
            all.driver.clone_from(driver);
            all.aligned += counts.aligned;
            all.elsewhere += counts.elsewhere;
            all.unknown += counts.unknown;
        }
        drivers.into_values().collect()
    }
}

impl FoundClaim {
    /// What claims are ordered by.
    fn place(&self) -> (&str, &str, &str, &str) {
        let PodName { namespace, name, .. } = &self.pod;
        (namespace, name, self.container.as_str(), &self.claim.claim)
    }

    fn devices_elsewhere(&self) -> usize {
        self.claim.elsewhere.iter().map(|devices| devices.devices.len()).sum()
    }
}

/// The first few claims with a sentence each, and how many more there are.
fn named(all: &[&FoundClaim], sentence: fn(&ContainerClaim) -> String) -> String {
    let first = all.iter().take(MOST_NAMED).map(|found| {
        format!("container {} of pod {}: {}", found.container, found.pod.full(), sentence(&found.claim))
    });
    let mut text = first.collect::<Vec<_>>().join("; ");
    if let Some(more) = all.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

fn devices(decided: &DecidedClaims, claim: &str, container: &str) -> BTreeSet<String> {
    let own = decided.claims.iter().filter(|own| own.name == claim);
    let devices = own.flat_map(|own| own.devices_of(container));
    devices.map(|device| format!("{}/{}/{}", device.driver, device.pool, device.device)).collect()
}
