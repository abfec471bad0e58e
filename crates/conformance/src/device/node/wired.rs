//! The same life of plugins, over sockets. What happens there comes as events; which events must come is known from
//! what happens to plugins that are called as functions are, so each is waited for and none is waited for in vain.

use device_manager::{ConnectionId, RegisterError};
use device_plugin::ServerEvent;
use pod_spec::ResourceName;
use serde_json::{Value, json};

use super::{Entry, Node};
use crate::case::text;
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
                let connection = self.connecting(&resource);
                self.plugins.connected(text(&step["plugin"]), connection);
                if step["silent"].as_bool() != Some(true) && listed == Listed::No {
                    self.until(entry, |event| matches!(event, ServerEvent::Listed { .. }))?;
                }
                Value::Null
            }
            Registered::Refused(code, message) => {
                self.failed(&resource, &message);
                refused(code, &message)
            }
            Registered::NotTaken(text) => {
                self.failed(&resource, &text);
                let (stage, text) = staged(&text);
                entry.insert("stage".into(), json!(stage));
                json!(text)
            }
        };
        entry.insert("error".into(), error);
        entry.insert("rpcs".into(), if calls.is_empty() { Value::Null } else { Value::Array(calls) });
        Ok(())
    }

    fn connecting(&mut self, resource: &ResourceName) -> ConnectionId {
        let connection = self.plugins.new_connection();
        self.connections.connecting(resource, connection);
        connection
    }

    /// What is refused before anything is dialled leaves the connections as they are.
    fn failed(&mut self, resource: &ResourceName, text: &str) {
        let begins = RegisterError::Options(device_manager::RpcError {
            code: device_manager::RpcCode(0),
            message: String::new(),
        });
        let begins = begins.to_string();
        if text.contains(begins.split(':').next().unwrap_or_default()) {
            self.connecting(resource);
            self.connections.failed(resource);
        }
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

    /// A plugin ends for which nobody stands any more.
    pub(super) fn ended_wired(&mut self, ended: &ResourceName) -> Result<(), String> {
        let is_it = |event: &ServerEvent| matches!(event, ServerEvent::EndedUnnoticed { resource } if resource == ended);
        self.until(&mut Entry::new(), is_it)
    }

    /// A plugin that stands for the resource goes away.
    pub(super) fn lost_wired(&mut self, lost: &ResourceName) -> Result<(), String> {
        let is_it =
            |event: &ServerEvent| matches!(event, ServerEvent::Gone { resource, .. } if resource == lost);
        self.until(&mut Entry::new(), is_it)
    }
}

/// At which stage a plugin that was found has been refused, and why, from what it was told.
fn staged(told: &str) -> (&'static str, &str) {
    let stages = [
        ("validate", "RegisterPlugin error -- plugin validation failed with err: "),
        ("register", "RegisterPlugin error -- plugin registration failed with err: "),
    ];
    let stage = stages.into_iter().find_map(|(stage, begin)| Some((stage, told.strip_prefix(begin)?)));
    stage.unwrap_or(("", told))
}
