//! Plugins that come and go, and the kubelet that does.

use device_manager::{
    Connected, ConnectionId, Connections, Device, DeviceId, Endpoint, Gone, Life, Moment, PluginOptions,
    RegisterError, SocketConnections, ValidateError, check_announced, check_request,
};
use kubelet_release::PluginsPerResource;
use node_config::Gate;
use pod_spec::{ContainerKey, ContainerName, PodUid, ResourceName};
use serde_json::{Value, json};
use topology_admission::Compat;

use super::{Chance, Entry, Node};
use crate::case::text;
use crate::device::stored::{Contents, Stored};
use crate::device::{plugins, show};

/// The path of a plugin's socket.
pub(super) fn socket(name: &str) -> String {
    format!("{}{name}.sock", show::DIR)
}

/// How a plugin makes itself known, and the error that it gets when it is refused.
enum Refusal {
    /// It called, and gets this text.
    Called(RegisterError),
    /// Its socket was found, and it is refused at this stage.
    Found { stage: &'static str, error: String },
}

impl Node {
    pub(super) fn register(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let name = text(&step["plugin"]);
        if step["again"].as_bool() == Some(true) {
            return self.register_again(step, entry);
        }
        let was_replaced = self.was_replaced(name);
        self.stop_plugin(name, entry)?;
        let resource = text(&step["resource"]);
        self.plugins.start(name, resource, step);
        if self.wire.is_some() {
            return self.register_wired(step, entry);
        }
        let is_found = text(&step["via"]) == "watcher";
        let registered = if is_found {
            let versions = step["versions"].as_array().map(Vec::as_slice);
            let versions: Vec<&str> =
                versions.map_or_else(|| vec!["v1beta1"], |listed| listed.iter().map(text).collect());
            check_announced(&versions, resource).map_err(|error: ValidateError| Refusal::Found {
                stage: "validate",
                error: error.to_string(),
            })
        } else {
            self.count(format!("kubelet_device_plugin_registration_total{{resource_name={resource}}}"));
            check_request(step["version"].as_str().unwrap_or("v1beta1"), resource).map_err(Refusal::Called)
        };
        entry.insert("rpcs".into(), Value::Null);
        entry.insert("updates".into(), json!([]));
        let connected = registered.and_then(|resource| {
            self.connect(step, &resource, entry).map_err(|error| {
                if is_found {
                    Refusal::Found { stage: "register", error: error.to_string() }
                } else {
                    Refusal::Called(error)
                }
            })
        });
        if was_replaced && connected.is_ok() && self.chance == Chance::LateEnds {
            self.connections.gone(&ResourceName::new(resource));
        }
        let error = match connected {
            Ok(()) => Value::Null,
            Err(Refusal::Called(error)) => json!({ "code": "Unknown", "message": error.to_string() }),
            Err(Refusal::Found { stage, error }) => {
                entry.insert("stage".into(), json!(stage));
                json!(error)
            }
        };
        entry.insert("error".into(), error);
        Ok(())
    }

    /// Whether the kubelet listens to a plugin in whose place another was called later.
    fn was_replaced(&self, name: &str) -> bool {
        let listens = self.plugins.listened_to(name);
        listens.is_some_and(|(resource, own)| self.connections.current(resource) != Some(own))
    }

    /// A process that runs calls the kubelet once more.
    fn register_again(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let name = text(&step["plugin"]);
        let behaviour = self.plugins.behaviour(name).ok_or_else(|| format!("no plugin {name:?}"))?;
        let resource = text(&step["resource"]);
        self.count(format!("kubelet_device_plugin_registration_total{{resource_name={resource}}}"));
        entry.insert("updates".into(), json!([]));
        let connected = self.connect(&behaviour, &ResourceName::new(resource), entry);
        let refused = |error: RegisterError| json!({ "code": "Unknown", "message": error.to_string() });
        entry.insert("error".into(), connected.err().map_or(Value::Null, refused));
        Ok(())
    }

