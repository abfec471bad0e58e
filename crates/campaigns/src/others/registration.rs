//! A kubelet's part in the registration of a plugin (`pluginregistration.Registration` of `k8s.io/kubelet`): it asks who the plugin
//! is, and says that it is registered. Nothing is asked of the plugin after that.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tonic::Request;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// The type of plugins that prepare claims.
const DRIVER_OF_CLAIMS: &str = "DRAPlugin";

/// A message without fields.
#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

/// What a plugin says of itself.
#[derive(Clone, PartialEq, prost::Message)]
struct PluginInfo {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "2")]
    name: String,
}

/// Whether a plugin is registered, and if not, why.
#[derive(Clone, PartialEq, prost::Message)]
struct RegistrationStatus {
    #[prost(bool, tag = "1")]
    is_registered: bool,
    #[prost(string, tag = "2")]
    error: String,
}

/// Registers the plugin of a driver of claims, which listens on a socket.
///
/// # Errors
/// Nothing listens there, or another plugin does.
pub(super) fn register(socket: &Path, driver: &str) -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build().context("failed to start a runtime")?;
    runtime.block_on(async {
        let channel = connect(socket.to_path_buf()).await;
        let channel = channel.with_context(|| format!("failed to connect to {}", socket.display()))?;
        let mut client = Grpc::new(channel);
        client.ready().await?;
        let path = PathAndQuery::from_static("/pluginregistration.Registration/GetInfo");
        let info =
            client.unary(Request::new(Nothing {}), path, ProstCodec::<_, PluginInfo>::default()).await?;
        let PluginInfo { kind, name } = info.into_inner();
        ensure!(kind == DRIVER_OF_CLAIMS && name == driver, "{} is that of {kind} {name}", socket.display());
        client.ready().await?;
        let path = PathAndQuery::from_static("/pluginregistration.Registration/NotifyRegistrationStatus");
        let status = RegistrationStatus { is_registered: true, error: String::new() };
        client.unary(Request::new(status), path, ProstCodec::<_, Nothing>::default()).await?;
        Ok(())
    })
}

async fn connect(socket: PathBuf) -> Result<Channel, tonic::transport::Error> {
    let connector = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    // The name that gRPC gives the other end of a unix socket.
    Endpoint::from_static("http://localhost").connect_with_connector(connector).await
}
