//! What a pod and its containers have been given, as statuses say it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use crate::object::PodObject;

/// What a pod has been given, as far as the node's kubelet reports it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// Requests and limits of its containers, which a container's status repeats once it has run.
    pub of_containers: Repeated,
    /// What the pod as a whole requests, and its limits; `None`: not reported, or not known.
    pub whole: Option<Whole>,
    /// Devices by container and resource. Of init containers none are reported.
    pub devices: BTreeMap<String, BTreeMap<String, Vec<GivenDevice>>>,
}

/// Whether the amounts of a manifest are repeated in the status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repeated {
    /// Since 1.33, unless gate `InPlacePodVerticalScaling` is off.
    #[default]
    Yes,
    /// They are not.
    No,
}

/// Amounts of a pod as a whole, by resource, as an API server writes them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Whole {
    /// Its requests.
    pub requests: BTreeMap<String, String>,
    /// Its limits.
    pub limits: BTreeMap<String, String>,
}

/// A device that a container has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenDevice {
    /// Its id.
    pub id: String,
    /// As its plugin says.
    pub health: DeviceHealth,
}

/// Whether a device works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceHealth {
    /// It does, or no report says otherwise.
    Healthy,
    /// It does not.
    Unhealthy,
}

impl Given {
    /// The status's `allocatedResourcesStatus` of a container; `None`: it has no devices.
    pub(crate) fn devices_of(&self, container: &str) -> Option<Value> {
        let health = |device: &GivenDevice| {
            let word = match device.health {
                DeviceHealth::Healthy => "Healthy",
                DeviceHealth::Unhealthy => "Unhealthy",
            };
            json!({ "resourceID": device.id, "health": word })
        };
        let resources = self.devices.get(container)?.iter().map(|(resource, devices)| {
            json!({ "name": resource, "resources": devices.iter().map(health).collect::<Vec<_>>() })
        });
        let resources: Vec<Value> = resources.collect();
        (!resources.is_empty()).then(|| resources.into())
    }

    /// The status's `resources` and `allocatedResources`, the second null if it is empty; `None`: not known. Of a pod whose
    /// object says that it runs, a kubelet reports CPUs and memory, as it reads them of the pod's cgroup, and otherwise only
    /// what the manifest names for the pod as a whole.
    pub(crate) fn of_pod(&self, pod: &PodObject) -> Option<(Value, Value)> {
        let Whole { requests, limits } = self.whole.as_ref()?;
        let own = &pod.json()["spec"]["resources"];
        let runs = pod.phase() == "Running";
        let mut resources = Map::new();
        for (field, amounts) in [("limits", limits), ("requests", requests)] {
            let is_told = |resource: &str| {
                !runs || matches!(resource, "cpu" | "memory") || own[field][resource].is_string()
            };
            let told: Map<String, Value> = amounts
                .iter()
                .filter(|(resource, _)| is_told(resource))
                .map(|(resource, amount)| (resource.clone(), amount.clone().into()))
                .collect();
            if !told.is_empty() {
                resources.insert(field.into(), told.into());
            }
        }
        let allocated = if requests.is_empty() { Value::Null } else { json!(requests) };
        Some((resources.into(), allocated))
    }
}
