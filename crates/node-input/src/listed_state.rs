//! What pods hold by a kubelet's answer of `List`, where no state file tells it: as the state files in which a kubelet would have
//! written the same.
//!
//! The answer has no UIDs. Where the pods' manifests are known theirs are taken, and else `NAMESPACE/NAME`.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use device_manager::{AllocateReply, DeviceId, Held, HeldOn, Holdings};
use kubelet_checkpoint::memory::Block;
use node_state::{PodNames, StateFolder, files};
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_manifest::{NodeHoldings, PodHoldings};
use topology_model::NodeId;

use crate::listed_holders::ListedHolders;
use crate::node::LoadedNode;
use crate::source::Resident;

impl ListedHolders {
    /// The pods with their holdings as the state files of that node.
    ///
    /// # Errors
    /// They do not fit the node.
    pub(crate) fn resident(&self, node: &LoadedNode, names: &PodNames) -> anyhow::Result<Resident> {
        let known: BTreeMap<String, &PodUid> =
            names.specs().iter().map(|(uid, pod)| (format!("{}/{}", pod.namespace, pod.name), uid)).collect();
        let uid = |pod: &PodHoldings| {
            let name = format!("{}/{}", pod.namespace, pod.name);
            known.get(&name).map_or_else(|| PodUid::new(&name), |uid| (*uid).clone())
        };
        let pods: Vec<(PodUid, &PodHoldings)> = self.pods.iter().map(|pod| (uid(pod), pod)).collect();
        // The kubelet lists pods that run, also where another list lacks them.
        let names = if names.specs().is_empty() {
            PodNames::of(
                pods.iter().map(|(uid, pod)| (uid.clone(), format!("{}/{}", pod.namespace, pod.name))),
            )
        } else if pods.iter().all(|(uid, _)| names.is_named(uid)) {
            names.clone()
        } else {
            names.clone().with_unknown()
        };
        let folder = StateFolder {
            cpu: Some(cpu(node, &pods)),
            memory: Some(
                memory(node, &pods)
                    .with_context(|| format!("failed to take over what {} lists", self.name))?,
            ),
            device: Some(devices(node, &pods)),
            ..StateFolder::default()
        };
        let from = format!("{} (answer of List)", self.name);
        Ok(Resident { folder, names, from, names_from: None, root: None })
    }
}

/// The containers of all pods.
fn containers<'p>(
    pods: &'p [(PodUid, &PodHoldings)],
) -> impl Iterator<Item = (&'p PodUid, &'p ContainerName, &'p NodeHoldings)> {
    pods.iter().flat_map(|(uid, pod)| pod.containers.iter().map(move |(name, held)| (uid, name, held)))
}

fn cpu(node: &LoadedNode, pods: &[(PodUid, &PodHoldings)]) -> Vec<u8> {
    let mut state = files::cpu_state(&node.node, &node.empty_ledger());
    // Without policy static no container has exclusive CPUs.
    if node.node.cpus().is_some() {
        for (pod, container, held) in containers(pods).filter(|(.., held)| !held.cpus.is_empty()) {
            state.shared -= &held.cpus;
            let of_pod = state.containers.entry(pod.clone()).or_default();
            of_pod.insert(container.clone(), held.cpus.clone());
        }
    }
    state.encode(files::forms(&node.node).cpu()).into_bytes()
}

fn memory(node: &LoadedNode, pods: &[(PodUid, &PodHoldings)]) -> anyhow::Result<Vec<u8>> {
    let mut entries: BTreeMap<PodUid, BTreeMap<ContainerName, Vec<Block>>> = BTreeMap::new();
    for (pod, container, held) in containers(pods).filter(|(.., held)| !held.memory.is_empty()) {
        let blocks = held.memory.iter().map(|group| Block {
            nodes: Some(group.nodes.iter().map(|id| NodeId(i64::from(*id))).collect()),
            resource: group.memory_type.clone(),
            size: group.bytes,
        });
        entries.entry(pod.clone()).or_default().insert(container.clone(), blocks.collect());
    }
    let state = files::memory_state_of(&node.node, entries).map_err(|error| anyhow!("{error}"))?;
    Ok(state.encode(files::forms(&node.node).memory()).into_bytes())
}

fn devices(node: &LoadedNode, pods: &[(PodUid, &PodHoldings)]) -> Vec<u8> {
    let mut held: Vec<(PodUid, ContainerName, ResourceName, Held)> = Vec::new();
    for (pod, container, holdings) in containers(pods) {
        let mut by_resource: BTreeMap<&ResourceName, BTreeMap<i64, Vec<DeviceId>>> = BTreeMap::new();
        for group in &holdings.devices {
            let nodes: Vec<i64> = if group.nodes.is_empty() {
                Vec::from([-1])
            } else {
                group.nodes.iter().map(|id| i64::from(*id)).collect()
            };
            for id in nodes {
                let of_node = by_resource.entry(&group.resource).or_default().entry(id).or_default();
                of_node.extend(group.ids.iter().map(|id| DeviceId::new(id)));
            }
        }
        held.extend(by_resource.into_iter().map(|(resource, nodes)| {
            let nodes = nodes.into_iter().map(|(id, ids)| (HeldOn::from(NodeId(id)), ids));
            (pod.clone(), container.clone(), resource.clone(), Held::new(nodes, AllocateReply::default()))
        }));
    }
    files::device_text(&Holdings::new(held), &node.inventory).into_bytes()
}
