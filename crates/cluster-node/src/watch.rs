//! Objects of a kind: all that are selected, and then each change, over one connection.
//!
//! # Why not `kube::runtime::watcher`
//!
//! It keeps pages, freshness and the memory bound. Three things it does not:
//!
//! - It has no watch without a list, which [`Watched::PodEnds`] and [`Watched::PodFailures`] are. To hear which of the pods of
//!   10,000 nodes with 60 pods each end, it lists them first: 600,000 pods of 4 KiB were 3,000 requests and 2.3 GiB
//!   (kube 5.0). Here one object is asked for.
//! - A server that ends each watch at once is asked again at once, inside of one poll that its caller cannot slow down: a
//!   server that is a function got 12,225 requests in a second. Here it gets ten.
//! - Its waits are those of tokio, and it logs a right that is missing at each try.

use std::pin::Pin;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{
    ApiResource, DynamicObject, ListParams, ObjectList, PartialObjectMeta, WatchEvent, WatchParams,
};
use serde_json::json;
use tokio_stream::{Stream, StreamExt as _};

use crate::bound::pod_kind;
use crate::claims::ClaimKind;
use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::object::WatchedObject;
use crate::{claims, state, topology};

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<DynamicObject>, kube::Error>> + Send>>;

/// How much of each object is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    Whole,
    Metadata,
}

/// An API server ends a watch after 290 s, the default of kube's client. One that goes on for longer is a connection of
/// which the other end is gone.
const LONGEST: Duration = Duration::from_mins(5);
/// Between a watch that has ended and the next.
const PAUSE: Duration = Duration::from_millis(100);
/// So many objects are a page.
const PAGE: u32 = 200;

/// Which objects are watched. Their rights are in the table of the crate's README.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Watched {
    /// The `NodeState` objects of all nodes.
    NodeStates,
    /// The `NodeResourceTopology` objects of all nodes.
    NodeTopologies,
    /// The `ResourceSlice`s of all nodes, of `resource.k8s.io/v1` as the next three.
    ResourceSlices,
    /// All `DeviceClass`es.
    DeviceClasses,
    /// The `ResourceClaim`s of all namespaces.
    ResourceClaims,
    /// The `ResourceClaimTemplate`s of all namespaces.
    ResourceClaimTemplates,
    /// All `DeviceTaintRule`s, in the newest version that is served. Where none is, that is [`ClusterError::NotFound`].
    DeviceTaintRules,
    /// The names and labels of all nodes: objects with their `metadata` alone.
    NodeLabels,
    /// The pods that are bound to the node of that name. One that is not listed does not exist: who owns a node gives back
    /// what it held.
    PodsBoundTo(String),
    /// The same of the pods that are bound to any node.
    BoundPods,
    /// Pods that are bound to no node yet, and those that are bound and of which their node does not report yet that they
    /// run, or that it refuses them: then they are gone here. A pod is unbound first and bound later in one order.
    PendingPods,
    /// Bound pods that change, are deleted or end from now on: one that has ended is gone. None is listed.
    PodEnds,
    /// Bound pods that fail from now on, or are refused by their node. None is listed.
    PodFailures,
    /// As [`Self::PodsBoundTo`], of what the API server has in its memory.
    PodsKnownOf(String),
}

/// How the first list is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Freshness {
    /// What the API server has in its memory is enough: the watch goes on from there.
    Any,
    /// An object that is not in the list is not there: it is asked for in etcd.
    Latest,
    /// The same in pages, of objects that are too many and too large for one answer.
    LatestByPages,
    /// Nothing is listed: only what changes from now on is heard of.
    Changes,
}

impl Watched {
    /// Asks the API server where the version is not known.
    fn kind(&self, cluster: &Cluster) -> Result<ApiResource, ClusterError> {
        Ok(match self {
            Self::DeviceTaintRules => claims::taint_rules(cluster)?,
            Self::NodeLabels => ApiResource::erase::<Node>(&()),
            Self::NodeStates => state::kind(),
            Self::NodeTopologies => topology::kind(),
            Self::ResourceSlices => claims::kind("ResourceSlice", ClaimKind::Slices),
            Self::DeviceClasses => claims::kind("DeviceClass", ClaimKind::Classes),
            Self::ResourceClaims => claims::kind("ResourceClaim", ClaimKind::Claims),
            Self::ResourceClaimTemplates => claims::kind("ResourceClaimTemplate", ClaimKind::Templates),
            _ => pod_kind(),
        })
    }

