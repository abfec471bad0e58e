//! Plugins whose sockets are found: the calls that they get, and what is known of their devices then.
//!
//! The kubelet looks once a second and was watched for 2.6 of them. Here everything is thirty times as fast, and what is
//! watched ends with the answer: with failures, which are tried again, when there have been as many calls.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use device_manager::{Inventory, Moment};
use device_plugin::proto::deviceplugin::device_plugin_server::DevicePluginServer;
use device_plugin::proto::pluginregistration::registration_server::{Registration, RegistrationServer};
use device_plugin::proto::pluginregistration::{
    InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse,
};
use device_plugin::{Folders, Server, ServerEvent, Setup, Times};
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Code, Request, Response, Status};
use topology_admission::Compat;
use topology_model::Nodes;

use super::Nothing;
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;
use crate::device::plugins::rpc_error;
use crate::device::show::ids;
use crate::device::wire::{Folder, listing};

/// How long is waited for what must come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much faster than the kubelet.
const FASTER: u32 = 30;

/// A plugin in the folder, and what it is asked.
pub(in crate::device) fn watch(_: &Corpus, case: &Case) -> Outcome {
    let expected = match &case.expected {
        crate::case::Expected::Result(result) => result.clone(),
        _ => Value::Null,
    };
    case.compare(played(&case.input, &expected).unwrap_or_else(|error| json!({ "failed": error })))
}

fn played(input: &Value, expected: &Value) -> Result<Value, String> {
    let root = Folder::new()?;
    let folders = Folders::below(&root.0);
    let dir = root.0.display().to_string();
    let times = Times::default();
    let times = Times { look: times.look / FASTER, retry: times.retry / FASTER, ..times };
    let (tell, events) = channel();
    let setup = Setup { times, replaced: Compat::KUBELET.replaced_plugins, ..Setup::new(folders.clone()) };
    let server = Server::start(&setup, Arc::new(Nothing), move |event| drop(tell.send(event)));
    let _server = server.map_err(|error| error.to_string())?;
    let mut node = Node { inventory: Inventory::new(Nodes::default()), events };

    let calls = Arc::<Mutex<Vec<Value>>>::default();
    let socket = folders.plugins_registry.join(text(&input["socket"]));
    let said = Said { input: input.clone(), dir: dir.clone(), calls: Arc::clone(&calls) };
    let plugin = Plugin::start(&socket, said, input["serves_device_plugin"].as_bool() == Some(true))?;
    // A socket beside it that is of no use: when it has been looked at again, so has the other.
    let passed = Arc::<Mutex<Vec<Value>>>::default();
    let witness =
        Said { input: json!({ "info": { "type": "None" } }), dir: dir.clone(), calls: Arc::clone(&passed) };
    let _witness = Plugin::start(&folders.plugins_registry.join("witness.sock"), witness, false)?;

    let count = expected["calls"].as_array().map_or(0, Vec::len);
    let enough =
        |node: &Node| length(&calls) >= count && length(&passed) >= 4 && node.state() == expected["state"];
    node.until(enough);
    let mut heard: Vec<Value> = lock(&calls).clone();
    // A plugin that is registered is left alone; one that is not is tried again and again.
    if heard.last().is_none_or(|last| last["registered"] != true) || !input["notify_error"].is_null() {
        heard.truncate(count);
    }
    let shown = json!({ "calls": heard, "state": node.state() }).to_string();
    let mut result: Value =
        serde_json::from_str(&shown.replace(&dir, "<DIR>")).map_err(|error| error.to_string())?;
    if input["socket_removed"].as_bool() == Some(true) {
        std::fs::remove_file(&plugin.socket).map_err(|error| error.to_string())?;
        let after = &expected["state_after_removal"];
        node.until(|node| node.state() == *after);
        result["state_after_removal"] = node.state();
    }
    Ok(result)
}

fn lock(calls: &Mutex<Vec<Value>>) -> std::sync::MutexGuard<'_, Vec<Value>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

fn length(calls: &Mutex<Vec<Value>>) -> usize {
    lock(calls).len()
}

/// Who keeps the inventory.
struct Node {
    inventory: Inventory,
    events: Receiver<ServerEvent>,
}

impl Node {
    fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) && Instant::now() < deadline {
            if let Ok(event) = self.events.recv_timeout(Duration::from_millis(1)) {
                event.record(&mut self.inventory, Moment::default());
            }
        }
    }

    /// The two sets of devices.
    fn state(&self) -> Value {
        let healthy = self.inventory.registered();
        let healthy = healthy.map(|name| (name.to_string(), ids(self.inventory.healthy(name))));
        let unhealthy = self.inventory.unhealthy().map(|(name, lost)| (name.to_string(), ids(lost)));
        json!({
            "healthy": healthy.collect::<BTreeMap<_, _>>(),
            "unhealthy": unhealthy.collect::<BTreeMap<_, _>>(),
        })
    }
}

/// What the plugin says, as the case puts it.
struct Said {
    input: Value,
    dir: String,
    calls: Arc<Mutex<Vec<Value>>>,
}

/// A plugin that listens.
struct Plugin {
    socket: PathBuf,
    runtime: Option<Runtime>,
}

impl Plugin {
    fn start(socket: &std::path::Path, said: Said, serves: bool) -> Result<Self, String> {
        if let Some(folder) = socket.parent() {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let inside = runtime.enter();
        let listener = UnixListener::bind(socket).map_err(|error| error.to_string())?;
        let resource = text(&said.input["info"]["name"]).to_owned();
        // What a server in Go answers for a service that it has not.
        let missing =
            json!({ "options_error": { "code": 12, "message": "unknown service v1beta1.DevicePlugin" } });
        let listing = listing(&resource, &["d0", "d1"], if serves { Value::Null } else { missing });
        let mut server = tonic::transport::Server::builder();
        let router =
            server.add_service(RegistrationServer::new(said)).add_service(DevicePluginServer::new(listing));
        runtime.spawn(router.serve_with_incoming(UnixListenerStream::new(listener)));
        drop(inside);
        Ok(Self { socket: socket.to_path_buf(), runtime: Some(runtime) })
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[tonic::async_trait]
impl Registration for Said {
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        lock(&self.calls).push(json!("GetInfo"));
        if !self.input["info_error"].is_null() {
            return Err(failure(&self.input["info_error"]));
        }
        let info = &self.input["info"];
        let versions = info["supported_versions"].as_array().into_iter().flatten();
        Ok(Response::new(PluginInfo {
            r#type: text(&info["type"]).to_owned(),
            name: text(&info["name"]).to_owned(),
            endpoint: text(&info["endpoint"]).replace("<DIR>", &self.dir),
            supported_versions: versions.map(|version| text(version).to_owned()).collect(),
        }))
    }

    async fn notify_registration_status(
        &self,
        request: Request<RegistrationStatus>,
    ) -> Result<Response<RegistrationStatusResponse>, Status> {
        let RegistrationStatus { plugin_registered, error } = request.into_inner();
        lock(&self.calls).push(json!({ "registered": plugin_registered, "error": error }));
        match &self.input["notify_error"] {
            Value::Null => Ok(Response::new(RegistrationStatusResponse {})),
            error => Err(failure(error)),
        }
    }
}

fn failure(value: &Value) -> Status {
    let error = rpc_error(value);
    Status::new(Code::from(i32::try_from(error.code.0).unwrap_or_default()), error.message)
}
