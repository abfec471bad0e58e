//! The kubelet's end, for tests of clients: the same calls, events and errors.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status};

use crate::pod::KubeletPod;
use crate::proto::pods::pods_server::{Pods, PodsServer as Service};
use crate::proto::pods::{
    EventType, GetPodRequest, GetPodResponse, ListPodsRequest, ListPodsResponse, WatchPodsEvent,
    WatchPodsRequest,
};

/// A client that is more events behind is dropped.
const BEHIND: usize = 100;

/// A server of the pods API. It stops when it is dropped, and its socket goes with it.
pub struct PodsServer {
    known: Arc<Mutex<Known>>,
    socket: PathBuf,
    /// Serves until it is dropped.
    _runtime: Runtime,
}

impl fmt::Debug for PodsServer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("PodsServer").field("socket", &self.socket).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Known {
    /// Not all pods have been read yet.
    is_starting: bool,
    /// Questions that were refused for that.
    refused: usize,
    pods: BTreeMap<String, KubeletPod>,
    clients: Vec<mpsc::Sender<Result<WatchPodsEvent, Status>>>,
}

impl PodsServer {
    /// Listens at a path, whose folder is made if it is missing. A socket that is there already is replaced.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn listen(socket: &Path) -> io::Result<Self> {
        if let Some(folder) = socket.parent() {
            std::fs::create_dir_all(folder)?;
        }
        if socket.try_exists()? {
            std::fs::remove_file(socket)?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let known = Arc::<Mutex<Known>>::default();
        let listener = {
            let _inside = runtime.enter();
            UnixListener::bind(socket)?
        };
        let service = Service::new(Served(known.clone()));
        let serving = tonic::transport::Server::builder().add_service(service);
        runtime.spawn(serving.serve_with_incoming(UnixListenerStream::new(listener)));
        Ok(Self { known, socket: socket.to_path_buf(), _runtime: runtime })
    }

    /// Answers from now on that it is starting, or does not.
    pub fn starting(&self, is_starting: bool) {
        self.known.lock().is_starting = is_starting;
    }

    /// How many questions it has refused because it is starting.
    pub fn refused(&self) -> usize {
        self.known.lock().refused
    }

    /// The kubelet knows this pod now, with this status.
    pub fn put(&self, pod: KubeletPod) {
        let mut known = self.known.lock();
        let bytes = pod.to_bytes();
        let kind = match known.pods.insert(pod.uid().to_owned(), pod) {
            None => EventType::Added,
            Some(_) => EventType::Modified,
        };
        known.tell(kind, bytes);
    }

    /// The pod has ended for good, and is known no longer.
    pub fn remove(&self, uid: &str) {
        let mut known = self.known.lock();
        if let Some(pod) = known.pods.remove(uid) {
            known.tell(EventType::Deleted, pod.without_status().to_bytes());
        }
    }

    /// Ends all watches, as a kubelet that stops.
    pub fn end_watches(&self) {
        self.known.lock().clients.clear();
    }
}

impl Drop for PodsServer {
    fn drop(&mut self) {
        // Another process may have removed it.
        let _ = std::fs::remove_file(&self.socket);
    }
}

impl Known {
    fn ready(&mut self) -> Result<(), Status> {
        if !self.is_starting {
            return Ok(());
        }
        self.refused += 1;
        Err(Status::failed_precondition("Kubelet is initializing"))
    }

    fn tell(&mut self, kind: EventType, pod: Vec<u8>) {
        let event = WatchPodsEvent { r#type: kind.into(), pod };
        self.clients.retain(|client| match client.try_send(Ok(event.clone())) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => false,
        });
    }
}

struct Served(Arc<Mutex<Known>>);

type Events = Pin<Box<dyn Stream<Item = Result<WatchPodsEvent, Status>> + Send>>;

#[tonic::async_trait]
impl Pods for Served {
    type WatchPodsStream = Events;

    async fn watch_pods(&self, _: Request<WatchPodsRequest>) -> Result<Response<Events>, Status> {
        let mut known = self.0.lock();
        known.ready()?;
        let (sender, events) = mpsc::channel(BEHIND);
        let first = known.pods.values().map(|pod| (EventType::Added, pod.to_bytes()));
        let first = first.chain([(EventType::InitialSyncComplete, Vec::new())]);
        let first: Vec<_> =
            first.map(|(kind, pod)| Ok(WatchPodsEvent { r#type: kind.into(), pod })).collect();
        known.clients.push(sender);
        Ok(Response::new(Box::pin(tokio_stream::iter(first).chain(ReceiverStream::new(events)))))
    }

    async fn list_pods(&self, _: Request<ListPodsRequest>) -> Result<Response<ListPodsResponse>, Status> {
        let mut known = self.0.lock();
        known.ready()?;
        Ok(Response::new(ListPodsResponse { pods: known.pods.values().map(KubeletPod::to_bytes).collect() }))
    }

    async fn get_pod(&self, request: Request<GetPodRequest>) -> Result<Response<GetPodResponse>, Status> {
        let mut known = self.0.lock();
        known.ready()?;
        let uid = request.into_inner().pod_uid;
        match known.pods.get(&uid) {
            Some(pod) => Ok(Response::new(GetPodResponse { pod: pod.to_bytes() })),
            None => Err(Status::not_found(format!("pod with UID {uid} not found"))),
        }
    }
}
