//! The scripted plugins of a case: processes that register, list devices and answer.

use std::collections::BTreeMap;

use device_manager::{
    Access, AllocateReply, ConnectionId, Device, DeviceId, DeviceIds, DeviceNode, Health, Mount,
    PluginOptions, Question, Reply, RpcCode, RpcError, Setup, Topology,
};
use device_plugin::proto::deviceplugin as messages;
use pod_spec::ResourceName;
use serde_json::{Map, Value, json};
use topology_model::NodeId;

use super::show::{self, ids};
use crate::case::{numbers, text};

/// All plugins that have been started and not stopped.
#[derive(Default)]
pub(super) struct Plugins {
    /// By name.
    processes: BTreeMap<String, Process>,
    /// Which connection the kubelet calls for a resource.
    called: BTreeMap<ResourceName, ConnectionId>,
    /// Whose connection it is, also of processes that have ended.
    owners: BTreeMap<ConnectionId, String>,
    connections: u64,
}

struct Process {
    resource: ResourceName,
    /// The step that started it: what it answers.
    behaviour: Value,
    connection: Option<ConnectionId>,
    stream: Stream,
}

/// Whether the kubelet listens to a plugin's lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Open,
    Closed,
}

impl Plugins {
    /// Starts a process, which has no connection yet.
    pub(super) fn start(&mut self, name: &str, resource: &str, behaviour: &Value) {
        let resource = ResourceName::new(resource);
        let process =
            Process { resource, behaviour: behaviour.clone(), connection: None, stream: Stream::Closed };
        self.processes.insert(name.to_owned(), process);
    }

    /// Ends a process. If its stream was open: the resource that it registered.
    pub(super) fn stop(&mut self, name: &str) -> Option<ResourceName> {
        let process = self.processes.remove(name)?;
        (process.stream == Stream::Open).then_some(process.resource)
    }

    /// A number for one more connection.
    pub(super) fn new_connection(&mut self) -> ConnectionId {
        self.connections += 1;
        ConnectionId(self.connections)
    }

    /// The kubelet calls the process by this connection for its resource from now on, and listens to its lists.
    pub(super) fn connected(&mut self, name: &str, connection: ConnectionId) {
        let Some(process) = self.processes.get_mut(name) else { return };
        process.connection = Some(connection);
        self.owners.insert(connection, name.to_owned());
        process.stream = Stream::Open;
        self.called.insert(process.resource.clone(), connection);
    }

    /// The kubelet calls this connection for a resource from now on.
    pub(super) fn call(&mut self, resource: &ResourceName, connection: ConnectionId) {
        self.called.insert(resource.clone(), connection);
    }

    /// The step that started a process.
    pub(super) fn behaviour(&self, name: &str) -> Option<Value> {
        self.processes.get(name).map(|process| process.behaviour.clone())
    }

    /// The kubelet closes a connection.
    pub(super) fn close(&mut self, connection: ConnectionId) {
        for process in self.processes.values_mut().filter(|process| process.connection == Some(connection)) {
            process.stream = Stream::Closed;
        }
    }

    /// The kubelet has stopped: all connections are closed.
    pub(super) fn close_all(&mut self) {
        self.processes.values_mut().for_each(|process| process.stream = Stream::Closed);
        self.called.clear();
    }

    /// The resource of a process that the kubelet listens to.
    pub(super) fn listed_by(&self, name: &str) -> Option<ResourceName> {
        let process = self.processes.get(name).filter(|process| process.stream == Stream::Open)?;
        Some(process.resource.clone())
    }

    /// The connection by which the kubelet listens to a process, and for which resource.
    pub(super) fn listened_to(&self, name: &str) -> Option<(&ResourceName, ConnectionId)> {
        let process = self.processes.get(name).filter(|process| process.stream == Stream::Open)?;
        Some((&process.resource, process.connection?))
    }

