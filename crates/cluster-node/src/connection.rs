//! A connection to an API server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
pub use kube::client::Body as RequestBody;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tower::{BoxError, Layer as _, Service};

use crate::bounded::BoundedAnswers;
use crate::clock::{Clock, SystemClock};
use crate::error::ClusterError;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(1);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// Where the API server is, and who asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// As a kubeconfig says, by its current context.
    Kubeconfig(PathBuf),
    /// As the pod's service account.
    InCluster,
    /// As kubectl finds it.
    Kubectl(KubectlAccess),
}

/// The options by which kubectl finds the API server: by default none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KubectlAccess {
    /// `--kubeconfig`. `None`: those of `KUBECONFIG`, else `~/.kube/config`, else the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`. `None`: the kubeconfig's current one.
    pub context: Option<String>,
}

/// Why a writer stops waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// The caller's own event has happened.
    ByUs,
    /// Another client has changed or deleted the object.
    ByOthers,
    /// The time is over.
    ByTime,
}

/// A connection to an API server. Its methods wait for their answer; not to be used inside a runtime.
pub struct Cluster {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    /// Its address.
    pub(crate) server: String,
    /// The same for messages, with the kubeconfig that has it.
    named: String,
    pub(crate) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Reads how to connect. Nothing is sent yet.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or this is no pod of a cluster.
    pub fn new(access: &Access) -> Result<Self, ClusterError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClusterError::Runtime)?;
        let config = runtime.block_on(config(access))?;
        let mut cluster = Self::with(runtime, config)?;
        if let Access::Kubeconfig(path) | Access::Kubectl(KubectlAccess { kubeconfig: Some(path), .. }) =
            access
        {
            cluster.named = format!("{} of {}", cluster.server, path.display());
        }
        Ok(cluster)
    }

    pub(crate) fn with(runtime: Runtime, config: Config) -> Result<Self, ClusterError> {
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        if !matches!(config.cluster_url.scheme_str(), Some("http" | "https")) {
            let reason = "its address begins with neither https:// nor http://".to_owned();
            return Err(ClusterError::Unreachable { server, reason });
        }
        let client = {
            let _inside = runtime.enter();
            let client = ClientBuilder::try_from(config).map_err(|error| ClusterError::of(&server, error))?;
            client.with_layer(&BoundedAnswers).build()
        };
        Ok(Self { runtime, client, named: server.clone(), server, clock: Arc::new(SystemClock) })
    }

    /// A connection of which a service answers the requests. Calls wait in `runtime`, and time passes as `clock` has it.
    pub fn over<S, B>(service: S, runtime: Runtime, clock: Arc<dyn Clock>) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>, Error: Into<BoxError>> + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let client = {
            let _inside = runtime.enter();
            Client::new(BoundedAnswers.layer(service), "default")
        };
        let server = "the service".to_owned();
        Self { runtime, client, named: server.clone(), server, clock }
    }

    /// The address of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The clock of what uses the connection.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether the address of the API server accepts connections. No request is sent.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        let address = self.server.parse::<hyper::Uri>().ok();
        let address = address.and_then(|address| {
            let port = address.port_u16().unwrap_or(443);
            Some((address.host()?.trim_matches(['[', ']']).to_owned(), port))
        });
        let Some((host, port)) = address else { return false };
        matches!(self.within(CONNECT, TcpStream::connect((host, port))), Some(Ok(_)))
    }

    /// Waits until `woken` is there; `None`: the time is over.
    pub fn rest(&self, woken: impl Future<Output = ()>, within: Duration) -> Option<Woken> {
        self.within(within, woken).map(|()| Woken::ByUs)
    }

    /// Waits for something; `None`: it has not come within that time.
    pub(crate) fn within<T>(&self, within: Duration, awaited: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                come = awaited => Some(come),
                () = self.clock.pause(within) => None,
            }
        })
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(
        &self,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ClusterError> {
        self.ask(call)?.map_err(|error| ClusterError::of(&self.named, error))
    }

    /// The same, for who looks at what the API server says itself.
    pub(crate) fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<Result<T, kube::Error>, ClusterError> {
        let late = || ClusterError::Late { server: self.named.clone(), within: ANSWER };
        self.within(ANSWER, call).ok_or_else(late)
    }
}

async fn config(access: &Access) -> Result<Config, ClusterError> {
    let in_cluster = || Config::incluster().map_err(|error| ClusterError::of_service_account(&error));
    match access {
        Access::InCluster => in_cluster(),
        Access::Kubeconfig(path) => from_file(path, &KubeConfigOptions::default()).await,
        Access::Kubectl(KubectlAccess { kubeconfig, context }) => {
            let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
            let named = std::env::var_os("KUBECONFIG").map(PathBuf::from);
            let home = std::env::home_dir().map(|home| home.join(".kube/config"));
            match (kubeconfig, named.or(home.filter(|path| path.is_file()))) {
                (Some(path), _) => from_file(path, &options).await,
                (None, Some(path)) => {
                    let read = Kubeconfig::read()
                        .map_err(|error| ClusterError::of_kubeconfig(path.clone(), &error))?;
                    of_kubeconfig(&path, read, &options).await
                }
                (None, None) => in_cluster().map_err(|_| ClusterError::NoKubeconfig),
            }
        }
    }
}

async fn from_file(path: &Path, options: &KubeConfigOptions) -> Result<Config, ClusterError> {
    // An empty file is read as the end of a kubeconfig that is missing.
    if std::fs::read(path).is_ok_and(|bytes| bytes.trim_ascii().is_empty()) {
        let what = "empty: expected a kubeconfig".to_owned();
        return Err(ClusterError::NotAKubeconfig { path: path.to_path_buf(), what });
    }
    let read = Kubeconfig::read_from(path)
        .map_err(|error| ClusterError::of_kubeconfig(path.to_path_buf(), &error))?;
    of_kubeconfig(path, read, options).await
}

/// By what was read of a kubeconfig, or of several, the first of which is at `path`.
async fn of_kubeconfig(
    path: &Path,
    read: Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Config, ClusterError> {
    if let Some(error) = ClusterError::of_read_kubeconfig(path, &read, options) {
        return Err(error);
    }
    Config::from_custom_kubeconfig(read, options)
        .await
        .map_err(|error| ClusterError::of_kubeconfig(path.to_path_buf(), &error))
}
