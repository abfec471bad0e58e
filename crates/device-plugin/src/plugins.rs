//! The plugins that are connected: how one comes, what it lists, what it is asked, and how it goes.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use device_manager::{
    ConnectionId, Connections, DeviceId, DeviceIds, PluginTime, Question, RegisterError, Reply, RpcError,
};
use pod_spec::ResourceName;
use thiserror::Error;
use tokio::sync::{Semaphore, watch};
use tonic::transport::Channel;
use tonic::{Response, Status};

use crate::client::{self, NotReached};
use crate::convert;
use crate::errors;
use crate::event::{Event, Gone, Receipt};
use crate::metrics::Metrics;
use crate::proto::deviceplugin as messages;
use crate::proto::deviceplugin::device_plugin_client::DevicePluginClient;
use crate::setup::Times;

/// How many registrations are worked on at once; the next ones wait.
const REGISTRATIONS: usize = 64;

/// All plugins of a node.
pub(crate) struct Plugins {
    times: Times,
    message_limit: usize,
    pub(crate) metrics: Metrics,
    tell: Box<dyn Fn(Event) + Send + Sync>,
    table: Mutex<Table>,
    registrations: Semaphore,
}

/// Who is connected. Events are told while it is locked, so that they come in the order of what they tell.
#[derive(Default)]
struct Table {
    /// Which connection stands for a resource.
    connections: Connections,
    /// Those that are open, by what closes them when it is dropped.
    open: BTreeMap<ConnectionId, watch::Sender<()>>,
    /// Who is asked: not always who stands for the resource, since a plugin that failed to register again is still
    /// there.
    asked: BTreeMap<ResourceName, Asked>,
    last: u64,
}

/// A plugin that is asked.
#[derive(Clone)]
struct Asked {
    connection: ConnectionId,
    client: DevicePluginClient<Channel>,
    closed: Closed,
}

/// Ends when a connection is closed from this side.
#[derive(Clone)]
struct Closed(watch::Receiver<()>);

impl Closed {
    fn is_open(&self) -> bool {
        self.0.has_changed().is_ok()
    }

    async fn wait(&mut self) {
        // Nothing is ever sent.
        let _ = self.0.changed().await;
    }
}

/// Whether a plugin stood for a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stood {
    Somebody,
    Nobody,
}

/// Why a plugin could not be connected. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum ConnectError {
    #[error("failed to dial device plugin: context deadline exceeded")]
    Dial,
    #[error(transparent)]
    Options(RegisterError),
}

