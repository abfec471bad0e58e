//! What of a pod's resources its status says, by the feature gates of the node's kubelet.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use device_manager::{DeviceId, Health};
use node_config::{Gate, KubeletConfiguration};
use pod_spec::{Amounts, Overhead, Pod, PodLevelResources, ResourceList};
use topology_admission::{Ledger, PodLevel};

use crate::resources::{DeviceHealth, Given, GivenDevice, Repeated, Whole};

/// What a kubelet reports.
#[derive(Clone, Copy, Debug)]
pub struct Reported {
    of_containers: Repeated,
    /// `None`: amounts of a pod as a whole are not reported; else whether those of its manifest count.
    whole: Option<PodLevelResources>,
    devices: Devices,
}

/// Whether devices are reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Devices {
    Reported,
    NotReported,
}

impl Reported {
    /// What a kubelet with this configuration reports, which counts amounts of pods as a whole as `pod_level` says.
    #[must_use]
    pub fn by(config: &KubeletConfiguration, pod_level: PodLevel) -> Self {
        let gates = config.gates().unwrap_or_default();
        let repeats = gates.is_on(Gate::InPlacePodVerticalScaling);
        let devices = gates.is_on(Gate::ResourceHealthStatus);
        Self {
            of_containers: if repeats { Repeated::Yes } else { Repeated::No },
            whole: gates.is_on(Gate::InPlacePodLevelResourcesVerticalScaling).then(|| pod_level.counts()),
            devices: if devices { Devices::Reported } else { Devices::NotReported },
        }
    }

    /// What an admitted pod has.
    #[must_use]
    pub fn given(self, pod: &Pod, ledger: &Ledger) -> Given {
        let Self { of_containers, whole, devices } = self;
        let amounts = |which, counts| texts(&pod.effective(which, counts, Overhead::Added));
        let whole = whole.map(|counts| Whole {
            requests: amounts(Amounts::Requests, counts),
            limits: amounts(Amounts::Limits, counts),
        });
        let devices = if devices == Devices::Reported { devices_of(pod, ledger) } else { BTreeMap::new() };
        Given { of_containers, whole, devices }
    }
}

fn texts(list: &ResourceList) -> BTreeMap<String, String> {
    list.iter().map(|(name, amount)| (name.to_string(), amount.to_string())).collect()
}

fn devices_of(pod: &Pod, ledger: &Ledger) -> BTreeMap<String, BTreeMap<String, Vec<GivenDevice>>> {
    let inventory = ledger.inventory();
    let mut all: BTreeMap<String, BTreeMap<String, Vec<GivenDevice>>> = BTreeMap::new();
    for (container, resource, held) in ledger.devices().of_pod(&pod.uid) {
        let device = |id: &DeviceId| {
            let device = inventory.device(resource, id);
            let works = device.is_none_or(|device| device.health == Health::Healthy);
            let health = if works { DeviceHealth::Healthy } else { DeviceHealth::Unhealthy };
            GivenDevice { id: id.as_str().to_owned(), health }
        };
        let devices: Vec<GivenDevice> = held.devices().iter().map(device).collect();
        all.entry(container.as_str().to_owned()).or_default().insert(resource.to_string(), devices);
    }
    all
}