    fn connect(
        &mut self,
        step: &Value,
        resource: &ResourceName,
        entry: &mut Entry,
    ) -> Result<(), RegisterError> {
        let name = text(&step["plugin"]);
        let connection = self.plugins.new_connection();
        let socket = socket(name);
        match self.per_resource {
            PluginsPerResource::One => self.connections.connecting(resource, connection),
            PluginsPerResource::Several => self.sockets.connecting(resource, &socket, connection),
        }
        let call = json!({ "plugin": name, "resource": resource.as_str(), "call": "GetDevicePluginOptions" });
        entry.insert("rpcs".into(), json!([call]));
        if !step["options_error"].is_null() {
            self.failed_to_connect(resource, &socket, connection);
            return Err(RegisterError::Options(plugins::rpc_error(&step["options_error"])));
        }
        let options = plugins::options(&step["options"]);
        if self.per_resource == PluginsPerResource::Several {
            let replaced = Compat::KUBELET.replaced_plugins;
            let plugin = Connected { connection, options };
            let connected = self.sockets.connected(resource, &socket, plugin, replaced);
            if let Err(error) = connected {
                self.failed_to_connect(resource, &socket, connection);
                return Err(error);
            }
        }
        self.set_running(resource, options);
        self.plugins.connected(name, connection);
        if step["silent"].as_bool() != Some(true) {
            self.listed(resource, plugins::devices(&step["devices"]), entry);
        }
        Ok(())
    }

    pub(super) fn failed_to_connect(
        &mut self,
        resource: &ResourceName,
        socket: &str,
        connection: ConnectionId,
    ) {
        match self.per_resource {
            PluginsPerResource::One => self.connections.failed(resource),
            PluginsPerResource::Several => {
                self.sockets.failed(resource, socket, connection, Compat::KUBELET.replaced_plugins);
            }
        }
    }

    fn set_running(&mut self, resource: &ResourceName, options: PluginOptions) {
        let endpoint = Endpoint::Plugin { options: Some(options), life: Life::Running };
        self.inventory.set_endpoint(resource, endpoint);
    }

    /// A list has come in: the pods that hold a changed device get an update.
    pub(super) fn listed(&mut self, resource: &ResourceName, devices: Vec<Device>, entry: &mut Entry) {
        let changed = self.inventory.list(resource, devices);
        self.store();
        if !self.gates.is_on(Gate::ResourceHealthStatus) {
            entry.insert("updates".into(), json!([]));
            return;
        }
        let mut told: Vec<&str> =
            changed.iter().filter_map(|id| self.holder(resource, id)).map(PodUid::as_str).collect();
        told.sort_unstable();
        told.dedup();
        entry.insert("updates".into(), if told.is_empty() { json!([]) } else { json!([told]) });
    }

    /// The pod that gets updates of a device. Releases with several plugins for a resource look it up by
    /// both resource and id.
    fn holder(&self, resource: &ResourceName, id: &DeviceId) -> Option<&PodUid> {
        match self.per_resource {
            PluginsPerResource::One => self.held.holder(id),
            PluginsPerResource::Several => self.held.holder_of(resource, id),
        }
    }

    pub(super) fn devices(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        entry.insert("updates".into(), json!([]));
        let name = text(&step["plugin"]);
        match self.plugins.listed_by(name) {
            Some(_) if self.wire.is_some() => return self.devices_wired(name, &step["devices"], entry),
            Some(resource) => self.listed(&resource, plugins::devices(&step["devices"]), entry),
            None => entry.extend([("not_delivered".to_owned(), json!(true))]),
        }
        Ok(())
    }

    pub(super) fn stop_plugin(&mut self, name: &str, entry: &mut Entry) -> Result<(), String> {
        let stopped = self.plugins.stop(name);
        if let Some(wire) = &mut self.wire {
            wire.stop(name);
        }
        let Some(resource) = stopped else { return Ok(()) };
        if self.per_resource == PluginsPerResource::Several {
            self.gone(&resource, &socket(name))?;
            if self.sockets.sockets(&resource).any(|path| path == socket(name)) {
                entry.insert("not_noticed".into(), json!(true));
            }
            return Ok(());
        }
        if self.disconnect(&resource)?.is_none() {
            self.ended_wired(&resource)?;
        }
        if let Some(Endpoint::Plugin { life: Life::Running, .. }) = self.inventory.endpoint(&resource) {
            entry.insert("not_noticed".into(), json!(true));
        }
        Ok(())
    }

