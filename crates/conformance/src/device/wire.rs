//! The sockets of a case: a server of ours, and the case's plugins as processes that call it and are called.

mod process;
mod told;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use device_manager::{AllocateReply, PluginTime, Question, Reply};
use device_plugin::proto::deviceplugin::RegisterRequest;
use device_plugin::proto::deviceplugin::registration_client::RegistrationClient;
use device_plugin::{
    Folders, PodResourcesClient, PodResourcesSnapshot, Questions, Server, ServerEvent, Setup, Times,
    container_setup,
};
use kubelet_release::PluginsPerResource;
use pod_spec::ResourceName;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::plugins::reply_as_case;
use super::show;
use crate::case::text;
use process::{Found, Process};
pub(in crate::device) use process::{Registered, listing};
use told::Told;
use topology_admission::Compat;

/// How long is waited for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the sockets of one case are.
pub(in crate::device) struct Wire {
    per_resource: PluginsPerResource,
    folder: Folder,
    server: Option<Server>,
    events: Receiver<ServerEvent>,
    told: Arc<Told>,
    processes: Vec<Process>,
    started: usize,
}

/// A folder, gone at the end.
pub(in crate::device) struct Folder(pub(in crate::device) PathBuf);

impl Folder {
    pub(in crate::device) fn new() -> Result<Self, String> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("kubelet-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the folder stays among the system's temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The runtime of those who call.
fn callers() -> Result<&'static Runtime, String> {
    static CALLERS: OnceLock<Runtime> = OnceLock::new();
    if CALLERS.get().is_none() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        // Another thread may have been faster, with the same.
        let _ = CALLERS.set(runtime.map_err(|error| error.to_string())?);
    }
    CALLERS.get().ok_or_else(|| "no runtime".to_owned())
}

impl Wire {
    pub(in crate::device) fn start(per_resource: PluginsPerResource) -> Result<Self, String> {
        let (_, events) = channel();
        let folder = Folder::new()?;
        let told = Arc::default();
        let mut wire =
            Self { per_resource, folder, server: None, events, told, processes: Vec::new(), started: 0 };
        wire.serve()?;
        Ok(wire)
    }

    fn folders(&self) -> Folders {
        Folders::below(&self.folder.0)
    }

    fn serve(&mut self) -> Result<(), String> {
        let (tell, events) = channel();
        self.events = events;
        // What is found is found soon, and what failed is not tried again within a case.
        let times = Times {
            plugin: PluginTime::Within(PATIENCE),
            look: Duration::from_millis(2),
            retry: Duration::from_hours(1),
            ..Times::default()
        };
        // Cases ask more in a moment than the kubelet answers in one.
        let setup = Setup {
            times,
            replaced: Compat::KUBELET.replaced_plugins,
            per_resource: self.per_resource,
            questions: Questions::All,
            ..Setup::new(self.folders())
        };
        let told = Arc::clone(&self.told);
        let server = Server::start(&setup, told, move |event| drop(tell.send(event)));
        self.server = Some(server.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// The server starts again. Plugins stay, and have to come again by themselves.
    pub(in crate::device) fn restart(&mut self) -> Result<(), String> {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        // These cases were recorded without a look for plugins.
        let _ = std::fs::remove_dir_all(self.folders().plugins_registry);
        self.serve()
    }

    /// What has happened without being waited for.
    pub(in crate::device) fn happened(&self) -> Vec<ServerEvent> {
        self.events.try_iter().collect()
    }

    /// The next thing that happens.
    pub(in crate::device) fn next(&self) -> Result<ServerEvent, String> {
        self.events.recv_timeout(PATIENCE).map_err(|_| "nothing happens on the sockets".to_owned())
    }

    /// Starts a process and has it registered; `record` gets the events until then.
    pub(in crate::device) fn register(
        &mut self,
        step: &Value,
        mut record: impl FnMut(ServerEvent),
    ) -> Result<Registered, String> {
        self.started += 1;
        let name = text(&step["plugin"]);
        let folders = self.folders();
        let socket = folders.device_plugins.join(format!("{name}.sock"));
        let found = (text(&step["via"]) == "watcher").then(|| Found {
            socket: folders.plugins_registry.join(format!("{name}-{}.sock", self.started)),
            endpoint: socket.clone(),
        });
        let (answer, answered) = channel();
        let is_found = found.is_some();
        let process = Process::start(step, socket, found, answer.clone())?;
        self.processes.push(process);
        if !is_found {
            let kubelet = folders.device_plugins.join("kubelet.sock");
            let request = RegisterRequest {
                version: step["version"].as_str().unwrap_or("v1beta1").to_owned(),
                endpoint: format!("{name}.sock"),
                resource_name: text(&step["resource"]).to_owned(),
                options: None,
            };
            // Cases name the kubelet's own folder.
            let own = format!("{}/", folders.device_plugins.display());
            let shown = move |message: &str| message.replace(&own, show::DIR);
            callers()?.spawn(async move {
                let said = match process::channel(&kubelet).await {
                    Err(error) => Registered::NotTaken(error),
                    Ok(channel) => match RegistrationClient::new(channel).register(request).await {
                        Ok(_) => Registered::Yes,
                        Err(status) => Registered::Refused(status.code().into(), shown(status.message())),
                    },
                };
                // Who waited may have given up.
                let _ = answer.send(said);
            });
        }
        // It is answered when what has happened has been recorded.
        loop {
            match answered.recv_timeout(Duration::from_millis(1)) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Timeout) => self.events.try_iter().for_each(&mut record),
                Err(RecvTimeoutError::Disconnected) => return Err("a plugin was not answered".to_owned()),
            }
        }
    }

