//! How plugins are reached and spoken to.

use std::future::Future;
use std::path::Path;

use device_manager::{
    Device, DeviceId, DeviceIds, MAX_RESOURCES, PluginMessages, PluginOptions, PluginTime, Question,
    RegisterError, Reply, RpcError,
};
use thiserror::Error;
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};

use crate::client::{self, NotReached};
use crate::convert;
use crate::errors;
use crate::proto::deviceplugin as messages;
use crate::proto::deviceplugin::device_plugin_client::DevicePluginClient;
use crate::setup::Times;

/// Why a plugin could not be connected. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum ConnectError {
    #[error("failed to dial device plugin: context deadline exceeded")]
    Dial,
    #[error(transparent)]
    Options(RegisterError),
    #[error(
        "failed to dial device plugin: {0} connections to plugins are open, the most that the open files of this \
         process allow; raise its limit, LimitNOFILE in a unit of systemd"
    )]
    Connections(usize),
    #[error(
        "{MAX_RESOURCES} resources have plugins, had one in the last minutes, or are held by pods, the most that this \
         node takes"
    )]
    Resources,
}

/// The other side of a socket.
pub(crate) trait Wire: Send + Sync + 'static {
    /// A connection to one plugin, on which it is called.
    type Client: Clone + Send + Sync + 'static;
    /// Its lists as they come.
    type Lists: Send;

    /// Reaches a plugin and asks what it wants to be asked.
    fn introduced(
        &self,
        socket: &Path,
    ) -> impl Future<Output = Result<(Self::Client, PluginOptions), ConnectError>> + Send;

    /// Has it list its devices from now on.
    fn lists(&self, client: &mut Self::Client) -> impl Future<Output = Result<Self::Lists, RpcError>> + Send;

    /// The next list; `None`: there are no more.
    fn next(
        &self,
        lists: &mut Self::Lists,
    ) -> impl Future<Output = Result<Option<Vec<Device>>, RpcError>> + Send;

    /// Calls a plugin, and waits for its answer within the time of that call.
    fn call(
        &self,
        client: &mut Self::Client,
        question: &Question,
    ) -> impl Future<Output = Result<Reply, RpcError>> + Send;
}

/// gRPC on unix sockets.
pub(crate) struct Grpc {
    pub(crate) times: Times,
    /// The largest list of devices, in bytes.
    pub(crate) list_limit: usize,
}

impl Wire for Grpc {
    type Client = DevicePluginClient<Channel>;
    type Lists = Streaming<messages::ListAndWatchResponse>;

    async fn introduced(&self, socket: &Path) -> Result<(Self::Client, PluginOptions), ConnectError> {
        let channel = client::dial(socket, self.times.dial).await.map_err(|NotReached| ConnectError::Dial)?;
        let mut client = DevicePluginClient::new(channel).max_decoding_message_size(PluginMessages::ANSWER);
        let call = client.get_device_plugin_options(messages::Empty {});
        let told = answered(call, self.times.plugin).await;
        let options = told.map_err(|error| ConnectError::Options(RegisterError::Options(error)))?;
        Ok((client, convert::options(options)))
    }

    async fn lists(&self, client: &mut Self::Client) -> Result<Self::Lists, RpcError> {
        let mut client = client.clone().max_decoding_message_size(self.list_limit);
        let lists = client.list_and_watch(messages::Empty {}).await;
        lists.map(Response::into_inner).map_err(|status| errors::rpc_error(&status))
    }

    async fn next(&self, lists: &mut Self::Lists) -> Result<Option<Vec<Device>>, RpcError> {
        let list = lists.message().await.map_err(|status| errors::rpc_error(&status))?;
        Ok(list.map(convert::devices))
    }

    async fn call(&self, client: &mut Self::Client, question: &Question) -> Result<Reply, RpcError> {
        match question {
            Question::Preferred { available, must_include, size, .. } => {
                let request = messages::ContainerPreferredAllocationRequest {
                    available_device_i_ds: texts(available),
                    must_include_device_i_ds: texts(must_include),
                    allocation_size: i32::try_from(*size).unwrap_or(i32::MAX),
                };
                let request = messages::PreferredAllocationRequest { container_requests: vec![request] };
                let told = answered(client.get_preferred_allocation(request), self.times.plugin).await?;
                let first = told.container_responses.into_iter().next().unwrap_or_default();
                Ok(Reply::Preferred(first.device_i_ds.iter().map(|id| DeviceId::new(id)).collect()))
            }
            Question::Allocate { devices, .. } => {
                let request = messages::ContainerAllocateRequest { devices_ids: texts(devices) };
                let request = messages::AllocateRequest { container_requests: vec![request] };
                let told = answered(client.allocate(request), self.times.plugin).await?;
                let first = told.container_responses.first();
                Ok(first.map_or(Reply::NothingAllocated, |first| Reply::Allocated(convert::reply(first))))
            }
            Question::PreStart { devices, .. } => {
                let request = messages::PreStartContainerRequest { devices_ids: texts(devices) };
                let within = PluginTime::Within(self.times.pre_start);
                answered(client.pre_start_container(request), within).await?;
                Ok(Reply::Started)
            }
        }
    }
}

fn texts(ids: &DeviceIds) -> Vec<String> {
    ids.iter().map(|id| id.as_str().to_owned()).collect()
}

/// The result of a call within a time. When the time is up the call is cancelled.
pub(crate) async fn answered<T>(
    call: impl Future<Output = Result<Response<T>, Status>>,
    time: PluginTime,
) -> Result<T, RpcError> {
    let answer = match time {
        PluginTime::Unlimited => call.await,
        PluginTime::Within(limit) => {
            tokio::time::timeout(limit, call).await.map_err(|_| errors::out_of_time())?
        }
    };
    answer.map(Response::into_inner).map_err(|status| errors::rpc_error(&status))
}
