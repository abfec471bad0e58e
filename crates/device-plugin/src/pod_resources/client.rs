//! The other end of the service: asks a kubelet, or a server of this crate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use device_manager::{PluginTime, RpcError};
use thiserror::Error;
use tonic::transport::Channel;

use super::{Amounts, PodEntry};
use crate::client;
use crate::proto::podresources as messages;
use crate::proto::podresources::pod_resources_lister_client::PodResourcesListerClient;
use crate::wire::answered;

/// The largest answer that is taken.
const MAX_ANSWER: usize = 64 << 20;

/// Why a pod resources socket gave no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No server answers at the socket.
    #[error("no server answers at {}", .0.display())]
    NotServed(PathBuf),
    /// The question failed; for a pod that is not there the code is `Unknown`.
    #[error(transparent)]
    Failed(#[from] RpcError),
    /// There is no thread to be had.
    #[error("start a runtime")]
    Runtime(#[from] std::io::Error),
}

/// A connection to a pod resources socket. Its methods wait for the answer; not to be used inside a runtime.
#[derive(Debug)]
pub struct PodResourcesClient {
    runtime: tokio::runtime::Runtime,
    client: PodResourcesListerClient<Channel>,
    within: PluginTime,
}

impl PodResourcesClient {
    /// Connects to a socket, usually `/var/lib/kubelet/pod-resources/kubelet.sock`; `within` is how long that and
    /// each answer may take.
    pub fn connect(socket: &Path, within: Duration) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let reached = runtime.block_on(client::reach(socket, within));
        let channel = reached.map_err(|client::NotReached| ClientError::NotServed(socket.to_path_buf()))?;
        let client = PodResourcesListerClient::new(channel).max_decoding_message_size(MAX_ANSWER);
        Ok(Self { runtime, client, within: PluginTime::Within(within) })
    }

    /// What all active pods hold.
    pub fn list(&mut self) -> Result<Vec<PodEntry>, ClientError> {
        let call = self.client.list(messages::ListPodResourcesRequest {});
        let told = self.runtime.block_on(answered(call, self.within))?;
        Ok(told.pod_resources.into_iter().map(Into::into).collect())
    }

    /// What can be given out at all.
    pub fn allocatable(&mut self) -> Result<Amounts, ClientError> {
        let call = self.client.get_allocatable_resources(messages::AllocatableResourcesRequest {});
        Ok(self.runtime.block_on(answered(call, self.within))?.into())
    }

    /// What one pod holds; `None` if the answer names none.
    pub fn get(&mut self, namespace: &str, name: &str) -> Result<Option<PodEntry>, ClientError> {
        let question = messages::GetPodResourcesRequest {
            pod_name: name.to_owned(),
            pod_namespace: namespace.to_owned(),
        };
        let told = self.runtime.block_on(answered(self.client.get(question), self.within))?;
        Ok(told.pod_resources.map(Into::into))
    }
}
