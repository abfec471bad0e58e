//! The calls to a plugin whose socket has been found: `GetInfo`, then the status of its registration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use device_manager::{PluginTime, RpcError, check_announced};
use pod_spec::ResourceName;
use tonic::transport::Channel;

use crate::client;
use crate::event::DisconnectReason;
use crate::plugins::Plugins;
use crate::proto::pluginregistration as messages;
use crate::proto::pluginregistration::registration_client::RegistrationClient;
use crate::wire::answered;

/// The type of plugins that are for this.
const DEVICE_PLUGIN: &str = "DevicePlugin";

/// The registration failed; the server tries again later. The plugin has the reason, if it could be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NotRegistered;

/// A plugin that is registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FoundPlugin {
    pub(super) resource: ResourceName,
    /// The socket on which it is called.
    pub(super) endpoint: PathBuf,
}

/// A plugin that is not registered: the name that it gave, and why.
struct ConversationError {
    resource: String,
    why: String,
}

/// Registers the plugin at `socket`. Reports a failure as an event.
pub(super) async fn registered(plugins: &Arc<Plugins>, socket: &Path) -> Result<FoundPlugin, NotRegistered> {
    match introduced(plugins, socket).await {
        Ok(found) => Ok(found),
        Err(ConversationError { resource, why }) => {
            plugins.not_registered(&resource, socket, &why);
            Err(NotRegistered)
        }
    }
}

/// The whole conversation. The texts are the kubelet's.
async fn introduced(plugins: &Arc<Plugins>, socket: &Path) -> Result<FoundPlugin, ConversationError> {
    let times = plugins.times();
    let shown = socket.display();
    let nameless = |why: String| ConversationError { resource: String::new(), why };
    let channel = client::dial(socket, times.dial).await.map_err(|_| {
        let why = "context deadline exceeded";
        nameless(format!("RegisterPlugin error -- dial failed at socket {shown}, err: {why}"))
    })?;
    let mut client = RegistrationClient::new(channel);
    let info = answered(client.get_info(messages::InfoRequest {}), PluginTime::Within(times.info)).await;
    let info = info.map_err(|error: RpcError| {
        let failed = "RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket";
        nameless(format!("{failed} {shown}, err: {error}"))
    })?;
    let name = info.name.clone();
    let time = PluginTime::Within(times.notify);
    match accepted(plugins, socket, info).await {
        Ok(found) => match notify(&mut client, time, None).await {
            Ok(()) => Ok(found),
            Err(error) => {
                let failed = "RegisterPlugin error -- failed to send registration status at socket";
                let why = format!("{failed} {shown}, err: {error}");
                plugins.gone(&found.resource, &found.endpoint, DisconnectReason::NotNotified(error));
                Err(ConversationError { resource: name, why })
            }
        },
        Err(why) => {
            // Whether it hears it or not, it is tried again.
            let _ = notify(&mut client, time, Some(why.clone())).await;
            Err(ConversationError { resource: name, why })
        }
    }
}

/// Registers what has introduced itself. The texts are the kubelet's.
async fn accepted(
    plugins: &Arc<Plugins>,
    socket: &Path,
    info: messages::PluginInfo,
) -> Result<FoundPlugin, String> {
    let messages::PluginInfo { r#type: kind, name, endpoint, supported_versions } = info;
    if kind != DEVICE_PLUGIN {
        let socket = socket.display();
        return Err(format!(
            "RegisterPlugin error -- no handler registered for plugin type: {kind} at socket {socket}"
        ));
    }
    let versions: Vec<&str> = supported_versions.iter().map(String::as_str).collect();
    let resource = check_announced(&versions, &name)
        .map_err(|error| format!("RegisterPlugin error -- plugin validation failed with err: {error}"))?;
    let endpoint = if endpoint.is_empty() { socket.to_path_buf() } else { PathBuf::from(endpoint) };
    let connected = plugins.connect(resource.clone(), endpoint.clone()).await;
    connected
        .map_err(|error| format!("RegisterPlugin error -- plugin registration failed with err: {error}"))?;
    Ok(FoundPlugin { resource, endpoint })
}

/// Tells a plugin that it is registered, or why it is not.
async fn notify(
    client: &mut RegistrationClient<Channel>,
    time: PluginTime,
    why_not: Option<String>,
) -> Result<(), RpcError> {
    let status = messages::RegistrationStatus {
        plugin_registered: why_not.is_none(),
        error: why_not.unwrap_or_default(),
    };
    answered(client.notify_registration_status(status), time).await.map(drop)
}
