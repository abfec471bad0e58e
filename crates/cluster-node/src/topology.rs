//! A node's `NodeResourceTopology`: written by server-side apply, and watched for what others do to it.
//!
//! The API server knows who has written which fields. What another field manager has set stays as it is, and
//! errors name the manager, unless the caller forces the write.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::Status;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;
use tokio_stream::{Stream, StreamExt as _};

use crate::clock::Clock;
use crate::connection::{Cluster, Woken};
use crate::error::ClusterError;

/// As whom fields are set.
const MANAGER: &str = "topolet";
/// A watch from here on begins with the object as it is.
const FROM_THE_START: &str = "0";

/// Between the end of a watch and the next.
const PAUSE: Duration = Duration::from_millis(100);

/// What is done about fields that another field manager has set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OthersFields {
    /// They stay, and nothing is written.
    Keep,
    /// They are set, and the other manager loses them.
    Take,
}

/// Why the object was not written.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The kind is not installed.
    #[error(
        "the API server has no NodeResourceTopology (topology.node.k8s.io/v1alpha2); `kubectl apply -f \
         deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml` installs it"
    )]
    NoDefinition,
    /// Others have set fields of it. Never empty.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Others(Vec<FieldConflict>),
    /// The API server did not answer as asked.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// A field that another manager has set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FieldConflict {
    /// The other manager, as the API server calls it; empty if it does not say.
    pub manager: String,
    /// `.zones`
    pub field: String,
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is set by {}", self.field, self.manager)
    }
}

/// What writing has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// The object has changed, or its earlier contents are unknown.
    Changed,
    /// It was so already.
    Same,
}

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<DynamicObject>, kube::Error>> + Send>>;

/// Writes the object of one node.
pub struct TopologyWriter {
    cluster: Cluster,
    objects: Api<DynamicObject>,
    node: String,
    /// What the API server had after it was written last.
    written: Option<Contents>,
    /// Nothing older is news.
    version: Option<String>,
    events: Option<Events>,
}

impl fmt::Debug for TopologyWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyWriter")
            .field("cluster", &self.cluster)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// What is written of an object.
#[derive(PartialEq)]
struct Contents {
    fields: [Value; 3],
    fingerprint: Option<String>,
}

impl Contents {
    fn of(object: &DynamicObject) -> Self {
        let fields = ["topologyPolicies", "attributes", "zones"].map(|name| object.data[name].clone());
        let annotations = object.metadata.annotations.as_ref();
        let fingerprint = annotations.and_then(|own| own.get("topology.node.k8s.io/fingerprint")).cloned();
        Self { fields, fingerprint }
    }
}

impl Cluster {
    /// Writes the `NodeResourceTopology` of the node of that name. Nothing is sent yet.
    #[must_use]
    pub fn topology_of(self, node: &str) -> TopologyWriter {
        let objects = self.topologies();
        TopologyWriter {
            cluster: self,
            objects,
            node: node.to_owned(),
            written: None,
            version: None,
            events: None,
        }
    }

    /// Writes the `NodeResourceTopology` of the node of that name, whatever others have set of it, and looks at no answer:
    /// for who writes those of many nodes that are all their own.
    ///
    /// # Errors
    /// The kind is not installed, a right is missing, or the API server cannot be reached.
    pub fn overwrite_topology(
        &self,
        node: &str,
        object: &(impl Serialize + fmt::Debug),
    ) -> Result<(), ApplyError> {
        let (parameters, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(object));
        let objects = self.topologies();
        let written = self.ask(objects.patch_metadata(node, &parameters, &patch))?;
        written.map(drop).map_err(|error| refused(&self.server, error))
    }

    fn topologies(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind())
    }
}

