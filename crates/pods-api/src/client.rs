//! The client's end.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

use crate::pod::{KubeletPod, NotAPod};
use crate::proto::pods::pods_client::PodsClient as Stub;
use crate::proto::pods::{EventType, GetPodRequest, ListPodsRequest, WatchPodsEvent, WatchPodsRequest};

/// The largest answer that is taken.
const MAX_ANSWER: usize = 64 << 20;

/// Why a call of a kubelet's API failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PodsError {
    /// No server answers there: no kubelet runs, or it does not serve this API.
    #[error("no server answers at {}", .0.display())]
    NotServed(PathBuf),
    /// It has not answered in time.
    #[error("the kubelet has not answered within {0:?}")]
    Late(Duration),
    /// It has not read all of its pods yet. It will.
    #[error("the kubelet is starting: {0}")]
    Starting(String),
    /// It has had too many questions, or has closed a watch that was read too slowly. It may be asked again.
    #[error("the kubelet is busy: {0}")]
    Busy(String),
    /// It answers with an error.
    #[error("the kubelet answers {code}: {message}", code = .0.code(), message = .0.message())]
    Failed(Status),
    /// It ended the watch or closed the connection, as it does when it stops.
    #[error("the kubelet has closed the connection")]
    Ended,
    /// Its answer is no pod.
    #[error(transparent)]
    NotAPod(#[from] NotAPod),
    /// There is no runtime to be had.
    #[error("start a runtime")]
    Runtime(#[from] io::Error),
}

impl From<Status> for PodsError {
    fn from(status: Status) -> Self {
        let message = || status.message().to_owned();
        match status.code() {
            Code::FailedPrecondition => Self::Starting(message()),
            Code::ResourceExhausted => Self::Busy(message()),
            Code::Unavailable => Self::Ended,
            // What a kubelet answers has no cause; what became of its connection has.
            _ if status.source().is_some() => Self::Ended,
            _ => Self::Failed(status),
        }
    }
}

/// A connection to a kubelet. Its methods wait for the answer; not to be used inside a runtime.
#[derive(Debug)]
pub struct PodsClient {
    runtime: Runtime,
    stub: Stub<Channel>,
    within: Duration,
}

impl PodsClient {
    /// Connects to a socket, usually `/var/lib/kubelet/` and [`SOCKET`](crate::SOCKET); `within` is how long that and
    /// each answer may take.
    ///
    /// # Errors
    /// No server answers there in time.
    pub fn connect(socket: &Path, within: Duration) -> Result<Self, PodsError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let channel = runtime.block_on(async { timeout(within, connect(socket.to_path_buf())).await });
        match channel {
            Ok(Ok(channel)) => {
                let stub = Stub::new(channel).max_decoding_message_size(MAX_ANSWER);
                Ok(Self { runtime, stub, within })
            }
            Ok(Err(_)) | Err(_) => Err(PodsError::NotServed(socket.to_path_buf())),
        }
    }

    /// All pods that the kubelet knows, by UID. Pods that it refused are among them until they are deleted.
    ///
    /// # Errors
    /// The kubelet is starting, busy or late, or what it tells is no pod.
    pub fn list(&mut self) -> Result<Vec<KubeletPod>, PodsError> {
        let call = self.stub.list_pods(ListPodsRequest {});
        let told = self.runtime.block_on(answered(self.within, call))?.into_inner();
        Ok(told.pods.iter().map(|bytes| KubeletPod::from_bytes(bytes)).collect::<Result<_, _>>()?)
    }

    /// One pod by its UID; `None`: the kubelet knows no such pod.
    ///
    /// # Errors
    /// As of [`Self::list`].
    pub fn get(&mut self, uid: &str) -> Result<Option<KubeletPod>, PodsError> {
        let call = self.stub.get_pod(GetPodRequest { pod_uid: uid.to_owned() });
        match self.runtime.block_on(answered(self.within, call)) {
            Ok(told) => Ok(Some(KubeletPod::from_bytes(&told.into_inner().pod)?)),
            Err(PodsError::Failed(status)) if status.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All pods, and then each change.
    ///
    /// # Errors
    /// As of [`Self::list`].
    pub fn watch(mut self) -> Result<Watch, PodsError> {
        let call = self.stub.watch_pods(WatchPodsRequest {});
        let events = self.runtime.block_on(answered(self.within, call))?.into_inner();
        Ok(Watch { runtime: self.runtime, events })
    }
}

/// What a kubelet tells without being asked again.
#[derive(Debug)]
pub struct Watch {
    runtime: Runtime,
    events: Streaming<WatchPodsEvent>,
}

/// What a kubelet tells.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The pod is there as it is here: new, or changed. One that is known already may come as new again.
    Is(Box<KubeletPod>),
    /// All pods that there were at the start of the watch have been listed.
    Complete,
    /// The pod has ended for good. Only its names are known.
    Gone(Box<KubeletPod>),
}

impl Watch {
    /// The next event; `None`: nothing has happened within that time.
    ///
    /// # Errors
    /// The watch is over: the kubelet stops, is starting, or dropped a reader that is too slow; or its message
    /// is no pod.
    pub fn next(&mut self, within: Duration) -> Result<Option<Event>, PodsError> {
        let Self { runtime, events } = self;
        let Ok(told) = runtime.block_on(async { timeout(within, events.message()).await }) else {
            return Ok(None);
        };
        let told = told?.ok_or(PodsError::Ended)?;
        let pod = || KubeletPod::from_bytes(&told.pod).map(Box::new);
        Ok(match told.r#type() {
            EventType::Added | EventType::Modified => Some(Event::Is(pod()?)),
            EventType::Deleted => Some(Event::Gone(pod()?)),
            EventType::InitialSyncComplete => Some(Event::Complete),
            // A kind of a release to come.
            EventType::Unspecified => None,
        })
    }
}

async fn answered<T>(
    within: Duration,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, PodsError> {
    match timeout(within, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(PodsError::Late(within)),
    }
}

async fn connect(socket: PathBuf) -> Result<Channel, tonic::transport::Error> {
    let connector = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    // The name that gRPC gives the other end of a unix socket.
    Endpoint::from_static("http://localhost").connect_with_connector(connector).await
}
