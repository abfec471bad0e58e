//! A scripted plugin in this process.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use device_plugin::proto::deviceplugin::device_plugin_server::{DevicePlugin, DevicePluginServer};
use device_plugin::proto::deviceplugin::registration_client::RegistrationClient;
use device_plugin::proto::deviceplugin::{
    AllocateRequest, AllocateResponse, ContainerAllocateResponse, ContainerPreferredAllocationRequest,
    ContainerPreferredAllocationResponse, Device, DevicePluginOptions, Empty, ListAndWatchResponse, NumaNode,
    PreStartContainerRequest, PreStartContainerResponse, PreferredAllocationRequest,
    PreferredAllocationResponse, RegisterRequest, TopologyInfo,
};
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_stream::Stream;
use tokio_stream::wrappers::{UnixListenerStream, WatchStream};
use tonic::{Request, Response, Status};

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>;

/// What it answers.
pub struct Script {
    pub options: DevicePluginOptions,
    pub preferred: Box<dyn Fn(ContainerPreferredAllocationRequest) -> Answer<Vec<String>> + Send + Sync>,
    pub allocate: Box<dyn Fn(Vec<String>) -> Answer<AllocateResponse> + Send + Sync>,
    pub pre_start: Box<dyn Fn(Vec<String>) -> Answer<()> + Send + Sync>,
    pub lists: Lists,
}

/// Whether it lists its devices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// At once, and again when they change.
    Devices,
    /// Never; its stream stays open.
    Nothing,
}

impl Script {
    /// One that registers and never lists.
    pub fn silent() -> Self {
        Self { lists: Lists::Nothing, ..Self::default() }
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            options: DevicePluginOptions::default(),
            preferred: Box::new(|_| Box::pin(async { Ok(Vec::new()) })),
            allocate: Box::new(|ids| {
                let env = [("IDS".to_owned(), ids.join(","))];
                let one = ContainerAllocateResponse { envs: env.into(), ..Default::default() };
                Box::pin(async { Ok(AllocateResponse { container_responses: vec![one] }) })
            }),
            pre_start: Box::new(|_| Box::pin(async { Ok(()) })),
            lists: Lists::Devices,
        }
    }
}

pub type List = Result<ListAndWatchResponse, Status>;

/// A plugin that listens; gone when it is dropped.
pub struct Plugin {
    runtime: Option<Runtime>,
    lists: watch::Sender<Vec<Device>>,
    /// What it has been asked.
    pub calls: Arc<Mutex<Vec<String>>>,
    pub socket: PathBuf,
}

pub struct Service {
    script: Script,
    lists: watch::Receiver<Vec<Device>>,
    calls: Arc<Mutex<Vec<String>>>,
}

pub fn device(id: &str, nodes: &[i64]) -> Device {
    let nodes: Vec<NumaNode> = nodes.iter().map(|id| NumaNode { id: *id }).collect();
    let topology = (!nodes.is_empty()).then_some(TopologyInfo { nodes });
    Device { id: id.to_owned(), health: "Healthy".to_owned(), topology }
}

/// The service alone, with one list.
pub fn service(script: Script, devices: Vec<Device>) -> Service {
    let (lists, watched) = watch::channel(devices);
    // The stream lasts as long as there may be another list.
    std::mem::forget(lists);
    Service { script, lists: watched, calls: Arc::default() }
}

impl Plugin {
    pub fn listen(socket: &Path, script: Script, devices: Vec<Device>) -> Self {
        let runtime = runtime();
        let (lists, watched) = watch::channel(devices);
        let calls = Arc::<Mutex<Vec<String>>>::default();
        let service = DevicePluginServer::new(Service { script, lists: watched, calls: Arc::clone(&calls) });
        let listener = {
            let _inside = runtime.enter();
            UnixListenerStream::new(UnixListener::bind(socket).unwrap())
        };
        let server = tonic::transport::Server::builder().add_service(service);
        runtime.spawn(server.serve_with_incoming(listener));
        Self { runtime: Some(runtime), lists, calls, socket: socket.to_path_buf() }
    }

    pub fn list(&self, devices: Vec<Device>) {
        self.lists.send(devices).unwrap();
    }

    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Says `Register`; returns code and text of a refusal.
pub fn register(kubelet: &Path, request: RegisterRequest) -> Result<(), (i32, String)> {
    let runtime = runtime();
    let kubelet = kubelet.to_path_buf();
    runtime.block_on(async move {
        let mut client = RegistrationClient::new(channel(&kubelet).await);
        client
            .register(request)
            .await
            .map(drop)
            .map_err(|status| (status.code().into(), status.message().into()))
    })
}

pub async fn channel(socket: &Path) -> tonic::transport::Channel {
    let socket = socket.to_path_buf();
    let connect = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move {
            let stream = tokio::net::UnixStream::connect(socket).await?;
            Ok::<_, std::io::Error>(hyper_util::rt::TokioIo::new(stream))
        }
    });
    let endpoint = tonic::transport::Endpoint::from_static("http://localhost");
    endpoint.connect_with_connector(connect).await.unwrap()
}

pub fn request(endpoint: &str, resource: &str) -> RegisterRequest {
    RegisterRequest {
        version: "v1beta1".to_owned(),
        endpoint: endpoint.to_owned(),
        resource_name: resource.to_owned(),
        options: None,
    }
}

#[tonic::async_trait]
impl DevicePlugin for Service {
    async fn get_device_plugin_options(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<DevicePluginOptions>, Status> {
        self.calls.lock().unwrap().push("options".to_owned());
        Ok(Response::new(self.script.options))
    }

    type ListAndWatchStream = Pin<Box<dyn Stream<Item = List> + Send>>;

    async fn list_and_watch(&self, _: Request<Empty>) -> Result<Response<Self::ListAndWatchStream>, Status> {
        use tokio_stream::StreamExt as _;
        if self.script.lists == Lists::Nothing {
            return Ok(Response::new(Box::pin(tokio_stream::pending())));
        }
        let lists = WatchStream::new(self.lists.clone());
        Ok(Response::new(Box::pin(lists.map(|devices| Ok(ListAndWatchResponse { devices })))))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        let asked = request.into_inner().container_requests.remove(0);
        self.calls.lock().unwrap().push(format!("preferred {}", asked.available_device_i_ds.join(",")));
        let device_i_ds = (self.script.preferred)(asked).await?;
        let container_responses = vec![ContainerPreferredAllocationResponse { device_i_ds }];
        Ok(Response::new(PreferredAllocationResponse { container_responses }))
    }

    async fn allocate(
        &self,
        request: Request<AllocateRequest>,
    ) -> Result<Response<AllocateResponse>, Status> {
        let ids = request.into_inner().container_requests.remove(0).devices_ids;
        self.calls.lock().unwrap().push(format!("allocate {}", ids.join(",")));
        (self.script.allocate)(ids).await.map(Response::new)
    }

    async fn pre_start_container(
        &self,
        request: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        let ids = request.into_inner().devices_ids;
        self.calls.lock().unwrap().push(format!("pre-start {}", ids.join(",")));
        (self.script.pre_start)(ids).await.map(|()| Response::new(PreStartContainerResponse {}))
    }
}
