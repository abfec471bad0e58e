//! All sockets of a node, served.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use device_manager::{Question, Reply};
use kept_socket::{KeptListener, SocketChange};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tonic::transport::server::Router;

use crate::event::{ServerEvent, Socket};
use crate::folders::make_folder;
use crate::incoming;
use crate::metrics::Metrics;
use crate::plugins::Plugins;
use crate::pod_resources::{Lister, PodResources, PodResourcesQuery};
use crate::proto::deviceplugin::registration_server::RegistrationServer;
use crate::proto::podresources::pod_resources_lister_server::PodResourcesListerServer;
use crate::proto::podresources_v1alpha1::pod_resources_lister_server::PodResourcesListerServer as V1Alpha1ListerServer;
use crate::registration::Registrar;
use crate::registry::Registry;
use crate::setup::Setup;
use crate::sockets::{self, StartError};
use crate::wire::Grpc;

/// Threads that serve; what they do is short.
const THREADS: usize = 2;
/// Requests of one connection at once; more are refused.
const STREAMS: u32 = 100;
/// The largest request, in bytes: a path and some names.
const REQUEST: usize = 256 * 1024;
/// Requests that may be cancelled before they have been looked at; a client with more is cut off.
const CANCELLED_STREAMS: usize = 20;
/// Fields of a request.
const HEADERS: u32 = 16 * 1024;
/// What is left of calls when the server stops.
const STOPPING: Duration = Duration::from_millis(500);

/// The sockets, served until it is stopped or dropped.
pub struct Server {
    /// `None` when it has been stopped.
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
    sockets: [PathBuf; 2],
    plugins: Arc<Plugins>,
    metrics: Metrics,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("sockets", &self.sockets).finish_non_exhaustive()
    }
}

