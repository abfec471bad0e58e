//! The device plugins of a case: they answer at once, and prefer the smallest ids in byte order.

use std::sync::Arc;

use device_manager::{
    AllocateReply, Device, DeviceId, DeviceIds, Endpoint, Health, Inventory, Life, PluginOptions, Question,
    Reply, RpcCode, RpcError,
};
use pod_spec::ResourceName;
use serde_json::Value;

use crate::case::{numbers, text};

/// One resource and its plugin.
pub(super) struct Plugin {
    pub(super) resource: ResourceName,
    prefers: bool,
    fails: Option<String>,
    devices: Vec<Value>,
}

impl Plugin {
    pub(super) fn new(described: &Value) -> Self {
        Self {
            resource: text(&described["resource"]).into(),
            prefers: described["preferred"].as_bool() == Some(true),
            fails: described["fail"].as_str().map(str::to_owned),
            devices: described["devices"].as_array().cloned().unwrap_or_default(),
        }
    }

    /// Registers and lists its devices.
    pub(super) fn register(&self, inventory: &mut Inventory) {
        let options = PluginOptions { preferred_allocation: self.prefers, ..PluginOptions::default() };
        let endpoint = Endpoint::Plugin { options: Some(options), life: Life::Running };
        inventory.set_endpoint(&self.resource, endpoint);
        self.list(inventory);
    }

    fn list(&self, inventory: &mut Inventory) {
        inventory.list(&self.resource, self.devices.iter().map(device));
    }

    /// Lists other devices.
    pub(super) fn report(&mut self, devices: &Value, inventory: &mut Inventory) {
        self.devices = devices.as_array().cloned().unwrap_or_default();
        self.list(inventory);
    }

    /// How many of `ids` are on which nodes, `-` for devices without.
    pub(super) fn nodes_of<'a>(&'a self, ids: &'a DeviceIds) -> impl Iterator<Item = String> + 'a {
        ids.iter().filter_map(|id| {
            let device = self.devices.iter().find(|device| text(&device["id"]) == id.as_str())?;
            let nodes: Vec<String> = numbers(&device["numa"]).iter().map(ToString::to_string).collect();
            Some(if nodes.is_empty() { "-".to_owned() } else { nodes.join(",") })
        })
    }

    /// What the plugin itself calls a device, whatever its id here.
    fn called<'a>(&'a self, id: &'a DeviceId) -> &'a str {
        let device = self.devices.iter().find(|device| text(&device["id"]) == id.as_str());
        device.and_then(|device| device["called"].as_str()).unwrap_or(id.as_str())
    }

    fn answer(&self, question: &Question) -> Reply {
        match question {
            Question::Preferred { available, must_include, size, .. } => {
                let size = usize::try_from(*size).unwrap_or(usize::MAX);
                let mut chosen = must_include.clone();
                let mut available: Vec<_> = available.iter().collect();
                available.sort_by_key(|id| self.called(id));
                for id in available {
                    if chosen.len() >= size {
                        break;
                    }
                    chosen.insert(id.clone());
                }
                Reply::Preferred(chosen)
            }
            Question::Allocate { .. } => match &self.fails {
                Some(message) => {
                    const UNKNOWN: RpcCode = RpcCode(2);
                    Reply::Failed(RpcError { code: UNKNOWN, message: message.clone() })
                }
                None => Reply::Allocated(AllocateReply(Arc::from([]))),
            },
            Question::PreStart { .. } => Reply::Started,
        }
    }
}

/// What the plugin of the resource that is asked answers.
pub(super) fn answer(plugins: &[Plugin], question: &Question) -> Option<Reply> {
    plugins
        .iter()
        .find(|plugin| plugin.resource == *question.resource())
        .map(|plugin| plugin.answer(question))
}

fn device(described: &Value) -> Device {
    let health = match described["unhealthy"].as_bool() {
        Some(true) => Health::said("Unhealthy"),
        _ => Health::Healthy,
    };
    Device::new(text(&described["id"]), &numbers(&described["numa"])).with_health(health)
}
