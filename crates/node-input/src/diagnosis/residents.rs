//! What runs on a node: its state files, the pods that are bound to it, and the devices that its kubelet lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use node_state::{PodNames, StateFolder};
use pod_spec::{Phase, Pod, PodUid};
use support_bundle::{BundlePod, Document, DocumentKind, NodeEvidence, StateName};
use topology_manifest::{Source, read_pod_resources};

use crate::devices::DeviceText;
use crate::listed_holders::ListedHolders;
use crate::node::LoadedNode;
use crate::residents::Residents;

/// The node of each pod of a bundle, by namespace and name.
pub(super) type BoundPods = BTreeMap<(String, String), String>;

/// What runs on a node, as far as a bundle tells it.
pub(super) struct FoundResidents {
    pub(super) state: StateFolder,
    pub(super) names: PodNames,
    pub(super) devices: Option<DeviceText>,
    /// What pods hold by the kubelet's answer, which counts where no state file tells it.
    pub(super) listed: Option<ListedHolders>,
}

impl FoundResidents {
    pub(super) fn of(evidence: &NodeEvidence, notes: &mut Vec<String>) -> Self {
        let text = |name| evidence.state(name).map(|document| document.text.clone());
        let state = StateFolder {
            cpu: text(StateName::Cpu),
            memory: text(StateName::Memory),
            device: text(StateName::Device),
            allocated: text(StateName::Allocated),
            actuated: text(StateName::Actuated),
            pods: Vec::new(),
        };
        let (running, ended): (Vec<&BundlePod>, Vec<&BundlePod>) =
            evidence.pods.iter().partition(|pod| pod.pod.phase == Phase::Active);
        let running = running.into_iter().map(|pod| Arc::new(pod.pod.clone().delivered()));
        let ended: Vec<Pod> = ended.into_iter().map(|pod| pod.pod.clone()).collect();
        let names = if evidence.pods.is_empty() {
            PodNames::default()
        } else {
            PodNames::running(running).with_ended(&ended)
        };
        let holders = state.holders().unwrap_or_default();
        // A bundle may have the pods of some namespaces alone: what others hold is not free.
        let names = if names_all(&names, &holders) || evidence.pods.is_empty() {
            names
        } else {
            let count = holders.iter().filter(|uid| !names.is_named(uid)).count();
            let pods = if count == 1 { "1 pod holds".to_owned() } else { format!("{count} pods hold") };
            notes.push(format!(
                "{pods} something by the state files and are not among the pods of the bundle: what they hold counts as held; \
                 `kubectl get pods -A -o yaml` lists every pod"
            ));
            names.with_unknown()
        };
        let devices = evidence.of_kind(DocumentKind::PodResources).find_map(listed_devices);
        let listed = evidence.of_kind(DocumentKind::PodResources).find_map(|document| {
            DeviceText { name: document.path.clone(), text: document.text.clone() }.holders()
        });
        Self { state, names, devices, listed }
    }

    /// That a kubelet's answers list pods which are bound to other nodes, as text to be shown; `bound` has the node of each pod of the bundle
    /// by namespace and name.
    pub(super) fn of_other_nodes(evidence: &NodeEvidence, bound: &BoundPods) -> Vec<String> {
        let own = evidence.name.as_deref().unwrap_or_default();
        let mut found = Vec::new();
        for document in evidence.of_kind(DocumentKind::PodResources) {
            let read = Source::from_bytes(&document.path, &document.text).ok();
            let Some(read) = read.and_then(|source| read_pod_resources(&source).ok()) else { continue };
            let others = read.pods.iter().filter_map(|pod| {
                let node = bound.get(&(pod.namespace.clone(), pod.name.clone()))?;
                (node != own).then(|| format!("{}/{}, which is bound to {node}", pod.namespace, pod.name))
            });
            let others: Vec<String> = others.collect();
            if let [first, rest @ ..] = others.as_slice() {
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                found.push(format!("{} is of another node: it lists {first}{more}", document.path));
            }
        }
        found
    }

    /// What runs where no state file tells it: nothing that is known.
    pub(super) fn without_state(node: &LoadedNode) -> Residents {
        let notes = vec![
            "what runs there is not known, since no state file is in the bundle: pods are decided on as if nothing ran".to_owned(),
        ];
        Residents::unknown(node, notes)
    }
}

/// The devices that the answer of a kubelet lists; `None`: it lists only what pods hold.
fn listed_devices(document: &Document) -> Option<DeviceText> {
    let source = Source::from_bytes(&document.path, &document.text).ok()?;
    read_pod_resources(&source).ok()?.allocatable?;
    Some(DeviceText { name: document.path.clone(), text: document.text.clone() })
}

/// Whether all pods that hold something are among those that are named.
fn names_all(names: &PodNames, holders: &BTreeSet<PodUid>) -> bool {
    holders.iter().all(|uid| names.is_named(uid))
}