impl Server {
    /// Makes the folders that are not there, removes every socket of the folder of device plugins, and serves.
    ///
    /// `tell` is called for each [`ServerEvent`], from threads of the server, one at a time. It must not wait,
    /// and not ask this server: let it send into a channel. Events cannot pile up, since no plugin goes on
    /// before its last one has been dropped, but for [`ServerEvent::NotRegistered`].
    ///
    /// # Errors
    /// A server answers at one of the sockets (then nothing has been touched), or the sockets cannot be made.
    pub fn start(
        setup: &Setup,
        pod_resources: Arc<dyn PodResources>,
        tell: impl Fn(ServerEvent) + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let folders = &setup.folders;
        let own = [folders.device_plugins.join(sockets::NAME), folders.pod_resources.join(sockets::NAME)];
        own.iter().try_for_each(|socket| sockets::check(socket))?;
        for (folder, mode) in [
            (&folders.device_plugins, sockets::PLUGINS_MODE),
            (&folders.pod_resources, sockets::OTHER_MODE),
            (&folders.plugins_registry, sockets::OTHER_MODE),
        ] {
            make_folder(folder, mode).map_err(StartError::file("create", folder))?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("device-plugin")
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        sockets::remove_all(&folders.device_plugins)?;
        let metrics = Metrics::default();
        let limit = setup.messages.bytes();
        let wire = Grpc { times: setup.times, list_limit: limit };
        let pods = Arc::clone(&pod_resources);
        let held = move || pods.snapshot(PodResourcesQuery::List).held_resources();
        let plugins = Arc::new(Plugins::new(wire, setup, metrics.clone(), tell, held));
        let registrar = Registrar { folder: folders.device_plugins.clone(), plugins: Arc::clone(&plugins) };
        let registrar = RegistrationServer::new(registrar).max_decoding_message_size(REQUEST);
        let lister = Arc::new(Lister::new(pod_resources, metrics.clone(), setup.questions));
        let v1 = PodResourcesListerServer::from_arc(lister.clone()).max_decoding_message_size(REQUEST);
        let v1alpha1 = V1Alpha1ListerServer::from_arc(lister).max_decoding_message_size(REQUEST);
        let routers = [bounded().add_service(registrar), bounded().add_service(v1).add_service(v1alpha1)];
        let (stop, stopped) = watch::channel(false);
        let kinds =
            [(Socket::Registration, sockets::PLUGINS_MODE), (Socket::PodResources, sockets::OTHER_MODE)];
        for (((socket, mode), path), router) in kinds.into_iter().zip(&own).zip(routers) {
            let listener = kept((socket, path.clone(), mode), &plugins, &runtime)?;
            let (plugins, stopped) = (Arc::clone(&plugins), stopped.clone());
            let at_once = setup.limits.incoming;
            runtime.spawn(async move {
                if let Err(error) = serve((listener, at_once), router, stopped).await {
                    plugins.tell(ServerEvent::NotServed { socket, error });
                }
            });
        }
        let registry = Registry::new(folders.plugins_registry.clone(), Arc::clone(&plugins));
        runtime.spawn(registry.run());
        Ok(Self { runtime: Some(runtime), stop, sockets: own, plugins, metrics })
    }

    /// Asks a plugin, and waits for the answer: at most the time in [`Times`](crate::Times), and not at all if
    /// the plugin is not connected. Must not be called while `tell` handles a [`ServerEvent`].
    #[must_use]
    pub fn ask(&self, question: &Question) -> Reply {
        match &self.runtime {
            Some(runtime) => runtime.handle().block_on(self.plugins.ask(question.clone(), |_, reply| reply)),
            None => Reply::Failed(crate::errors::closing()),
        }
    }

    /// Asks a plugin, and calls `answered` with the answer, from a thread of the server, in order with the
    /// events; `answered` must not wait. If the plugin is replaced meanwhile, its answer is dropped and the new
    /// one is asked.
    pub fn ask_then(&self, question: Question, answered: impl FnOnce(Question, Reply) + Send + 'static) {
        match &self.runtime {
            Some(runtime) => {
                let plugins = Arc::clone(&self.plugins);
                runtime.spawn(async move { plugins.ask(question, answered).await });
            }
            None => answered(question, Reply::Failed(crate::errors::closing())),
        }
    }

    /// What has been counted.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Closes all connections, with an event for each plugin, and removes the sockets.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        // The receivers may have ended already.
        let _ = self.stop.send(true);
        self.plugins.close_all();
        // The listeners remove their sockets.
        runtime.shutdown_timeout(STOPPING);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A server that no client can make grow without bounds.
fn bounded() -> tonic::transport::Server {
    tonic::transport::Server::builder()
        .max_concurrent_streams(STREAMS)
        .http2_max_pending_accept_reset_streams(Some(CANCELLED_STREAMS))
        .http2_max_header_list_size(HEADERS)
}

/// Listens at a socket, and makes it again when another process removes or replaces it.
fn kept(
    (socket, path, folder_mode): (Socket, PathBuf, u32),
    plugins: &Arc<Plugins>,
    runtime: &Runtime,
) -> Result<KeptListener, StartError> {
    let _inside = runtime.enter();
    let first = sockets::listen(&path, folder_mode)?;
    let (at, plugins) = (path.clone(), Arc::clone(plugins));
    let make = move || sockets::listen(&at, folder_mode).map_err(|error| io::Error::other(chain(&error)));
    let tell = move |fate| {
        plugins.tell(match fate {
            SocketChange::Remade | SocketChange::Back => ServerEvent::ServedAgain { socket },
            SocketChange::Gone(error) => ServerEvent::NotServed { socket, error },
        });
    };
    KeptListener::new(first, make, tell).map_err(StartError::file("listen on", &path))
}

async fn serve(
    (listener, at_once): (KeptListener, usize),
    router: Router,
    stopped: watch::Receiver<bool>,
) -> Result<(), String> {
    let connections = incoming::connections(listener, at_once, stopped.clone());
    let served = router.serve_with_incoming_shutdown(connections, incoming::end(stopped)).await;
    served.map_err(|error| chain(&error))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
