//! Objects of a kind: all that are selected, and then each change.

use std::pin::Pin;
use std::thread;
use std::time::{Duration, Instant};

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

/// How the first list is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Freshness {
    /// What the API server has in its memory is enough: the watch goes on from there.
    Any,
    /// An object that is not in the list is not there: it is asked for in etcd.
    Latest,
    /// The same in pages, of objects that are too many and too large for one answer.
    LatestByPages,
    /// Nothing is listed: only what changes from now on is told.
    Changes,
}

/// So many objects are a page.
const PAGE: u32 = 200;

/// Which objects are told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selected<'a> {
    /// All.
    All,
    /// Pods that are bound to the node of that name.
    BoundTo(&'a str),
    /// Pods that are bound to any node.
    Bound,
    /// Pods that are bound to no node, or of which their node does not report yet that they run or are refused.
    Pending,
    /// Pods that are bound to any node and have not ended.
    BoundAndAlive,
    /// Pods that are bound to any node and have failed, or were refused there.
    BoundAndFailed,
}

impl Selected<'_> {
    /// A field selector.
    fn fields(self) -> Option<String> {
        match self {
            Self::All => None,
            Self::BoundTo(node) => Some(format!("spec.nodeName={node}")),
            Self::Bound => Some("spec.nodeName!=".to_owned()),
            Self::BoundAndAlive => {
                Some("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed".to_owned())
            }
            Self::BoundAndFailed => Some("spec.nodeName!=,status.phase=Failed".to_owned()),
            Self::Pending => Some("status.phase=Pending".to_owned()),
        }
    }
}

/// Objects of a kind.
pub(crate) struct ObjectWatch {
    pub(crate) cluster: Cluster,
    objects: Api<DynamicObject>,
    watched: WatchParams,
    listed: ListParams,
    /// Objects of the first list, which are told before anything else, last first.
    first: Vec<DynamicObject>,
    is_complete: bool,
    version: String,
    /// The watch that goes on, and since when.
    events: Option<(Events, Instant)>,
}

/// What has happened to an object.
pub(crate) enum ObjectEvent {
    Is(DynamicObject),
    Complete,
    Gone(DynamicObject),
}

impl ObjectWatch {
    pub(crate) fn of(
        cluster: Cluster,
        kind: &ApiResource,
        selected: Selected<'_>,
        freshness: Freshness,
    ) -> Result<Self, ClusterError> {
        let objects = Api::<DynamicObject>::all_with(cluster.client.clone(), kind);
        let (mut listed, mut watched) = (ListParams::default(), WatchParams::default());
        if let Some(fields) = selected.fields() {
            (listed, watched) = (listed.fields(&fields), watched.fields(&fields));
        }
        let listed = match freshness {
            Freshness::Any => listed.match_any(),
            Freshness::Latest => listed,
            Freshness::LatestByPages => listed.limit(PAGE),
            // One object tells how far the API server is.
            Freshness::Changes => listed.limit(1),
        };
        let mut watch = Self {
            cluster,
            objects,
            watched,
            listed,
            first: Vec::new(),
            is_complete: false,
            version: String::new(),
            events: None,
        };
        watch.list()?;
        if freshness == Freshness::Changes {
            (watch.first, watch.listed.continue_token) = (Vec::new(), None);
        }
        Ok(watch)
    }

    /// Asks for the first page, or the next.
    fn list(&mut self) -> Result<(), ClusterError> {
        let page = self.cluster.wait(self.objects.list(&self.listed))?;
        self.version = page.metadata.resource_version.unwrap_or_default();
        self.listed.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        self.first = page.items;
        self.first.reverse();
        Ok(())
    }

    /// The next event; `None`: nothing has happened within that time. After an error the watch is over.
    pub(crate) fn next(&mut self, within: Duration) -> Result<Option<ObjectEvent>, ClusterError> {
        if self.first.is_empty() && self.listed.continue_token.is_some() {
            self.list()?;
        }
        if let Some(object) = self.first.pop() {
            return Ok(Some(ObjectEvent::Is(object)));
        }
        if self.listed.continue_token.is_some() {
            // The page was empty, and is not the last.
            return Ok(None);
        }
        if !self.is_complete {
            self.is_complete = true;
            return Ok(Some(ObjectEvent::Complete));
        }
        let (mut events, since): (Events, Instant) = if let Some(events) = self.events.take() {
            events
        } else {
            // It is made anew from the last version on.
            let watch = self.cluster.wait(self.objects.watch(&self.watched, &self.version))?;
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
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.is_at(&object);
                Ok(Some(ObjectEvent::Is(object)))
            }
            WatchEvent::Deleted(object) => {
                self.is_at(&object);
                Ok(Some(ObjectEvent::Gone(object)))
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

    fn is_at(&mut self, object: &DynamicObject) {
        if let Some(version) = &object.metadata.resource_version {
            self.version.clone_from(version);
        }
    }
}
