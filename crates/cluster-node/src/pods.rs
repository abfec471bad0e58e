//! The pods that are bound to a node: all of them, and then each change.
//!
//! A pod is there once it is bound, before the kubelet has looked at it. A mirror pod stands for a static pod of the
//! kubelet's, and is known by the UID that the kubelet has for that pod.

use std::pin::Pin;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use pods_api::{Event, KubeletPod};
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt as _};

use crate::connection::Cluster;
use crate::error::ClusterError;

/// In which a mirror pod has the UID of the static pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<DynamicObject>, kube::Error>> + Send>>;

/// The pods of a node.
pub struct PodWatch {
    cluster: Cluster,
    pods: Api<DynamicObject>,
    watched: WatchParams,
    /// The first pods, which are told before anything else, last first.
    first: Vec<DynamicObject>,
    is_complete: bool,
    version: String,
    events: Option<Events>,
}

impl Cluster {
    /// All pods that are bound to the node of that name, and each change from then on.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to list pods is missing.
    pub fn pods_of(self, node: &str) -> Result<PodWatch, ClusterError> {
        let pods = Api::<DynamicObject>::all_with(self.client.clone(), &ApiResource::erase::<Pod>(&()));
        let selector = format!("spec.nodeName={node}");
        // What the API server has in its memory is enough: the watch goes on from there.
        let list = ListParams::default().fields(&selector).match_any();
        let listed = self.wait(pods.list(&list))?;
        let version = listed.metadata.resource_version.unwrap_or_default();
        let mut first = listed.items;
        first.reverse();
        let watched = WatchParams::default().fields(&selector);
        Ok(PodWatch { cluster: self, pods, watched, first, is_complete: false, version, events: None })
    }
}

impl PodWatch {
    /// The next event; `None`: nothing has happened within that time. After an error the watch is over.
    ///
    /// # Errors
    /// The API server cannot be reached any more, or has forgotten what came in between.
    pub fn next(&mut self, within: Duration) -> Result<Option<Event>, ClusterError> {
        if let Some(pod) = self.first.pop() {
            return Ok(Some(Event::Is(Box::new(told(pod)?))));
        }
        if !self.is_complete {
            self.is_complete = true;
            return Ok(Some(Event::Complete));
        }
        let mut events = match self.events.take() {
            Some(events) => events,
            // An API server ends a watch after some minutes; it is made anew from the last version on.
            None => Box::pin(self.cluster.wait(self.pods.watch(&self.watched, &self.version))?),
        };
        let runtime = &self.cluster.runtime;
        let event = match runtime.block_on(async { timeout(within, events.next()).await }) {
            Err(_) => None,
            Ok(None) => return Ok(None),
            Ok(Some(event)) => Some(event.map_err(|error| ClusterError::of(&self.cluster.server, error))?),
        };
        self.events = Some(events);
        let Some(event) = event else { return Ok(None) };
        match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                self.is_at(&pod);
                Ok(Some(Event::Is(Box::new(told(pod)?))))
            }
            WatchEvent::Deleted(pod) => {
                self.is_at(&pod);
                Ok(Some(Event::Gone(Box::new(told(pod)?))))
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

/// A pod as a kubelet would tell it.
pub(crate) fn told(mut pod: DynamicObject) -> Result<KubeletPod, ClusterError> {
    if let Some(uid) = pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(MIRROR)) {
        pod.metadata.uid = Some(uid.clone());
    }
    let text = serde_json::to_string(&pod).map_err(pods_api::NotAPod::Text)?;
    Ok(KubeletPod::from_json(&text)?)
}