    /// The kubelet's error when it calls a plugin that has ended, and whose end it has not noticed.
    pub(super) fn vanished(&self, resource: &ResourceName) -> RpcError {
        let owner = self.called.get(resource).and_then(|connection| self.owners.get(connection));
        let path = format!("{}{}.sock", show::DIR, owner.map_or("", String::as_str));
        let error = format!("Error while dialing: dial unix {path}: connect: no such file or directory");
        RpcError { code: RpcCode(14), message: format!("connection error: desc = \"transport: {error}\"") }
    }

    /// What a plugin answers, and the call as cases write it. `None`: no plugin answers. The kubelet's gRPC
    /// makes a connection anew by the path of its socket, so one that has registered on a path where another
    /// had ended unnoticed is asked, though it was refused.
    pub(super) fn answer(&self, question: &Question) -> Option<(Value, Reply)> {
        let connection = self.called.get(question.resource()).copied();
        let called = |(_, process): &(&String, &Process)| process.connection == connection;
        let by_socket = || self.processes.get_key_value(self.owners.get(&connection?)?);
        let (name, process) = self.processes.iter().find(called).or_else(by_socket)?;
        Some(answer(name, &process.resource, &process.behaviour, question))
    }
}

/// What a plugin that behaves so answers, and the call as cases write it.
pub(super) fn answer(
    name: &str,
    resource: &ResourceName,
    behaviour: &Value,
    question: &Question,
) -> (Value, Reply) {
    let mut call = Map::new();
    call.insert("plugin".into(), json!(name));
    call.insert("resource".into(), json!(resource.as_str()));
    let reply = match question {
        Question::Preferred { available, must_include, size, .. } => {
            call.insert("call".into(), json!("GetPreferredAllocation"));
            call.insert("available".into(), ids(available));
            if !must_include.is_empty() {
                call.insert("must_include".into(), ids(must_include));
            }
            call.insert("size".into(), json!(size));
            preferred(&behaviour["preferred"], available, must_include, *size)
        }
        Question::Allocate { devices, .. } => {
            call.insert("call".into(), json!("Allocate"));
            call.insert("ids".into(), ids(devices));
            allocated(&behaviour["allocate"], devices)
        }
        Question::PreStart { devices, .. } => {
            call.insert("call".into(), json!("PreStartContainer"));
            call.insert("ids".into(), ids(devices));
            match &behaviour["pre_start_error"] {
                Value::Null => Reply::Started,
                error => Reply::Failed(rpc_error(error)),
            }
        }
    };
    (Value::Object(call), reply)
}

/// A list of devices as a message.
pub(super) fn as_message(value: &Value) -> messages::ListAndWatchResponse {
    let on = |ids: &[NodeId]| messages::TopologyInfo {
        nodes: ids.iter().map(|node| messages::NumaNode { id: node.0 }).collect(),
    };
    let device = |device: Device| messages::Device {
        id: device.id.as_str().to_owned(),
        health: match device.health {
            Health::Healthy => "Healthy".to_owned(),
            Health::Unhealthy(word) => word.as_ref().to_owned(),
        },
        topology: match &device.topology {
            Topology::Absent => None,
            Topology::Nodes(ids) => Some(on(ids)),
        },
    };
    messages::ListAndWatchResponse { devices: devices(value).into_iter().map(device).collect() }
}

/// What a plugin gives out, as a message.
pub(super) fn reply_as_message(reply: &AllocateReply) -> messages::ContainerAllocateResponse {
    let setup = show::decoded(reply);
    let mount = |mount: Mount| messages::Mount {
        container_path: mount.container_path,
        host_path: mount.host_path,
        read_only: mount.access == Access::ReadOnly,
    };
    let node = |node: DeviceNode| messages::DeviceSpec {
        container_path: node.container_path,
        host_path: node.host_path,
        permissions: node.permissions,
    };
    messages::ContainerAllocateResponse {
        envs: setup.envs,
        annotations: setup.annotations,
        mounts: setup.mounts.into_iter().map(mount).collect(),
        devices: setup.devices.into_iter().map(node).collect(),
        cdi_devices: setup.cdi_devices.into_iter().map(|name| messages::CdiDevice { name }).collect(),
    }
}