impl TopologyWriter {
    /// The clock of its connection.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.cluster.clock()
    }

    /// Writes the object as a whole: `object` has `apiVersion`, `kind` and the node's name. Writing the same again
    /// changes nothing at the API server.
    ///
    /// # Errors
    /// The kind is not installed, others have set fields of it, a right is missing, or the API server cannot be reached.
    pub fn apply(&mut self, object: &Value, others: OthersFields) -> Result<Written, ApplyError> {
        let parameters = PatchParams::apply(MANAGER);
        let parameters = match others {
            OthersFields::Keep => parameters,
            OthersFields::Take => parameters.force(),
        };
        let patch = Patch::Apply(object);
        let call = self.objects.patch(&self.node, &parameters, &patch);
        let written = self.cluster.ask(call)?.map_err(|error| refused(&self.cluster.server, error))?;
        let contents = Some(Contents::of(&written));
        let is_same = self.written == contents && self.version == written.metadata.resource_version;
        self.version = written.metadata.resource_version;
        self.written = contents;
        Ok(if is_same { Written::Same } else { Written::Changed })
    }

    /// Waits until `woken` is there; `None`: the time is over.
    pub fn rest(&self, woken: impl Future<Output = ()>, within: Duration) -> Option<Woken> {
        self.cluster.rest(woken, within)
    }

    /// Waits until `woken` is there, or another client has changed or deleted the object; `None`: the time is over.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to watch is missing. The next wait begins anew.
    pub fn wait(
        &mut self,
        woken: impl Future<Output = ()>,
        within: Duration,
    ) -> Result<Option<Woken>, ClusterError> {
        let Self { cluster, objects, node, written, version, events } = self;
        let clock = &cluster.clock;
        let news = async {
            loop {
                let from = version.as_deref().unwrap_or(FROM_THE_START);
                let watched = WatchParams::default().fields(&format!("metadata.name={node}"));
                let stream = match events {
                    Some(stream) => stream,
                    None => events.insert(Box::pin(objects.watch(&watched, from).await?)),
                };
                // An API server ends a watch after some minutes; it is made anew from the last version on.
                let Some(event) = stream.next().await.transpose()? else {
                    *events = None;
                    clock.pause(PAUSE).await;
                    continue;
                };
                let (object, is_gone) = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                    WatchEvent::Deleted(object) => (object, true),
                    WatchEvent::Bookmark(bookmark) => {
                        let reached = bookmark.metadata.resource_version;
                        if is_newer(Some(&reached), version.as_deref()) {
                            *version = Some(reached);
                        }
                        continue;
                    }
                    WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
                };
                if !is_newer(object.metadata.resource_version.as_deref(), version.as_deref()) {
                    continue;
                }
                version.clone_from(&object.metadata.resource_version);
                if is_gone || written.as_ref() != Some(&Contents::of(&object)) {
                    return Ok(());
                }
            }
        };
        let heard = cluster.within(within, async {
            tokio::select! {
                () = woken => Ok(Woken::ByUs),
                heard = news => heard.map(|()| Woken::ByOthers),
            }
        });
        heard.transpose().map_err(|error| {
            self.events = None;
            let error = ClusterError::of(&self.cluster.server, error);
            if matches!(error, ClusterError::Expired(_)) {
                self.version = None;
            }
            error
        })
    }
}

/// `NodeResourceTopology`.
pub(crate) fn kind() -> ApiResource {
    let kind = GroupVersionKind::gvk("topology.node.k8s.io", "v1alpha2", "NodeResourceTopology");
    ApiResource::from_gvk_with_plural(&kind, "noderesourcetopologies")
}

/// Versions are numbers that grow, of which a reader of one kind may know so much.
fn is_newer(version: Option<&str>, than: Option<&str>) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u128>().ok());
    match (number(version), number(than)) {
        (Some(version), Some(than)) => version > than,
        _ => true,
    }
}

fn refused(server: &str, error: kube::Error) -> ApplyError {
    let kube::Error::Api(status) = error else { return ClusterError::of(server, error).into() };
    match status.code {
        // An object that is missing is made, so what is missing is its kind.
        404 => ApplyError::NoDefinition,
        409 => match conflicts(&status) {
            none if none.is_empty() => ClusterError::of(server, kube::Error::Api(status)).into(),
            conflicts => ApplyError::Others(conflicts),
        },
        _ => ClusterError::of(server, kube::Error::Api(status)).into(),
    }
}

/// The fields that others have set, each with its manager: `conflict with "kubectl-edit" using …`.
fn conflicts(status: &Status) -> Vec<FieldConflict> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut found: Vec<FieldConflict> = causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| FieldConflict {
            manager: cause.message.split('"').nth(1).unwrap_or_default().to_owned(),
            field: cause.field.clone(),
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_grow_as_numbers() {
        assert!(is_newer(Some("10"), Some("9")) && !is_newer(Some("9"), Some("9")));
        assert!(is_newer(Some("a"), Some("9")) && is_newer(Some("1"), None));
    }
}