    /// A field selector.
    fn fields(&self) -> Option<String> {
        Some(match self {
            Self::NodeStates
            | Self::NodeTopologies
            | Self::ResourceSlices
            | Self::DeviceClasses
            | Self::ResourceClaims
            | Self::ResourceClaimTemplates
            | Self::DeviceTaintRules
            | Self::NodeLabels => return None,
            Self::PodsBoundTo(node) | Self::PodsKnownOf(node) => format!("spec.nodeName={node}"),
            Self::BoundPods => "spec.nodeName!=".to_owned(),
            Self::PendingPods => "status.phase=Pending".to_owned(),
            Self::PodEnds => "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed".to_owned(),
            Self::PodFailures => "spec.nodeName!=,status.phase=Failed".to_owned(),
        })
    }

    const fn freshness(&self) -> Freshness {
        match self {
            Self::PodsKnownOf(_) => Freshness::Any,
            Self::PodsBoundTo(_) => Freshness::Latest,
            Self::NodeStates
            | Self::NodeTopologies
            | Self::ResourceSlices
            | Self::DeviceClasses
            | Self::ResourceClaims
            | Self::ResourceClaimTemplates
            | Self::DeviceTaintRules
            | Self::NodeLabels
            | Self::BoundPods
            | Self::PendingPods => Freshness::LatestByPages,
            Self::PodEnds | Self::PodFailures => Freshness::Changes,
        }
    }

    /// Whether the objects that there are are heard of at the start.
    pub(crate) fn is_listed(&self) -> bool {
        self.freshness() != Freshness::Changes
    }

    const fn extent(&self) -> Extent {
        match self {
            Self::NodeLabels => Extent::Metadata,
            _ => Extent::Whole,
        }
    }

    /// By what an object is known: its name where that is its node's, else its UID.
    pub(crate) fn id<'a>(&self, object: &'a WatchedObject) -> &'a str {
        match self {
            Self::NodeStates | Self::NodeTopologies | Self::NodeLabels => object.name(),
            _ => object.uid(),
        }
    }
}

/// An object of which nothing else is known.
fn with_metadata(object: PartialObjectMeta<DynamicObject>) -> DynamicObject {
    DynamicObject { types: object.types, metadata: object.metadata, data: json!({}) }
}

fn event_with_metadata(event: WatchEvent<PartialObjectMeta<DynamicObject>>) -> WatchEvent<DynamicObject> {
    match event {
        WatchEvent::Added(object) => WatchEvent::Added(with_metadata(object)),
        WatchEvent::Modified(object) => WatchEvent::Modified(with_metadata(object)),
        WatchEvent::Deleted(object) => WatchEvent::Deleted(with_metadata(object)),
        WatchEvent::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
        WatchEvent::Error(status) => WatchEvent::Error(status),
    }
}

/// A watch of objects.
pub(crate) struct ObjectWatch {
    cluster: Cluster,
    objects: Api<DynamicObject>,
    watched: WatchParams,
    listed: ListParams,
    extent: Extent,
    /// Objects of the last page, which are heard of before anything else, last first.
    first: Vec<DynamicObject>,
    is_complete: bool,
    version: String,
    watch: OneWatch,
}

/// One of the watches that follow each other.
enum OneWatch {
    /// None; the next begins no sooner.
    NotBefore(Instant),
    /// One that goes on, and since when.
    Since(Instant, Events),
}

/// What has happened to an object.
pub(crate) enum Happened {
    Is(WatchedObject),
    Complete,
    Gone(WatchedObject),
}