/// What a plugin has given out, as cases write it: without what a message on the wire does not have.
pub(super) fn reply_as_case(setup: &Setup) -> Value {
    let mut reply = Map::new();
    let mut add = |name: &str, value: Value| {
        if !is_default(&value) {
            reply.insert(name.to_owned(), value);
        }
    };
    add("envs", json!(setup.envs));
    add("annotations", json!(setup.annotations));
    let mounts = setup.mounts.iter().map(|mount| {
        let mut shown = json!({ "container_path": mount.container_path, "host_path": mount.host_path });
        if mount.access == Access::ReadOnly {
            shown["read_only"] = json!(true);
        }
        shown
    });
    add("mounts", mounts.collect());
    let devices = setup.devices.iter().map(|node| {
        let mut shown = json!({ "container_path": node.container_path, "host_path": node.host_path });
        if !node.permissions.is_empty() {
            shown["permissions"] = json!(node.permissions);
        }
        shown
    });
    add("devices", devices.collect());
    add("cdi", json!(setup.cdi_devices));
    Value::Object(reply)
}

/// What `GetDevicePluginOptions` answers.
pub(super) fn options(value: &Value) -> PluginOptions {
    let is_on = |name: &str| value[name].as_bool() == Some(true);
    PluginOptions { preferred_allocation: is_on("preferred"), pre_start: is_on("pre_start") }
}

pub(super) fn rpc_error(value: &Value) -> RpcError {
    let code = value["code"].as_u64().and_then(|code| u32::try_from(code).ok()).unwrap_or_default();
    RpcError { code: RpcCode(code), message: text(&value["message"]).to_owned() }
}

/// A list of devices.
pub(super) fn devices(value: &Value) -> Vec<Device> {
    let device = |value: &Value| Device {
        id: DeviceId::new(text(&value["id"])),
        health: match value["health"].as_str() {
            None => Health::Healthy,
            Some("none") => Health::said(""),
            Some(word) => Health::said(word),
        },
        topology: match &value["nodes"] {
            Value::Null => Topology::Absent,
            nodes => Topology::Nodes(numbers(nodes).into_iter().map(NodeId).collect()),
        },
    };
    value.as_array().into_iter().flatten().map(device).collect()
}

fn preferred(how: &Value, available: &DeviceIds, must_include: &DeviceIds, size: u32) -> Reply {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let more = available.iter().filter(|id| !must_include.contains(id));
    let must = must_include.iter();
    let chosen: DeviceIds = match text(&how["mode"]) {
        "first" => must.chain(more).take(size).cloned().collect(),
        "last" => must.chain(more.rev()).take(size).cloned().collect(),
        "static" => {
            let ids = how["ids"].as_array().into_iter().flatten();
            ids.map(|id| DeviceId::new(text(id))).collect()
        }
        "all" => available.clone(),
        "error" => return Reply::Failed(rpc_error(&how["error"])),
        _ => DeviceIds::new(),
    };
    Reply::Preferred(chosen)
}

fn allocated(how: &Value, devices: &DeviceIds) -> Reply {
    if !how["error"].is_null() {
        return Reply::Failed(rpc_error(&how["error"]));
    }
    if how["no_responses"].as_bool() == Some(true) {
        return Reply::NothingAllocated;
    }
    let listed: Vec<&str> = devices.iter().map(DeviceId::as_str).collect();
    let listed = listed.join(",");
    let mut reply = Map::new();
    for name in ["envs", "annotations", "mounts", "devices", "cdi"] {
        let filled = without_defaults(&how[name], &listed);
        if !is_default(&filled) {
            reply.insert(name.into(), filled);
        }
    }
    Reply::Allocated(AllocateReply(Value::Object(reply).to_string().into_bytes().into()))
}

/// With the devices put in, and without what a message on the wire does not have.
fn without_defaults(value: &Value, devices: &str) -> Value {
    match value {
        Value::String(text) => json!(text.replace("{ids}", devices)),
        Value::Array(values) => values.iter().map(|value| without_defaults(value, devices)).collect(),
        Value::Object(fields) => {
            let filled = fields
                .iter()
                .map(|(name, value)| (name.replace("{ids}", devices), without_defaults(value, devices)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
