//! A node that goes on from what a kubelet has written of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use cpuset::CpuSet;
use device_manager::Moment;
use k8s_quantity::{Format, Quantity};
use node_state::{PodNames, Start, StateFolder};
use pod_spec::{Container, ContainerName, Pod, PodUid, QosClass, ResourceList, ResourceName, Role};
use topology_admission::{Ledger, Node, RunningPods};

use crate::node::LoadedNode;

/// What each container of each pod holds, which is what it asked for: only Guaranteed containers are written down.
type Pods = BTreeMap<PodUid, BTreeMap<ContainerName, ResourceList>>;

/// Which requests of running pods are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requests {
    /// All.
    OfEveryPod,
    /// Only what state files say is held, so others may be missing from every sum.
    WhatIsHeld,
}

/// The ledger of the node as the files have it. Pods that are known to be gone hold nothing; pods whose manifests are
/// known count with what they request. Resources that the files name and the node's inventory lacks are those of plugins that
/// are away: no device of them is healthy.
pub fn ledger(
    folder: &StateFolder,
    node: &LoadedNode,
    names: &PodNames,
) -> anyhow::Result<(Ledger, Requests)> {
    folder.known()?;
    let start = folder.strict(&node.node).map_err(|error| refused(&error))?;
    let (residents, requests) = residents(holders(&start), names);
    let pods = RunningPods::admitted(residents);
    let ledger = start.ledger_with(&node.node, pods, node.inventory.clone(), Moment::default());
    Ok((ledger.map_err(|error| refused(&error))?, requests))
}

/// The pods that are known to run, as [`ledger`] counts them, and whether that is all of them with all that they request;
/// `None`: a kubelet would not start from the state.
pub(crate) fn running(
    folder: &StateFolder,
    node: &LoadedNode,
    names: &PodNames,
) -> Option<(Vec<Arc<Pod>>, Requests)> {
    Some(residents(holders(&folder.strict(&node.node).ok()?), names))
}

/// Why a kubelet does not start from the files; `None`: it does.
pub(crate) fn refused_by(folder: &StateFolder, node: &Node, names: &PodNames) -> Option<String> {
    let start = match folder.strict(node) {
        Ok(start) => start,
        Err(error) => return Some(error.to_string()),
    };
    let (residents, _) = residents(holders(&start), names);
    node.restore(start.stored, RunningPods::admitted(residents)).err().map(|error| error.to_string())
}

fn refused(error: &impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the kubelet would not start from this state: {error}\n`topolet state check` says more")
}

/// What each container holds.
fn holders(start: &Start) -> Pods {
    let mut pods = Pods::new();
    let mut counted: BTreeMap<&PodUid, CpuSet> = BTreeMap::new();
    for (pod, container, cpus) in start.stored.cpus.iter().flat_map(cpu_manager::Holdings::iter) {
        // CPUs that an init container has handed on are in both containers' entries.
        let counted = counted.entry(pod).or_default();
        book(&mut pods, pod, container, "cpu", (cpus.len() - cpus.intersection_len(counted)) as u64);
        *counted |= cpus;
    }
    for (pod, containers) in start.stored.memory.iter().flat_map(|stored| &stored.entries) {
        for (container, blocks) in containers {
            for block in blocks {
                book(&mut pods, pod, container, block.resource.as_str(), block.size);
            }
        }
    }
    for (pod, container, resource, held) in start.stored.devices.iter() {
        book(&mut pods, pod, container, resource.as_str(), held.devices().len() as u64);
    }
    pods
}

fn book(pods: &mut Pods, pod: &PodUid, container: &ContainerName, resource: &str, amount: u64) {
    let of_container = pods.entry(pod.clone()).or_default().entry(container.clone()).or_default();
    let amount = Quantity::from_units(i64::try_from(amount).unwrap_or(i64::MAX), Format::BinarySi);
    of_container.insert(ResourceName::new(resource), amount);
}

/// Every pod that is known to run: as its manifest has it, else as far as its holdings tell.
fn residents(holders: Pods, names: &PodNames) -> (Vec<Arc<Pod>>, Requests) {
    let mut known = if names.knows_requests() { Requests::OfEveryPod } else { Requests::WhatIsHeld };
    let mut residents = names.specs().clone();
    for (uid, held) in holders {
        match residents.get_mut(&uid) {
            Some(spec) => {
                if complete(spec, &held) {
                    known = Requests::WhatIsHeld;
                }
            }
            None if names.is_gone(&uid) => {}
            None => {
                known = Requests::WhatIsHeld;
                residents.insert(uid.clone(), Arc::new(pod(uid, held, names)));
            }
        }
    }
    (residents.into_values().collect(), known)
}

/// Adds what a pod holds and its manifest does not request; whether there is any. A manifest that was written down for
/// its name and UID alone requests nothing.
fn complete(spec: &mut Arc<Pod>, held: &BTreeMap<ContainerName, ResourceList>) -> bool {
    let lacks = |container: &Container| {
        let held = held.get(&container.name).into_iter().flat_map(BTreeMap::keys);
        let mut missing = held.filter(|resource| {
            !container.requests.contains_key(*resource) && !container.limits.contains_key(*resource)
        });
        missing.next().is_some()
    };
    if spec.has_pod_level_resources() || !spec.containers.iter().any(lacks) {
        return false;
    }
    for container in &mut Arc::make_mut(spec).containers {
        for (resource, amount) in held.get(&container.name).into_iter().flatten() {
            let Container { requests, limits, .. } = &mut *container;
            if !requests.contains_key(resource) && !limits.contains_key(resource) {
                requests.insert(resource.clone(), amount.clone());
                limits.insert(resource.clone(), amount.clone());
            }
        }
    }
    true
}

/// A pod that runs, as far as its holdings tell.
fn pod(uid: PodUid, containers: BTreeMap<ContainerName, ResourceList>, names: &PodNames) -> Pod {
    let containers = containers.into_iter().map(|(name, amounts)| Container {
        name,
        role: Role::App,
        requests: amounts.clone(),
        limits: amounts,
    });
    let shown = names.name(&uid);
    let (namespace, name) = shown.split_once('/').unwrap_or(("", &shown));
    let mut pod = Pod::new(namespace, name, containers.collect());
    pod.uid = uid;
    pod.status_qos = Some(QosClass::Guaranteed);
    pod
}
