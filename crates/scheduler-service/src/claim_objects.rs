//! Listens to the objects by which devices of claims are predicted, and to the labels of nodes, by which slices may select them. Without
//! the right to, or where the API server has none, nothing is predicted, which is a condition; pods are scheduled as without claims.
//! Where it has no rules for taints there are none, and without the labels of nodes only slices that select by them are left out.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use cluster_node::{ClusterError, Connector, Listener, Listening, ObjectEvent, Watched, WatchedObject};
use conditions::Change;
use node_input::ObjectText;
use parking_lot::Mutex;

use crate::claim_kinds::Kind;
use crate::claims::{DevicePredictions, Key, key};
use crate::conditions::ServiceCondition::ClaimsWatched;
use crate::conditions::ServiceConditions;

/// The longest pause until a kind that cannot be watched is tried again.
const AGAIN: Duration = Duration::from_secs(10);
const NOT_KNOWN: &str = "which devices the claims of pods will get is not known, and scores nothing";

/// Starts a thread for each kind of objects, for the rest of the program.
pub(crate) fn listen(
    connector: &Connector,
    claims: &Arc<Mutex<DevicePredictions>>,
    conditions: &Arc<ServiceConditions>,
) -> anyhow::Result<()> {
    for kind in Kind::ALL {
        let objects =
            Objects { kind, claims: claims.clone(), conditions: conditions.clone(), keys: BTreeMap::new() };
        Listening::new(connector.clone(), kind.watched(), AGAIN, objects).start(kind.plural())?;
    }
    let labels = Labels { claims: claims.clone(), conditions: conditions.clone() };
    Ok(Listening::new(connector.clone(), Watched::NodeLabels, AGAIN, labels).start("labels")?)
}

/// Objects of one kind that are listened to.
struct Objects {
    kind: Kind,
    claims: Arc<Mutex<DevicePredictions>>,
    conditions: Arc<ServiceConditions>,
    /// Namespace and name by UID.
    keys: BTreeMap<String, Key>,
}

impl Objects {
    fn is(&mut self, object: WatchedObject) {
        let (uid, mut object) = (object.uid().to_owned(), object.into_json());
        // Members of lists are without both.
        object["apiVersion"] = self.kind.api_version().into();
        object["kind"] = self.kind.kind().into();
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let key = key(&text("namespace"), &text("name"));
        let name = format!("{} {}/{}", self.kind.plural(), key.0, key.1);
        let read = ObjectText::of_list(name.clone(), &object).and_then(|text| ObjectText::objects(&[text]));
        match read {
            Ok(objects) => self.claims.lock().apply(objects),
            Err(why) => {
                self.claims.lock().is_gone(self.kind, &key.0, &key.1);
                tracing::warn!("{name} cannot be read, and does not count: {why:#}");
            }
        }
        self.keys.insert(uid, key);
    }
}

impl Listener for Objects {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        match event {
            ObjectEvent::Listing => {}
            ObjectEvent::Is(object) => self.is(object),
            ObjectEvent::Gone { id, .. } => {
                if let Some((namespace, name)) = self.keys.remove(&id) {
                    self.claims.lock().is_gone(self.kind, &namespace, &name);
                }
            }
            ObjectEvent::Complete { .. } => {
                self.claims.lock().heard(self.kind);
                if self.conditions.works(ClaimsWatched, self.kind.plural()) == Change::Status {
                    tracing::info!("{} are watched again", self.kind.plural());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        // Where there is no such kind, there are no rules.
        if self.kind == Kind::TaintRules && matches!(error, ClusterError::NotFound(_)) {
            self.claims.lock().heard(self.kind);
            return;
        }
        let why = format!("{} are not watched: {error}; {NOT_KNOWN}", self.kind.plural());
        if self.conditions.fails(ClaimsWatched, self.kind.plural(), why.clone()) == Change::Status {
            tracing::warn!("{why}");
        }
    }
}

const LABELS: &str = "nodes";
const LABELS_NOT_KNOWN: &str =
    "which devices claims will get is not known where slices select nodes by labels";

/// The labels of nodes.
struct Labels {
    claims: Arc<Mutex<DevicePredictions>>,
    conditions: Arc<ServiceConditions>,
}

impl Listener for Labels {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        match event {
            ObjectEvent::Listing => {}
            ObjectEvent::Is(node) => {
                let labels = node.labels().map(|(name, value)| (name.to_owned(), value.to_owned()));
                self.claims.lock().labelled(node.name(), Some(labels.collect()));
            }
            ObjectEvent::Gone { id: name, .. } => self.claims.lock().labelled(&name, None),
            ObjectEvent::Complete { .. } => {
                if self.conditions.works(ClaimsWatched, LABELS) == Change::Status {
                    tracing::info!("{LABELS} are watched again");
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        let why = format!("{LABELS} are not watched: {error}; {LABELS_NOT_KNOWN}");
        if self.conditions.fails(ClaimsWatched, LABELS, why.clone()) == Change::Status {
            tracing::warn!("{why}");
        }
    }
}