impl ObjectWatch {
    pub(crate) fn new(cluster: Cluster, watched: &Watched) -> Result<Self, ClusterError> {
        let objects = Api::<DynamicObject>::all_with(cluster.client.clone(), &watched.kind(&cluster)?);
        let (mut list, mut watch) = (ListParams::default(), WatchParams::default());
        if let Some(fields) = watched.fields() {
            (list, watch) = (list.fields(&fields), watch.fields(&fields));
        }
        let list = match watched.freshness() {
            Freshness::Any => list.match_any(),
            Freshness::Latest => list,
            Freshness::LatestByPages => list.limit(PAGE),
            // One object tells how far the API server is.
            Freshness::Changes => list.limit(1),
        };
        let now = cluster.clock.now();
        let mut made = Self {
            cluster,
            objects,
            watched: watch,
            listed: list,
            extent: watched.extent(),
            first: Vec::new(),
            is_complete: false,
            version: String::new(),
            watch: OneWatch::NotBefore(now),
        };
        made.list()?;
        if !watched.is_listed() {
            (made.first, made.listed.continue_token) = (Vec::new(), None);
        }
        Ok(made)
    }

    /// Asks for the first page, or the next.
    fn list(&mut self) -> Result<(), ClusterError> {
        let page = match self.extent {
            Extent::Whole => self.cluster.wait(self.objects.list(&self.listed))?,
            Extent::Metadata => {
                let ObjectList { types, metadata, items } =
                    self.cluster.wait(self.objects.list_metadata(&self.listed))?;
                ObjectList { types, metadata, items: items.into_iter().map(with_metadata).collect() }
            }
        };
        self.version = page.metadata.resource_version.unwrap_or_default();
        self.listed.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        self.first = page.items;
        self.first.reverse();
        Ok(())
    }

    /// The next event; `None`: nothing has happened within that time. After an error the watch is over.
    pub(crate) fn next(&mut self, within: Duration) -> Result<Option<Happened>, ClusterError> {
        if self.first.is_empty() && self.listed.continue_token.is_some() {
            self.list()?;
        }
        if let Some(object) = self.first.pop() {
            return Ok(Some(Happened::Is(WatchedObject(object))));
        }
        if self.listed.continue_token.is_some() {
            // The page was empty, and is not the last.
            return Ok(None);
        }
        if !self.is_complete {
            self.is_complete = true;
            return Ok(Some(Happened::Complete));
        }
        self.change(within)
    }

    /// The next change.
    fn change(&mut self, within: Duration) -> Result<Option<Happened>, ClusterError> {
        let clock = self.cluster.clock.clone();
        if let OneWatch::NotBefore(from) = self.watch {
            let left = from.saturating_duration_since(clock.now());
            if !left.is_zero() {
                clock.sleep(left.min(within));
                return Ok(None);
            }
            // It is made anew from the last version on.
            let events: Events = match self.extent {
                Extent::Whole => {
                    Box::pin(self.cluster.wait(self.objects.watch(&self.watched, &self.version))?)
                }
                Extent::Metadata => {
                    let events =
                        self.cluster.wait(self.objects.watch_metadata(&self.watched, &self.version))?;
                    Box::pin(events.map(|event| event.map(event_with_metadata)))
                }
            };
            self.watch = OneWatch::Since(clock.now(), events);
        }
        let OneWatch::Since(since, events) = &mut self.watch else { return Ok(None) };
        let event = match self.cluster.within(within, events.next()) {
            Some(Some(event)) => event.map_err(|error| ClusterError::of(&self.cluster.server, error))?,
            // An API server, or a proxy before it, may end each one at once.
            Some(None) => {
                self.watch = OneWatch::NotBefore(clock.now() + PAUSE);
                return Ok(None);
            }
            None => {
                let now = clock.now();
                if now.saturating_duration_since(*since) >= LONGEST {
                    self.watch = OneWatch::NotBefore(now);
                }
                return Ok(None);
            }
        };
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.reached(&object);
                Ok(Some(Happened::Is(WatchedObject(object))))
            }
            WatchEvent::Deleted(object) => {
                self.reached(&object);
                Ok(Some(Happened::Gone(WatchedObject(object))))
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

    fn reached(&mut self, object: &DynamicObject) {
        if let Some(version) = &object.metadata.resource_version {
            self.version.clone_from(version);
        }
    }
}