impl Plugins {
    pub(crate) fn new(
        times: Times,
        message_limit: usize,
        metrics: Metrics,
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Self {
        Self {
            times,
            message_limit,
            metrics,
            tell: Box::new(tell),
            table: Mutex::default(),
            registrations: Semaphore::new(REGISTRATIONS),
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        let _told_in_order = self.table();
        (self.tell)(event);
    }

    pub(crate) const fn times(&self) -> &Times {
        &self.times
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Every change of it is complete before anything that could panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the plugin that serves `resource` at `socket`, and listens to its lists from then on. Returns
    /// when that it has registered has been recorded.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        resource: ResourceName,
        socket: PathBuf,
    ) -> Result<(), ConnectError> {
        let _one_of_them = self.registrations.acquire().await;
        let (id, closed) = self.table().connecting(&resource);
        let (client, options) = match self.introduced(&socket).await {
            Ok(introduced) => introduced,
            Err(error) => {
                let mut table = self.table();
                table.connections.failed(&resource);
                table.open.remove(&id);
                return Err(error);
            }
        };
        let (receipt, recorded) = Receipt::new();
        {
            let mut table = self.table();
            if !closed.is_open() {
                // The one before it has gone meanwhile, which closes this one.
                return Err(ConnectError::Options(RegisterError::Options(errors::closing())));
            }
            let asked = Asked { connection: id, client: client.clone(), closed: closed.clone() };
            table.asked.insert(resource.clone(), asked);
            let options = convert::options(options);
            (self.tell)(Event::Registered { resource: resource.clone(), options, receipt });
        }
        // Whoever records may be gone; then nothing matters.
        let _ = recorded.await;
        tokio::spawn(Arc::clone(self).listen(resource, client, closed));
        Ok(())
    }

    /// Reaches a plugin and asks what it wants to be asked.
    async fn introduced(
        &self,
        socket: &Path,
    ) -> Result<(DevicePluginClient<Channel>, messages::DevicePluginOptions), ConnectError> {
        let channel = client::dial(socket, self.times.dial).await.map_err(|NotReached| ConnectError::Dial)?;
        let mut client = DevicePluginClient::new(channel).max_decoding_message_size(self.message_limit);
        let call = client.get_device_plugin_options(messages::Empty {});
        let told = answered(call, self.times.plugin).await;
        let options = told.map_err(|error| ConnectError::Options(RegisterError::Options(error)))?;
        Ok((client, options))
    }

    /// Tells every list of a plugin, until its stream ends. It is never connected again.
    async fn listen(
        self: Arc<Self>,
        resource: ResourceName,
        mut client: DevicePluginClient<Channel>,
        mut closed: Closed,
    ) {
        let why = tokio::select! {
            why = self.lists(&resource, &mut client, closed.clone()) => why,
            () = closed.wait() => return,
        };
        if self.gone(&resource, why) == Stood::Nobody {
            self.tell(Event::EndedUnnoticed { resource });
        }
    }

    async fn lists(
        &self,
        resource: &ResourceName,
        client: &mut DevicePluginClient<Channel>,
        closed: Closed,
    ) -> Gone {
        let mut stream = match client.list_and_watch(messages::Empty {}).await {
            Ok(response) => response.into_inner(),
            Err(status) => return Gone::StreamFailed(errors::rpc_error(&status)),
        };
        loop {
            let list = match stream.message().await {
                Ok(Some(list)) => list,
                Ok(None) => return Gone::StreamEnded,
                Err(status) => return Gone::StreamFailed(errors::rpc_error(&status)),
            };
            let devices = convert::devices(list);
            let (receipt, recorded) = Receipt::new();
            {
                let _told_in_order = self.table();
                // A plugin that has been told to be gone lists nothing any more; who waits for that ends this.
                if closed.is_open() {
                    (self.tell)(Event::Listed { resource: resource.clone(), devices, receipt });
                }
            }
            let _ = recorded.await;
        }
    }

    /// A stream for the resource has ended, or its socket has vanished: whoever stands for it now is closed, as in
    /// the kubelet.
    pub(crate) fn gone(&self, resource: &ResourceName, why: Gone) -> Stood {
        let mut table = self.table();
        let Some(connection) = table.connections.gone(resource) else { return Stood::Nobody };
        table.close(resource, connection);
        (self.tell)(Event::Gone { resource: resource.clone(), why });
        Stood::Somebody
    }

    /// Closes all connections.
    pub(crate) fn close_all(&self) {
        let resources: Vec<ResourceName> = self.table().connections.resources().cloned().collect();
        for resource in resources {
            self.gone(&resource, Gone::Stopping);
        }
        let mut table = self.table();
        table.open.clear();
        table.asked.clear();
    }

    /// Asks the plugin.
    pub(crate) async fn ask(&self, question: &Question) -> Reply {
        let asked = self.table().asked.get(question.resource()).cloned();
        let Some(Asked { mut client, mut closed, .. }) = asked else {
            return Reply::Failed(errors::closing());
        };
        let began = Instant::now();
        let reply = tokio::select! {
            reply = self.call(&mut client, question) => reply,
            () = closed.wait() => Err(errors::closing()),
        };
        if let Question::Allocate { resource, .. } = question {
            self.metrics.observe_allocation(resource, began.elapsed());
        }
        reply.unwrap_or_else(Reply::Failed)
    }

    async fn call(
        &self,
        client: &mut DevicePluginClient<Channel>,
        question: &Question,
    ) -> Result<Reply, RpcError> {
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

impl Table {
    /// One more connection, which stands for the resource from now on.
    fn connecting(&mut self, resource: &ResourceName) -> (ConnectionId, Closed) {
        self.last += 1;
        let id = ConnectionId(self.last);
        let (close, closed) = watch::channel(());
        self.connections.connecting(resource, id);
        self.open.insert(id, close);
        (id, Closed(closed))
    }

    fn close(&mut self, resource: &ResourceName, connection: ConnectionId) {
        self.open.remove(&connection);
        if self.asked.get(resource).is_some_and(|asked| asked.connection == connection) {
            self.asked.remove(resource);
        }
    }
}

fn texts(ids: &DeviceIds) -> Vec<String> {
    ids.iter().map(|id| id.as_str().to_owned()).collect()
}

/// What comes of a call within a time. When the time is up the call is cancelled.
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