    fn process(&mut self, name: &str) -> Option<&mut Process> {
        self.processes.iter_mut().rev().find(|process| process.name == name)
    }

    /// A process lists its devices.
    pub(in crate::device) fn list(&mut self, name: &str, devices: &Value) {
        if let Some(process) = self.process(name) {
            process.list(devices);
        }
    }

    /// A process ends.
    pub(in crate::device) fn stop(&mut self, name: &str) {
        self.processes.retain(|process| process.name != name);
    }

    /// The socket by which a plugin was found for the resource vanishes. `false`: there is none.
    pub(in crate::device) fn lose(&self, resource: &ResourceName) -> bool {
        let found = self.processes.iter().rev().filter(|process| process.resource == *resource);
        found
            .filter_map(|process| process.found.as_ref())
            .any(|found| std::fs::remove_file(&found.socket).is_ok())
    }

    /// What the processes have been asked since this was called last, as cases write it.
    pub(in crate::device) fn calls(&mut self) -> Vec<Value> {
        let mut calls: Vec<Value> = self.processes.iter().flat_map(Process::calls).collect();
        calls.sort_by_key(|call| text(&call["resource"]).to_owned());
        calls
    }

    /// Asks a plugin; the devices' setup comes back in the form of cases.
    pub(in crate::device) fn ask(&self, question: &Question) -> Reply {
        let Some(server) = &self.server else { return Reply::NothingAllocated };
        match server.ask(question) {
            Reply::Allocated(reply) => {
                let setup = container_setup(&reply).unwrap_or_default();
                Reply::Allocated(AllocateReply(reply_as_case(&setup).to_string().into_bytes().into()))
            }
            other => other,
        }
    }

    /// Asks the pod resources socket, which serves `snapshot`.
    pub(in crate::device) fn pod_resources<T>(
        &self,
        snapshot: PodResourcesSnapshot,
        ask: impl FnOnce(&mut PodResourcesClient) -> Result<T, device_plugin::ClientError>,
    ) -> Result<T, String> {
        self.told.tell(snapshot);
        let socket = self.folders().pod_resources.join("kubelet.sock");
        let mut client = PodResourcesClient::connect(&socket, PATIENCE).map_err(|error| error.to_string())?;
        ask(&mut client).map_err(|error| match error {
            device_plugin::ClientError::Failed(error) => error.message,
            other => other.to_string(),
        })
    }
}

/// The error of a call that was refused.
pub(in crate::device) fn refused(code: i32, message: &str) -> Value {
    let code = device_manager::RpcCode(u32::try_from(code).unwrap_or_default());
    json!({ "code": code.to_string(), "message": message })
}

/// Calls `Register`; code and text of a refusal.
pub(in crate::device) fn register(
    kubelet: &std::path::Path,
    request: RegisterRequest,
) -> Result<Result<(), (i32, String)>, String> {
    callers()?.block_on(async {
        let mut client = RegistrationClient::new(process::channel(kubelet).await?);
        let answer = client.register(request).await;
        Ok(answer.map(drop).map_err(|status| (status.code().into(), status.message().to_owned())))
    })
}
