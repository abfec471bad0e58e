//! `kubelet_internal_checkpoint`: who has which devices.

use std::collections::{BTreeMap, BTreeSet};

use kubelet_checkpoint::device::{DeviceFile, DeviceState};
use kubelet_checkpoint::store::StateFile;
use node_state::{files, words};
use pod_spec::PodUid;

use super::super::Problem;
use super::Checking;

const FILE: StateFile = StateFile::Device;

/// The kubelet starts without the file.
const STARTS_EMPTY: &str =
    "starts all the same and forgets who holds which device, so that devices in use can be given out again";

impl Checking<'_> {
    pub(super) fn devices(&mut self, file: &[u8]) {
        let read = DeviceFile::read(file);
        let is_unknown = self.is_unknown(FILE, file, STARTS_EMPTY);
        if is_unknown {
            return;
        }
        if let Some(fault) = read.fault {
            let help = "before the kubelet starts, delete the pods that hold devices";
            self.add(Problem::Unreadable, FILE, words::damage(&fault, file), STARTS_EMPTY.to_owned(), help);
            return;
        }
        self.odd(FILE, &read.oddities);
        self.device_state(&read.state);
    }

    fn device_state(&mut self, state: &DeviceState) {
        let held = files::devices(state);
        let mut owners: BTreeMap<(String, String), BTreeSet<&PodUid>> = BTreeMap::new();
        let mut by_pod: BTreeMap<&PodUid, Vec<String>> = BTreeMap::new();
        for (pod, _, resource, held) in held.iter() {
            for id in held.devices() {
                owners.entry((resource.to_string(), id.to_string())).or_default().insert(pod);
                by_pod.entry(pod).or_default().push(format!("{resource} {id}"));
            }
        }
        self.gone(FILE, by_pod.into_iter().map(|(pod, devices)| (pod, devices.join(", "))));
        for ((resource, id), pods) in owners.iter().filter(|(_, pods)| pods.len() > 1) {
            let names: Vec<String> = pods.iter().map(|pod| self.names.name(pod)).collect();
            let what = format!("{resource} {id} is held by {}", names.join(" and by "));
            let kubelet = "does not look for this: both use it".to_owned();
            self.add(Problem::Overlap, FILE, what, kubelet, "delete all of them but one");
        }
    }
}
