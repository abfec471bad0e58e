//! Pods that are bound to nodes as objects: all of them, and then each change.

use std::pin::Pin;
use std::thread;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt as _};

use crate::connection::Cluster;
use crate::error::ClusterError;

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<DynamicObject>, kube::Error>> + Send>>;

/// An API server ends a watch after 290 s, the default of kube's client. One that goes on for longer is a connection of
/// which the other end is gone.
const LONGEST: Duration = Duration::from_mins(5);
/// Between a watch that has ended and the next.
const PAUSE: Duration = Duration::from_millis(100);

/// How new the first list has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Freshness {
    /// What the API server has in its memory is enough: the watch goes on from there.
    Any,
    /// A pod that is not in the list is not there: it is asked for in etcd.
    Latest,
}

/// Which pods are told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound<'a> {
    /// Those that are bound to the node of that name.
    To(&'a str),
    /// Those that are bound to any node.
    Anywhere,
}

impl Bound<'_> {
    fn selector(self) -> String {
        match self {
            Self::To(node) => format!("spec.nodeName={node}"),
            Self::Anywhere => "spec.nodeName!=".to_owned(),
        }
    }
}

/// Pods that are bound.
pub(crate) struct ObjectWatch {
    pub(crate) cluster: Cluster,
    pods: Api<DynamicObject>,
    watched: WatchParams,
    /// The first pods, which are told before anything else, last first.
    first: Vec<DynamicObject>,
    is_complete: bool,
    version: String,
    /// The watch that goes on, and since when.
    events: Option<(Events, Instant)>,
}

/// What has happened to a pod.
pub(crate) enum ObjectEvent {
    Is(DynamicObject),
    Complete,
    Gone(DynamicObject),
}

impl ObjectWatch {
    pub(crate) fn of(cluster: Cluster, bound: Bound<'_>, freshness: Freshness) -> Result<Self, ClusterError> {
        let pods = Api::<DynamicObject>::all_with(cluster.client.clone(), &ApiResource::erase::<Pod>(&()));
        let selector = bound.selector();
        let list = ListParams::default().fields(&selector);
        let list = match freshness {
            Freshness::Any => list.match_any(),
            Freshness::Latest => list,
        };
        let listed = cluster.wait(pods.list(&list))?;
        let version = listed.metadata.resource_version.unwrap_or_default();
        let mut first = listed.items;
        first.reverse();
        let watched = WatchParams::default().fields(&selector);
        Ok(Self { cluster, pods, watched, first, is_complete: false, version, events: None })
    }

    /// The next event; `None`: nothing has happened within that time. After an error the watch is over.
    pub(crate) fn next(&mut self, within: Duration) -> Result<Option<ObjectEvent>, ClusterError> {
        if let Some(pod) = self.first.pop() {
            return Ok(Some(ObjectEvent::Is(pod)));
        }
        if !self.is_complete {
            self.is_complete = true;
            return Ok(Some(ObjectEvent::Complete));
        }
        let (mut events, since): (Events, Instant) = if let Some(events) = self.events.take() {
            events
        } else {
            // It is made anew from the last version on.
            let watch = self.cluster.wait(self.pods.watch(&self.watched, &self.version))?;
            (Box::pin(watch), Instant::now())
        };
        let runtime = &self.cluster.runtime;
        let event = match runtime.block_on(async { timeout(within, events.next()).await }) {
            Err(_) if since.elapsed() >= LONGEST => return Ok(None),
            Err(_) => None,
            Ok(None) => {
                // An API server, or a proxy before it, may end each one at once.
                thread::sleep(PAUSE.min(within));
                return Ok(None);
            }
            Ok(Some(event)) => Some(event.map_err(|error| ClusterError::of(&self.cluster.server, error))?),
        };
        self.events = Some((events, since));
        let Some(event) = event else { return Ok(None) };
        match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                self.is_at(&pod);
                Ok(Some(ObjectEvent::Is(pod)))
            }
            WatchEvent::Deleted(pod) => {
                self.is_at(&pod);
                Ok(Some(ObjectEvent::Gone(pod)))
            }
            WatchEvent::Bookmark(bookmark) => {
                self.version = bookmark.metadata.resource_version;
                Ok(None)
            }
            WatchEvent::Error(status) => {
                Err(ClusterError::of(&self.cluster.server, kube::Error::Api(status)))
            }
        }
    }

    fn is_at(&mut self, pod: &DynamicObject) {
        if let Some(version) = &pod.metadata.resource_version {
            self.version.clone_from(version);
        }
    }
}
