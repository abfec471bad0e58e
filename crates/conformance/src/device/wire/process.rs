//! A plugin of a case as a process has it: services on sockets, and a list that it sends.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use device_manager::{DeviceId, DeviceIds, Question, Reply};
use device_plugin::proto::deviceplugin as messages;
use device_plugin::proto::deviceplugin::device_plugin_server::{DevicePlugin, DevicePluginServer};
use device_plugin::proto::pluginregistration as found;
use device_plugin::proto::pluginregistration::registration_server::{Registration, RegistrationServer};
use pod_spec::ResourceName;
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_stream::wrappers::{UnixListenerStream, WatchStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

use crate::case::text;
use crate::device::plugins;

/// A plugin that runs until it is dropped.
pub(super) struct Process {
    pub(super) name: String,
    pub(super) resource: ResourceName,
    /// Where it is to be found, if it does not call.
    pub(super) found: Option<Found>,
    lists: watch::Sender<Option<Value>>,
    calls: Arc<Mutex<Vec<Value>>>,
    sockets: Vec<PathBuf>,
    runtime: Option<Runtime>,
}

/// A socket that is to be found, and where the plugin then says it serves.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) socket: PathBuf,
    pub(super) endpoint: PathBuf,
}

/// How the registration of a plugin ended.
pub(in crate::device) enum Registered {
    Yes,
    /// It had called: code and text.
    Refused(i32, String),
    /// It had been found: the text.
    NotTaken(String),
}

/// What answers.
#[derive(Clone)]
struct Service {
    name: String,
    resource: ResourceName,
    behaviour: Value,
    found: Option<Found>,
    /// `None`: none yet.
    lists: watch::Receiver<Option<Value>>,
    calls: Arc<Mutex<Vec<Value>>>,
    told: Sender<Registered>,
    /// Keeps the stream of lists open where no process sends any.
    _only: Option<Arc<watch::Sender<Option<Value>>>>,
}

/// A service that lists these devices, and answers by the script `behaviour`.
pub(in crate::device) fn listing(resource: &str, devices: &[&str], behaviour: Value) -> impl DevicePlugin {
    let devices: Value = devices.iter().map(|id| json!({ "id": id })).collect();
    let (list, lists) = watch::channel(Some(devices));
    let (told, _) = std::sync::mpsc::channel();
    Service {
        name: String::new(),
        resource: ResourceName::new(resource),
        behaviour,
        found: None,
        lists,
        calls: Arc::default(),
        told,
        _only: Some(Arc::new(list)),
    }
}

