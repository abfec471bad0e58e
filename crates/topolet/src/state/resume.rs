//! A node that goes on from what a kubelet has written of it.

use std::collections::BTreeMap;

use anyhow::anyhow;
use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::CpuFile;
use kubelet_checkpoint::memory::MemoryFile;
use kubelet_checkpoint::store::StateFile;
use node_agent::files;
use pod_spec::{Container, ContainerName, Pod, PodUid, QosClass, ResourceList, ResourceName, Role};
use topology_admission::{Ledger, RunningPods, StoredHoldings};

use super::check::kubelets;
use super::{PodNames, StateFolder};
use crate::node::LoadedNode;

/// What each container of each pod holds, which is what it asked for: only Guaranteed containers are written down.
type Pods = BTreeMap<PodUid, BTreeMap<ContainerName, ResourceList>>;

/// Which requests of running pods are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Requests {
    /// All.
    OfEveryPod,
    /// Only what state files say is held, so others may be missing from every sum.
    WhatIsHeld,
}

/// The ledger of the node as the files have it. Pods that are known to be gone hold nothing; pods whose manifests are
/// known count with what they request. Devices of the resources `left_out` are held by nobody, so they are not checked.
pub(crate) fn ledger(
    folder: &StateFolder,
    node: &LoadedNode,
    names: &PodNames,
    left_out: &BTreeMap<ResourceName, usize>,
) -> anyhow::Result<(Ledger, Requests)> {
    let pod_level = match node.node.pod_level() {
        topology_admission::PodLevel::Managed => PodLevel::On,
        topology_admission::PodLevel::Ignored | topology_admission::PodLevel::NotPinned => PodLevel::Off,
    };
    if let Some(unknown) = folder.unknown().into_iter().next() {
        return Err(unknown.into());
    }
    let contents = folder.contents(pod_level);
    let mut pods = Pods::new();
    let mut stored = StoredHoldings::default();
    if let Some(read) = contents.cpu {
        let policy = if node.node.cpus().is_some() { "static" } else { "none" };
        let state = read
            .and_then(|read: CpuFile| read.restore(policy))
            .map_err(|error| refused("cpu", &error.refused(&kubelets(StateFile::Cpu))))?;
        let held = files::cpus(&state);
        let mut counted: BTreeMap<&PodUid, CpuSet> = BTreeMap::new();
        for (pod, container, cpus) in held.iter() {
            // CPUs that an init container has handed on are in both containers' entries.
            let counted = counted.entry(pod).or_default();
            book(&mut pods, pod, container, "cpu", (cpus.len() - cpus.intersection_len(counted)) as u64);
            *counted |= cpus;
        }
        stored.cpus = Some(held);
    }
    if let Some(read) = contents.memory {
        let policy = if node.node.memory().is_some() { "Static" } else { "None" };
        let restored = read.and_then(|read: MemoryFile| read.restore(policy).cloned());
        let state =
            restored.map_err(|error| refused("memory", &error.refused(&kubelets(StateFile::Memory))))?;
        let held = files::memory(&state).map_err(|files::NullBooks(node)| {
            refused("memory", &format!("the books of NUMA node {node} are null"))
        })?;
        for (pod, containers) in &held.entries {
            for (container, blocks) in containers {
                for block in blocks {
                    book(&mut pods, pod, container, block.resource.as_str(), block.size);
                }
            }
        }
        stored.memory = Some(held);
    }
    // A file of devices that cannot be read is no file, as for the kubelet.
    if let Some(mut read) = contents.device.filter(|read| read.fault.is_none()) {
        if let Some(entries) = &mut read.state.entries {
            entries.retain(|entry| !left_out.contains_key(&entry.resource));
        }
        stored.devices = files::devices(&read.state);
        for (pod, container, resource, held) in stored.devices.iter() {
            book(&mut pods, pod, container, resource.as_str(), held.devices().len() as u64);
        }
    }
    let (residents, requests) = residents(pods, names);
    let ledger =
        node.node.restore(stored, RunningPods::admitted(residents)).map_err(|error| refused("", &error))?;
    Ok((ledger.with_inventory(node.inventory.clone()), requests))
}

fn refused(manager: &str, error: &impl std::fmt::Display) -> anyhow::Error {
    let manager = if manager.is_empty() { String::new() } else { format!("start {manager} manager error: ") };
    anyhow!("the kubelet would not start from this state: {manager}{error}\n`topolet state check` says more")
}

fn book(pods: &mut Pods, pod: &PodUid, container: &ContainerName, resource: &str, amount: u64) {
    let of_container = pods.entry(pod.clone()).or_default().entry(container.clone()).or_default();
    let amount = Quantity::from_units(i64::try_from(amount).unwrap_or(i64::MAX), Format::BinarySi);
    of_container.insert(ResourceName::new(resource), amount);
}

/// Every pod that is known to run: as its manifest has it, else as far as its holdings tell.
fn residents(holders: Pods, names: &PodNames) -> (Vec<Pod>, Requests) {
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
                residents.insert(uid.clone(), pod(uid, held, names));
            }
        }
    }
    (residents.into_values().collect(), known)
}

/// Adds what a pod holds and its manifest does not request; whether there is any. A manifest that was written down for
/// its name and UID alone requests nothing.
fn complete(spec: &mut Pod, held: &BTreeMap<ContainerName, ResourceList>) -> bool {
    let mut is_short = false;
    if spec.has_pod_level_resources() {
        return is_short;
    }
    for container in &mut spec.containers {
        for (resource, amount) in held.get(&container.name).into_iter().flatten() {
            let Container { requests, limits, .. } = &mut *container;
            if !requests.contains_key(resource) && !limits.contains_key(resource) {
                requests.insert(resource.clone(), amount.clone());
                limits.insert(resource.clone(), amount.clone());
                is_short = true;
            }
        }
    }
    is_short
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
