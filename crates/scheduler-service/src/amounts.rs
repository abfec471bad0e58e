//! What other producers publish of nodes whose agents do not: amounts by NUMA node, by which a pod can only be judged
//! approximately.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster_node::{Access, Cluster, ClusterError, WatchedObject};
use scheduler_extender::node_resource_topology::NodeResourceTopology;
use scheduler_extender::{NodeFacts, NodeState, StateVersion, Zones};
use serde_json::Value;

use crate::known::Known;
use crate::listening::{self, SILENCE, Watches};
use crate::outlook::Outlook;
use crate::states::ExactNodes;

const WHAT: &str = "amounts of nodes";

/// Listens to them.
pub(crate) struct Amounts {
    pub(crate) access: Access,
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) exact: ExactNodes,
    pub(crate) watches: Arc<Watches>,
    pub(crate) known: Known,
}

impl Amounts {
    /// Starts the thread, for the rest of the program.
    pub(crate) fn start(mut self) -> anyhow::Result<()> {
        listening::start("amounts", WHAT, self.watches.clone(), move || self.listen())
    }

    fn listen(&mut self) -> ClusterError {
        let mut objects = match Cluster::new(&self.access).and_then(Cluster::node_topologies) {
            Ok(objects) => objects,
            // Where nobody publishes amounts the kind need not be installed.
            Err(ClusterError::NotFound(_)) => {
                self.outlook.lock().heard.amounts = true;
                return ClusterError::Ended("NodeResourceTopology".to_owned());
            }
            Err(error) => return error,
        };
        self.known.list();
        loop {
            match objects.next(SILENCE) {
                Ok(None) => {}
                Ok(Some(WatchedObject::Is(object))) => {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    self.known.is(&name);
                    self.is(&name, object);
                }
                Ok(Some(WatchedObject::Gone(name))) => {
                    self.known.is_gone(&name);
                    self.is_gone(&name);
                }
                Ok(Some(WatchedObject::Complete)) => {
                    for name in self.known.complete() {
                        self.is_gone(&name);
                    }
                    self.outlook.lock().heard.amounts = true;
                    self.watches.works(WHAT);
                }
                Err(error) => return error,
            }
        }
    }

    fn is(&self, name: &str, object: Value) {
        if self.exact.lock().contains(name) {
            return;
        }
        let version = object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let read = serde_json::from_value::<NodeResourceTopology>(object)
            .map_err(|error| error.to_string())
            .and_then(|object| Zones::read(&object).map_err(|error| error.to_string()));
        match read {
            Ok(zones) => {
                // What an agent publishes later counts more.
                let version = StateVersion { run: 0, change: version.unwrap_or_default() };
                let facts = NodeFacts::Approximate(zones);
                self.outlook.update(name, NodeState { version, facts, told: BTreeSet::new() });
            }
            Err(why) => {
                tracing::warn!("the amounts of node {name} cannot be read, and every pod passes it: {why}");
            }
        }
    }

    fn is_gone(&self, name: &str) {
        if !self.exact.lock().contains(name) {
            self.outlook.lock().view.remove(name);
        }
    }
}