impl Process {
    /// Listens. A plugin that is to be found sends the result of its registration into the channel.
    pub(super) fn start(
        step: &Value,
        socket: PathBuf,
        found: Option<Found>,
        told: Sender<Registered>,
    ) -> Result<Self, String> {
        let first = (step["silent"].as_bool() != Some(true)).then(|| step["devices"].clone());
        let (lists, watched) = watch::channel(first);
        let calls = Arc::<Mutex<Vec<Value>>>::default();
        let name = text(&step["plugin"]).to_owned();
        let resource = ResourceName::new(text(&step["resource"]));
        let service = Service {
            name: name.clone(),
            resource: resource.clone(),
            behaviour: step.clone(),
            found: found.clone(),
            lists: watched,
            calls: Arc::clone(&calls),
            told,
            _only: None,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        listen(&runtime, &socket, DevicePluginServer::new(service.clone()))?;
        let mut sockets = vec![socket];
        if let Some(found) = &found {
            listen(&runtime, &found.socket, RegistrationServer::new(service))?;
            sockets.push(found.socket.clone());
        }
        Ok(Self { name, resource, found, lists, calls, sockets, runtime: Some(runtime) })
    }

    pub(super) fn list(&self, devices: &Value) {
        // The receiver may be closed.
        let _ = self.lists.send(Some(devices.clone()));
    }

    pub(super) fn calls(&self) -> Vec<Value> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        // A socket that was found stays behind, as that of a process that is killed: it is another thing to lose it.
        if let Some(socket) = self.sockets.first() {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn listen<S>(runtime: &Runtime, socket: &Path, service: S) -> Result<(), String>
where
    S: tonic::codegen::Service<
            tonic::codegen::http::Request<tonic::body::Body>,
            Response = tonic::codegen::http::Response<tonic::body::Body>,
            Error = std::convert::Infallible,
        > + tonic::server::NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    let _inside = runtime.enter();
    // What an ended process has left.
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    let server = tonic::transport::Server::builder().add_service(service);
    runtime.spawn(server.serve_with_incoming(UnixListenerStream::new(listener)));
    Ok(())
}

/// A connection to a socket.
pub(super) async fn channel(socket: &Path) -> Result<Channel, String> {
    let socket = socket.to_path_buf();
    let connect = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { Ok::<_, std::io::Error>(hyper_util::rt::TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    endpoint.connect_with_connector(connect).await.map_err(|error| error.to_string())
}

impl Service {
    fn count(&self, call: Value) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    fn answer(&self, question: &Question) -> Result<Reply, Status> {
        let (call, reply) = plugins::answer(&self.name, &self.resource, &self.behaviour, question);
        self.count(call);
        match reply {
            Reply::Failed(error) => {
                let code = i32::try_from(error.code.0).unwrap_or_default();
                Err(Status::new(Code::from(code), error.message))
            }
            other => Ok(other),
        }
    }
}

fn ids(texts: &[String]) -> DeviceIds {
    texts.iter().map(|id| DeviceId::new(id)).collect()
}

#[tonic::async_trait]
impl DevicePlugin for Service {
    async fn get_device_plugin_options(
        &self,
        _: Request<messages::Empty>,
    ) -> Result<Response<messages::DevicePluginOptions>, Status> {
        self.count(json!({
            "plugin": self.name,
            "resource": self.resource.as_str(),
            "call": "GetDevicePluginOptions",
        }));
        if !self.behaviour["options_error"].is_null() {
            let error = plugins::rpc_error(&self.behaviour["options_error"]);
            return Err(Status::new(
                Code::from(i32::try_from(error.code.0).unwrap_or_default()),
                error.message,
            ));
        }
        let options = plugins::options(&self.behaviour["options"]);
        Ok(Response::new(messages::DevicePluginOptions {
            pre_start_required: options.pre_start,
            get_preferred_allocation_available: options.preferred_allocation,
        }))
    }

    type ListAndWatchStream =
        Pin<Box<dyn Stream<Item = Result<messages::ListAndWatchResponse, Status>> + Send>>;

    async fn list_and_watch(
        &self,
        _: Request<messages::Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let lists = WatchStream::new(self.lists.clone()).filter_map(|list| Some(plugins::as_message(&list?)));
        Ok(Response::new(Box::pin(lists.map(Ok))))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<messages::PreferredAllocationRequest>,
    ) -> Result<Response<messages::PreferredAllocationResponse>, Status> {
        let mut container_responses = Vec::new();
        for asked in request.into_inner().container_requests {
            let question = Question::Preferred {
                resource: self.resource.clone(),
                available: ids(&asked.available_device_i_ds),
                must_include: ids(&asked.must_include_device_i_ds),
                size: u32::try_from(asked.allocation_size).unwrap_or_default(),
            };
            if let Reply::Preferred(chosen) = self.answer(&question)? {
                let device_i_ds = chosen.iter().map(ToString::to_string).collect();
                container_responses.push(messages::ContainerPreferredAllocationResponse { device_i_ds });
            }
        }
        if text(&self.behaviour["preferred"]["mode"]) == "empty" {
            container_responses.clear();
        }
        Ok(Response::new(messages::PreferredAllocationResponse { container_responses }))
    }

    async fn allocate(
        &self,
        request: Request<messages::AllocateRequest>,
    ) -> Result<Response<messages::AllocateResponse>, Status> {
        let mut container_responses = Vec::new();
        for asked in request.into_inner().container_requests {
            let question =
                Question::Allocate { resource: self.resource.clone(), devices: ids(&asked.devices_ids) };
            if let Reply::Allocated(reply) = self.answer(&question)? {
                container_responses.push(plugins::reply_as_message(&reply));
            }
        }
        let extra = self.behaviour["allocate"]["extra_responses"].as_u64().unwrap_or_default();
        for _ in 0..extra {
            let envs = [("EXTRA".to_owned(), "1".to_owned())].into();
            container_responses.push(messages::ContainerAllocateResponse { envs, ..Default::default() });
        }
        Ok(Response::new(messages::AllocateResponse { container_responses }))
    }

    async fn pre_start_container(
        &self,
        request: Request<messages::PreStartContainerRequest>,
    ) -> Result<Response<messages::PreStartContainerResponse>, Status> {
        let devices = ids(&request.into_inner().devices_ids);
        self.answer(&Question::PreStart { resource: self.resource.clone(), devices })?;
        Ok(Response::new(messages::PreStartContainerResponse {}))
    }
}

#[tonic::async_trait]
impl Registration for Service {
    async fn get_info(&self, _: Request<found::InfoRequest>) -> Result<Response<found::PluginInfo>, Status> {
        let versions = self.behaviour["versions"].as_array().map(Vec::as_slice);
        let endpoint = self.found.as_ref().map(|found| found.endpoint.display().to_string());
        Ok(Response::new(found::PluginInfo {
            r#type: "DevicePlugin".to_owned(),
            name: self.resource.as_str().to_owned(),
            endpoint: endpoint.unwrap_or_default(),
            supported_versions: versions.map_or_else(
                || vec!["v1beta1".to_owned()],
                |listed| listed.iter().map(|version| text(version).to_owned()).collect(),
            ),
        }))
    }

    async fn notify_registration_status(
        &self,
        request: Request<found::RegistrationStatus>,
    ) -> Result<Response<found::RegistrationStatusResponse>, Status> {
        let found::RegistrationStatus { plugin_registered, error } = request.into_inner();
        let said = if plugin_registered { Registered::Yes } else { Registered::NotTaken(error) };
        // Only the first status has a receiver.
        let _ = self.told.send(said);
        Ok(Response::new(found::RegistrationStatusResponse {}))
    }
}
