//! What goes wrong between a node and its API server, in sentences that name what to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use pods_api::NotAPod;
use thiserror::Error;

use crate::bounded::TooLarge;

/// Why an API server, or what is behind it, did not answer as asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The file is no kubeconfig, or names files that cannot be read.
    #[error("failed to use kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The innermost cause.
        reason: String,
    },
    /// The file is something else than a kubeconfig.
    #[error("{path} is {what}")]
    NotAKubeconfig {
        /// The file.
        path: PathBuf,
        /// `a Pod, not a kubeconfig`.
        what: String,
    },
    /// The kubeconfig lacks the context that is asked for.
    #[error("{path} has no context {context}: it has {known}")]
    NoContext {
        /// The file.
        path: PathBuf,
        /// The name that is asked for.
        context: String,
        /// Those that it has, separated by commas.
        known: String,
    },
    /// The program does not run in a pod with a service account.
    #[error(
        "there is no service account here, as a pod of a cluster has one: --kubeconfig FILE names the API server"
    )]
    NotInCluster,
    /// The service account of the pod cannot be used.
    #[error("failed to use the pod's service account: {0}")]
    ServiceAccount(String),
    /// Nothing says where the API server is.
    #[error(
        "there is no kubeconfig: KUBECONFIG is not set and ~/.kube/config is not there; --kubeconfig names one"
    )]
    NoKubeconfig,
    /// No connection could be made, or its certificate is not one that is trusted.
    #[error("failed to reach {server}: {reason}")]
    Unreachable {
        /// Its address, and the kubeconfig that has it.
        server: String,
        /// The innermost cause.
        reason: String,
    },
    /// The client certificate or token is not one of a user of the cluster, any more or at all.
    #[error(
        "{server} does not accept the credentials (401 Unauthorized): a client certificate or token has expired, or is \
         of another cluster"
    )]
    Unauthorized {
        /// Its address.
        server: String,
    },
    /// The user may not do that.
    #[error("a right is missing: {0}")]
    Forbidden(String),
    /// There is no such object.
    #[error("{0}")]
    NotFound(String),
    /// A watch is too old, and has to begin anew.
    #[error("the API server has forgotten what came after the last event: {0}")]
    Expired(String),
    /// Any other answer that is an error.
    #[error("the API server answers {code}: {message}")]
    Refused {
        /// The status of HTTP.
        code: u16,
        /// In words.
        message: String,
    },
    /// It took too long.
    #[error("{server} has not answered within {within:?}")]
    Late {
        /// Its address.
        server: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// What it sends is larger than anything that an API server sends.
    #[error("{server} does not answer as an API server: {what}")]
    TooLarge {
        /// Its address.
        server: String,
        /// What, and the limit.
        what: String,
    },
    /// The connection was closed.
    #[error("the connection to {0} is closed")]
    Ended(String),
    /// What came is no pod.
    #[error(transparent)]
    NotAPod(#[from] NotAPod),
    /// What came is no object, or what was to be sent.
    #[error("no object of Kubernetes: {0}")]
    NotAnObject(#[source] serde_json::Error),
    /// A file with a token or certificate cannot be read, or is none.
    #[error("{path} cannot be used: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A port of a pod is not forwarded.
    #[error("the API server forwards no port of pod {pod}: {reason}")]
    NotForwarded {
        /// `NAMESPACE/NAME`.
        pod: String,
        /// The API server's words, such as that the kubelet of the node cannot be reached.
        reason: String,
    },
    /// What an agent answers is no HTTP.
    #[error("the agent's answer cannot be read: {0}")]
    Agent(String),
    /// There is no runtime to be had.
    #[error("start a runtime: {0}")]
    Runtime(#[source] std::io::Error),
}

impl ClusterError {
    /// Whether another connection may help: there is none, or credentials have to be renewed.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Unauthorized { .. } | Self::Unreachable { .. } | Self::Late { .. })
    }

    /// Why the service account of the pod that this may run in cannot be used.
    pub(crate) fn of_service_account(error: &InClusterError) -> Self {
        match error {
            InClusterError::ReadEnvironmentVariable(_) => Self::NotInCluster,
            error => Self::ServiceAccount(innermost(error)),
        }
    }

    /// Why a file that was read is no kubeconfig, or lacks the context; `None`: it has one.
    pub(crate) fn of_read_kubeconfig(
        path: &Path,
        read: &Kubeconfig,
        options: &KubeConfigOptions,
    ) -> Option<Self> {
        let path = path.to_path_buf();
        match read.kind.as_deref() {
            None if read.contexts.is_empty() && read.clusters.is_empty() => {
                let what = "without contexts and clusters: expected a kubeconfig".to_owned();
                return Some(Self::NotAKubeconfig { path, what });
            }
            Some("Config") | None => {}
            Some(kind) => {
                return Some(Self::NotAKubeconfig { path, what: format!("a {kind}, not a kubeconfig") });
            }
        }
        let context = options.context.as_ref().or(read.current_context.as_ref())?;
        if read.contexts.iter().any(|known| known.name == *context) {
            return None;
        }
        let known: Vec<&str> = read.contexts.iter().map(|known| known.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Some(Self::NoContext { path, context: context.clone(), known })
    }

    /// What is wrong with a kubeconfig.
    pub(crate) fn of_kubeconfig(path: PathBuf, error: &KubeconfigError) -> Self {
        Self::Kubeconfig { path, reason: innermost(error) }
    }

    /// What went wrong in a request to `server`.
    pub(crate) fn of(server: &str, error: kube::Error) -> Self {
        let server = server.to_owned();
        match error {
            kube::Error::Api(status) => match status.code {
                401 => Self::Unauthorized { server },
                403 => Self::Forbidden(status.message),
                404 => Self::NotFound(status.message),
                410 => Self::Expired(status.message),
                code => Self::Refused { code, message: status.message },
            },
            error if let Some(what) = too_large(&error) => Self::TooLarge { server, what },
            kube::Error::ReadEvents(_) => Self::Ended(server),
            error => Self::Unreachable { server, reason: innermost(&error) },
        }
    }
}

/// What is too large, if that is the cause.
fn too_large(error: &kube::Error) -> Option<String> {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
    causes.filter_map(|cause| cause.downcast_ref::<TooLarge>()).map(ToString::to_string).next()
}

/// The text of the last cause: those before it say the same in general.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
