//! Devices: who holds which, and which resources plugins had registered.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::{DeviceId, Held, Holdings};
use kubelet_checkpoint::FileError;
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::store::StateFile;
use pod_spec::{ContainerName, PodUid, ResourceName};

use super::damage::{self, Fault};
use super::{Cause, Work};
use crate::files;
use crate::words;

const FILE: StateFile = StateFile::Device;

type OfPods = BTreeMap<PodUid, BTreeMap<(ContainerName, ResourceName), Held>>;

impl Work<'_> {
    pub(super) fn devices(&mut self) {
        let read = self.found.device.as_deref().map(|file| (file, DeviceFile::read(file)));
        let mut said = None;
        let mut registered = BTreeSet::new();
        let mut is_read = false;
        if let Some((file, read)) = read {
            let unknown = DeviceFile::unknown_format(file);
            is_read = unknown.is_none() && matches!(read.fault, None | Some(FileError::Corrupt { .. }));
            if is_read {
                said = Some(of_pods(&files::devices(&read.state)));
                registered.extend(read.state.registered.into_iter().flatten().map(|(name, _)| name));
            }
            let unreadable = |found| Fault {
                cause: Cause::Unreadable,
                found,
                assumed: if is_read { damage::as_written().to_owned() } else { String::new() },
            };
            let fault = match (&unknown, &read.fault) {
                (Some(format), _) => Some(unreadable(format.to_string())),
                (None, Some(error)) => Some(unreadable(words::damage(error, file))),
                (None, None) => damage::odd(&read.oddities),
            };
            self.whole_file(FILE, fault, is_read, true);
        }
        let granted: OfPods = self.granted(|grants| Some(grants.devices.clone()));
        if self.found.device.is_none() && granted.values().any(|of| !of.is_empty()) {
            self.missing(FILE);
        }
        let held = self.believed(FILE, said, granted, shown);
        // What is held is of a plugin that had registered, even if nothing says so any more.
        if !is_read {
            registered.extend(held.values().flat_map(|of| of.keys().map(|(_, resource)| resource.clone())));
        }
        let held = self.one_owner(held);
        let all = held.into_iter().flat_map(|(pod, of)| {
            of.into_iter().map(move |((container, resource), held)| (pod.clone(), container, resource, held))
        });
        self.result.start.stored.devices = Holdings::new(all);
        self.result.start.registered = registered.into_iter().collect();
    }

    /// Each device with one pod.
    fn one_owner(&mut self, mut held: OfPods) -> OfPods {
        let mut order: Vec<PodUid> = held.keys().cloned().collect();
        order.sort_by_key(|pod| self.rank(pod));
        let mut owners: BTreeMap<(ResourceName, DeviceId), PodUid> = BTreeMap::new();
        for pod in order {
            let Some(of) = held.get_mut(&pod) else { continue };
            let mut lost: BTreeMap<PodUid, BTreeSet<String>> = BTreeMap::new();
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
                            lost.entry(owner.clone()).or_default().insert(format!("{resource} {id}"));
                        }
                    }
                    kept.push((on, own));
                }
                if is_less {
                    *held = Held::new(kept, held.reply.clone());
                }
            }
            for (other, devices) in lost {
                let told = [
                    format!(
                        "{} and {} both hold {}",
                        self.name(&other),
                        self.name(&pod),
                        words::list(devices)
                    ),
                    format!("that {} had that first", self.name(&other)),
                    format!(
                        "it stays with {}; the other pod keeps the rest of its devices",
                        self.name(&other)
                    ),
                ];
                self.add(Cause::TwoOwners, FILE, told, &[&other, &pod]);
            }
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

fn shown(of: &BTreeMap<(ContainerName, ResourceName), Held>) -> String {
    let devices: BTreeSet<String> = of
        .iter()
        .flat_map(|((_, resource), held)| {
            held.devices().into_iter().map(move |id| format!("{resource} {id}"))
        })
        .collect();
    if devices.is_empty() { "no devices".to_owned() } else { words::list(devices) }
}
