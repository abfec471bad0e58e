//! Devices: who holds which, and which resources plugins had registered.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::{DeviceId, Held, Holdings};
use kubelet_checkpoint::store::StateFile;
use pod_spec::{ContainerName, PodUid, ResourceName};

use super::Work;
use super::damage::{Doubt, Read};
use crate::fault::{Fault, Holding, Kind, NamedPod, Unproven};
use crate::files;

const FILE: StateFile = StateFile::Device;

type Devices = BTreeSet<(ResourceName, DeviceId)>;
type OfPods = BTreeMap<PodUid, BTreeMap<(ContainerName, ResourceName), Held>>;

impl Work<'_> {
    pub(super) fn devices(&mut self) {
        let read = self.reads.device.clone();
        self.whole_file(FILE, &read);
        let Read { state, doubt, .. } = read;
        let is_read = state.is_some();
        let said = state.as_ref().filter(|_| self.found.device.is_some());
        let said = said.map(|state| of_pods(&files::devices(state)));
        let mut registered: BTreeSet<ResourceName> = state
            .iter()
            .flat_map(|state| state.registered.iter().flatten())
            .map(|(name, _)| name.clone())
            .collect();
        let granted: OfPods = self.granted(|grants| Some(grants.devices.clone()));
        if self.found.device.is_none() && granted.values().any(|of| !of.is_empty()) {
            self.missing(FILE);
        }
        let held = self.believed(FILE, said, granted, shown);
        // What is held is of a plugin that had registered, even if nothing says so any more.
        if !is_read || doubt.is_some() || self.found.device.is_none() {
            registered.extend(held.values().flat_map(|of| of.keys().map(|(_, resource)| resource.clone())));
        }
        self.unproven(FILE, doubt.as_ref(), &held.keys().cloned().collect());
        if let Some(doubt) = &doubt {
            self.doubted(doubt, &held);
        }
        let held = self.one_owner(held);
        let all = held.into_iter().flat_map(|(pod, of)| {
            of.into_iter().map(move |((container, resource), held)| (pod.clone(), container, resource, held))
        });
        self.result.start.stored.devices = Holdings::new(all);
        self.result.start.registered = registered.into_iter().collect();
    }

    /// Nothing else says who has which device on which NUMA node, and what the plugin answered.
    fn doubted(&mut self, doubt: &Doubt, held: &OfPods) {
        let is_doubted = |pod: &&PodUid| !self.says_itself(pod, FILE) && !doubt.cut.contains(*pod);
        let pods: Vec<PodUid> = held.keys().filter(is_doubted).cloned().collect();
        if !pods.is_empty() {
            let named = pods.iter().map(|pod| self.named(pod)).collect();
            self.contradicted(FILE, vec![(Unproven::Devices(named), pods)]);
        }
    }

    /// Each device with one pod.
    fn one_owner(&mut self, mut held: OfPods) -> OfPods {
        let mut order: Vec<PodUid> = held.keys().cloned().collect();
        order.sort_by_key(|pod| self.rank(pod));
        let mut owners: BTreeMap<(ResourceName, DeviceId), PodUid> = BTreeMap::new();
        // Pods that claim the same devices of the same owner share one finding.
        let mut twice: Vec<(Vec<PodUid>, Devices)> = Vec::new();
        let mut known: BTreeMap<(PodUid, Devices), usize> = BTreeMap::new();
        for pod in order {
            let Some(of) = held.get_mut(&pod) else { continue };
            let mut lost: BTreeMap<PodUid, Devices> = BTreeMap::new();
            for ((_, resource), held) in of.iter_mut() {
                let mut kept = Vec::new();
                let mut is_less = false;
                for (on, ids) in held.by_node() {
                    let mut own = Vec::new();
                    for id in ids {
                        let owner =
                            owners.entry((resource.clone(), id.clone())).or_insert_with(|| pod.clone());
                        if *owner == pod {
                            own.push(id.clone());
                        } else {
                            is_less = true;
                            lost.entry(owner.clone()).or_default().insert((resource.clone(), id.clone()));
                        }
                    }
                    kept.push((on, own));
                }
                if is_less {
                    *held = Held::new(kept, held.reply.clone());
                }
            }
            for (other, devices) in lost {
                let at = *known.entry((other.clone(), devices.clone())).or_insert(twice.len());
                if at == twice.len() {
                    twice.push((vec![other], devices));
                }
                if let Some((pods, _)) = twice.get_mut(at) {
                    pods.push(pod.clone());
                }
            }
        }
        for (pods, devices) in twice {
            let named: Vec<NamedPod> = pods.iter().map(|pod| self.named(pod)).collect();
            let Some(first) = named.first().cloned() else { continue };
            let fault = Fault::DevicesOwnedTwice { pods: named, devices };
            self.owned_twice(FILE, fault, first, &pods, Kind::Devices);
        }
        held
    }
}

fn of_pods(held: &Holdings) -> OfPods {
    let mut pods = OfPods::new();
    for (pod, container, resource, held) in held.iter() {
        pods.entry(pod.clone()).or_default().insert((container.clone(), resource.clone()), held.clone());
    }
    pods
}

fn shown(of: &BTreeMap<(ContainerName, ResourceName), Held>) -> Holding {
    let devices = of.iter().flat_map(|((_, resource), held)| {
        held.devices().into_iter().map(move |id| (resource.clone(), id.clone()))
    });
    Holding::Devices(devices.collect())
}
