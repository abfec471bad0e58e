//! How kube-scheduler asks, and who else is kept from it.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::ensure;
use bounded_http::{
    Line, LoopbackListener, Pace, Service, TlsFiles, TlsListener, TlsNews, serve_on_loopback, serve_with_tls,
};
use cluster_node::Clock;

use crate::conditions::ServiceCondition::{AskersCertified, FilesUsed};
use crate::conditions::ServiceConditions;
use crate::metrics::Metrics;

/// Connections of kube-scheduler, and of those that read metrics.
const CONNECTIONS: usize = 128;

/// How kube-scheduler asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asking {
    /// With a client certificate, over TLS.
    Certified {
        /// The files, which are read again when they change.
        files: TlsFiles,
        /// A client certificate is accepted if its common name, or one of its DNS names or URIs, is among these; none: any of
        /// the authority is.
        names: Vec<String>,
    },
    /// Over plain HTTP, as every user of this host can.
    InsecureHttp {
        /// Commands that change that, for the log.
        instead: Vec<String>,
    },
}

/// Where it asks.
pub(crate) enum Listener {
    Certified(TlsListener),
    Insecure(LoopbackListener),
}

/// The warning about plain HTTP.
const INSECURE: &str = "every user of this host can query the extender over plain HTTP: use --tls-cert, --tls-key, \
                        --client-ca and --client-name";

impl Asking {
    /// Listens. To be called inside a tokio runtime.
    pub(crate) fn listen(&self, address: SocketAddr) -> anyhow::Result<Listener> {
        match self {
            Self::Certified { files, names } => {
                Ok(Listener::Certified(TlsListener::open(address, files.clone(), names.clone())?))
            }
            Self::InsecureHttp { .. } => {
                ensure!(
                    address.ip().is_loopback(),
                    "--address {address}: expected a loopback address such as 127.0.0.1:{}, since plain HTTP does not say who asks; \
                     --tls-cert, --tls-key and --client-ca have clients show certificates",
                    address.port()
                );
                Ok(Listener::Insecure(LoopbackListener::open(address, None)?))
            }
        }
    }

    /// Says how it is asked.
    pub(crate) fn announce(&self, address: SocketAddr, conditions: &ServiceConditions) {
        match self {
            Self::Certified { names, .. } if names.is_empty() => {
                tracing::info!(%address, "kube-scheduler is answered; any client certificate of the authority is accepted");
            }
            Self::Certified { names, .. } => {
                tracing::info!(%address, names = names.join(", "), "kube-scheduler is answered");
            }
            Self::InsecureHttp { instead } => {
                if conditions.fails(AskersCertified, "", INSECURE).is_some() {
                    tracing::warn!(%address, "{INSECURE}");
                }
                for command in instead {
                    tracing::warn!("run {command}");
                }
            }
        }
    }
}

/// Serves for ever.
pub(crate) async fn serve(
    listener: Listener,
    service: Service,
    conditions: Arc<ServiceConditions>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
) {
    match listener {
        Listener::Insecure(listener) => serve_on_loopback(listener, service, CONNECTIONS).await,
        Listener::Certified(listener) => {
            let pace = Pace::new();
            let tell = move |news| match news {
                TlsNews::Reloaded => {
                    let _ = conditions.works(FilesUsed, "");
                    tracing::info!("the files of TLS have changed and are used");
                }
                TlsNews::NotReloaded(why) => {
                    let unused = format!("new files of TLS are not used: {why}");
                    if conditions.fails(FilesUsed, "", unused).is_some() {
                        tracing::warn!("the files of TLS have changed, and the former ones are used: {why}");
                    }
                }
                TlsNews::NoHandshake(why) => {
                    metrics.failed_handshake();
                    if let Line::Written { left_out } = pace.line(clock.now()) {
                        tracing::warn!(left_out, "a client was not connected: {why}");
                    }
                }
                _ => {}
            };
            serve_with_tls(listener, service, CONNECTIONS, tell).await;
        }
    }
}