    /// The plugin by that path is known to be gone.
    fn gone(&mut self, resource: &ResourceName, socket: &str) -> Result<(), String> {
        match self.sockets.gone(resource, socket) {
            Gone::Unnoticed => self.ended_wired(resource)?,
            Gone::Closed(connection) => self.plugins.close(connection),
            Gone::Replaced { closed, by } => {
                let by = self.successors.next(by, self.sockets.plugins(resource));
                self.plugins.close(closed);
                self.plugins.call(resource, by.connection);
                if self.wire.is_some() {
                    self.one_lost_wired(resource)?;
                } else {
                    self.set_running(resource, by.options);
                }
            }
            Gone::Last(closed) => {
                self.plugins.close(closed);
                if self.wire.is_some() {
                    self.lost_wired(resource)?;
                } else {
                    self.inventory.disconnect(resource, self.now);
                }
            }
        }
        Ok(())
    }

    pub(super) fn deregister(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let resource = ResourceName::new(text(&step["resource"]));
        if self.per_resource == PluginsPerResource::Several {
            let first = self.sockets.first(&resource).map(str::to_owned);
            entry.insert("had_client".into(), json!(first.is_some()));
            let named = text(&step["plugin"]);
            let path = self.plugins.behaviour(named).map(|_| socket(named)).or(first);
            return self.gone(&resource, &path.unwrap_or_default());
        }
        if let Some(wire) = &self.wire {
            wire.lose(&resource);
        }
        let closed = self.disconnect(&resource)?;
        entry.insert("had_client".into(), json!(closed.is_some()));
        Ok(())
    }

    /// The connection that stands for the resource is closed, or known to be, and its devices are lost.
    fn disconnect(&mut self, resource: &ResourceName) -> Result<Option<ConnectionId>, String> {
        let Some(connection) = self.connections.gone(resource) else { return Ok(None) };
        self.plugins.close(connection);
        if self.wire.is_some() {
            self.lost_wired(resource)?;
        } else {
            self.inventory.disconnect(resource, self.now);
        }
        Ok(Some(connection))
    }

    /// Moves back the moment when a plugin went away.
    pub(super) fn age(&mut self, step: &Value, entry: &mut Entry) {
        let resource = ResourceName::new(text(&step["resource"]));
        let by = core::time::Duration::from_secs(step["seconds"].as_u64().unwrap_or_default());
        let stopped = match self.inventory.endpoint(&resource) {
            Some(Endpoint::Plugin { options, life: Life::Stopped(since) }) => Some((options, since)),
            _ => None,
        };
        entry.insert("aged".into(), json!(stopped.is_some()));
        if let Some((options, since)) = stopped {
            let life = Life::Stopped(Moment(since.0.saturating_sub(by)));
            self.inventory.set_endpoint(&resource, Endpoint::Plugin { options, life });
        }
    }

    pub(super) fn restart(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        if let Some(wire) = &mut self.wire {
            wire.restart()?;
        }
        if !step["checkpoint"].is_null() {
            self.stored = Stored::Unreadable;
        } else if step["delete_checkpoint"].as_bool() == Some(true) {
            self.stored = Stored::Absent;
        }
        (self.inventory, self.held) = self.stored.load(self.inventory.nodes(), self.now);
        self.connections = Connections::default();
        self.sockets = SocketConnections::default();
        self.plugins.close_all();
        let listed = || step["running"].as_array().into_iter().flatten();
        let with =
            |runs| listed().filter(move |container| (container["running"].as_bool() == Some(true)) == runs);
        let key = |container: &Value| {
            let name = ContainerName::new(text(&container["container"]));
            ContainerKey { pod: PodUid::new(text(&container["pod"])), container: name }
        };
        self.running = with(true).map(key).collect();
        if self.chance == Chance::EndedInstances {
            with(false).map(key).for_each(|ended| {
                self.running.remove(&ended);
            });
        }
        self.hear(&step["value"]);
        entry.insert("error".into(), Value::Null);
        Ok(())
    }

    pub(super) fn capacity(&mut self, entry: &mut Entry) {
        let capacity = self.inventory.capacity(self.now);
        if !capacity.forgotten.is_empty() {
            self.store();
        }
        let amounts = |amounts: std::collections::BTreeMap<ResourceName, u64>| {
            Value::Object(amounts.into_iter().map(|(name, count)| (name.to_string(), json!(count))).collect())
        };
        entry.insert("capacity".into(), amounts(capacity.capacity));
        entry.insert("allocatable".into(), amounts(capacity.allocatable));
        entry.insert("deleted".into(), capacity.forgotten.iter().map(ResourceName::as_str).collect());
    }

    fn store(&mut self) {
        self.stored = Stored::Written(Contents::new(&self.inventory, &self.held));
    }
}
