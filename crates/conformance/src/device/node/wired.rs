//! The same life of plugins, over sockets. What happens there comes as events; which events must come is known from
//! what happens to plugins that are called as functions are, so each is waited for and none is waited for in vain.

use device_manager::{Connected, ConnectionId, RegisterError};
use device_plugin::ServerEvent;
use kubelet_release::PluginsPerResource;
use pod_spec::ResourceName;
use serde_json::{Value, json};
use topology_admission::Compat;

use super::life::socket;
use super::{Entry, Node};
use crate::case::text;
use crate::device::plugins;
use crate::device::wire::{Registered, Wire, refused};

/// Whether a list has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    No,
    Yes,
}

impl Node {
    /// Records what happened after the last step was over: nothing, or the next comparison fails.
    pub(super) fn catch_up(&mut self) {
        let events = self.wire.as_ref().map(Wire::happened).unwrap_or_default();
        for event in events {
            self.record(event, &mut Entry::new());
        }
    }

    fn record(&mut self, event: ServerEvent, entry: &mut Entry) {
        match event {
            // Its receipt goes when the state has been stored.
            ServerEvent::Listed { resource, devices, receipt } => {
                self.listed(&resource, devices, entry);
                drop(receipt);
            }
            other => {
                other.record(&mut self.inventory, self.now);
            }
        }
    }

    /// Records what happens until `is_it` says yes to an event.
    fn until(&mut self, entry: &mut Entry, is_it: impl Fn(&ServerEvent) -> bool) -> Result<(), String> {
        loop {
            let Some(wire) = &self.wire else { return Ok(()) };
            let event = wire.next()?;
            let is_last = is_it(&event);
            self.record(event, entry);
            if is_last {
                return Ok(());
            }
        }
    }

    pub(super) fn register_wired(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let Some(mut wire) = self.wire.take() else { return Ok(()) };
        entry.insert("updates".into(), json!([]));
        let mut listed = Listed::No;
        let said = wire.register(step, |event| {
            if matches!(event, ServerEvent::Listed { .. }) {
                listed = Listed::Yes;
            }
            self.record(event, entry);
        });
        let calls = wire.calls();
        self.wire = Some(wire);
        let said = said?;
        let resource = ResourceName::new(text(&step["resource"]));
        let error = match said {
            Registered::Yes => {
                let connection = self.connecting(step, &resource);
                self.plugins.connected(text(&step["plugin"]), connection);
                if step["silent"].as_bool() != Some(true) && listed == Listed::No {
                    self.until(entry, |event| matches!(event, ServerEvent::Listed { .. }))?;
                }
                Value::Null
            }
            Registered::Refused(code, message) => {
                self.failed(step, &resource, &message);
                refused(code, &message)
            }
            Registered::NotTaken(text) => {
                self.failed(step, &resource, &text);
                let (stage, text) = staged(&text);
                entry.insert("stage".into(), json!(stage));
                json!(text)
            }
        };
        entry.insert("error".into(), error);
        entry.insert("rpcs".into(), if calls.is_empty() { Value::Null } else { Value::Array(calls) });
        Ok(())
    }

    /// A plugin is connected by the server.
    fn connecting(&mut self, step: &Value, resource: &ResourceName) -> ConnectionId {
        let connection = self.plugins.new_connection();
        match self.per_resource {
            PluginsPerResource::One => self.connections.connecting(resource, connection),
            PluginsPerResource::Several => {
                let socket = socket(text(&step["plugin"]));
                self.sockets.connecting(resource, &socket, connection);
                let plugin = Connected { connection, options: plugins::options(&step["options"]) };
                // The server has reported the result already.
                let _ = self.sockets.connected(resource, &socket, plugin, Compat::KUBELET.replaced_plugins);
            }
        }
        connection
    }

    /// What is refused before anything is dialled leaves the connections as they are.
    fn failed(&mut self, step: &Value, resource: &ResourceName, told: &str) {
        let begins = RegisterError::Options(device_manager::RpcError {
            code: device_manager::RpcCode(0),
            message: String::new(),
        });
        let begins = begins.to_string();
        let is_connected = RegisterError::AlreadyConnected(socket(text(&step["plugin"]))).to_string();
        if !told.contains(begins.split(':').next().unwrap_or_default()) && !told.contains(&is_connected) {
            return;
        }
        let connection = self.plugins.new_connection();
        let socket = socket(text(&step["plugin"]));
        match self.per_resource {
            PluginsPerResource::One => self.connections.connecting(resource, connection),
            PluginsPerResource::Several => self.sockets.connecting(resource, &socket, connection),
        }
        self.failed_to_connect(resource, &socket, connection);
    }

    pub(super) fn devices_wired(
        &mut self,
        name: &str,
        devices: &Value,
        entry: &mut Entry,
    ) -> Result<(), String> {
        if let Some(wire) = &mut self.wire {
            wire.list(name, devices);
        }
        self.until(entry, |event| matches!(event, ServerEvent::Listed { .. }))
    }

    /// A plugin ends that stands for no resource any more.
    pub(super) fn ended_wired(&mut self, ended: &ResourceName) -> Result<(), String> {
        let is_it = |event: &ServerEvent| matches!(event, ServerEvent::EndedUnnoticed { resource } if resource == ended);
        self.until(&mut Entry::new(), is_it)
    }

    /// One of several plugins for the resource goes away.
    pub(super) fn one_lost_wired(&mut self, lost: &ResourceName) -> Result<(), String> {
        let is_it =
            |event: &ServerEvent| matches!(event, ServerEvent::OneGone { resource, .. } if resource == lost);
        self.until(&mut Entry::new(), is_it)
    }

    /// A plugin that stands for the resource goes away.
    pub(super) fn lost_wired(&mut self, lost: &ResourceName) -> Result<(), String> {
        let is_it =
            |event: &ServerEvent| matches!(event, ServerEvent::Gone { resource, .. } if resource == lost);
        self.until(&mut Entry::new(), is_it)
    }
}

/// The stage at which a plugin that was found has been refused, and the reason, from the text that it received.
fn staged(told: &str) -> (&'static str, &str) {
    let stages = [
        ("validate", "RegisterPlugin error -- plugin validation failed with err: "),
        ("register", "RegisterPlugin error -- plugin registration failed with err: "),
    ];
    let stage = stages.into_iter().find_map(|(stage, begin)| Some((stage, told.strip_prefix(begin)?)));
    stage.unwrap_or(("", told))
}
