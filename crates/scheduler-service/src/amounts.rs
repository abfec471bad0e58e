//! What other producers publish of nodes whose agents do not: amounts by NUMA node, by which a pod can only be judged
//! approximately.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use cluster_node::{ClusterError, Connector, Listener, Listening, ObjectEvent, Watched};
use scheduler_extender::node_resource_topology::NodeResourceTopology;
use scheduler_extender::{NodeFacts, NodeState, StateVersion, Zones};
use serde_json::Value;

use crate::conditions::ServiceConditions;
use crate::listening::AGAIN;
use crate::outlook::Outlook;
use crate::states::ExactNodes;

const WHAT: &str = "amounts of nodes";

/// Listens to them.
pub(crate) struct Amounts {
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) exact: ExactNodes,
    pub(crate) conditions: Arc<ServiceConditions>,
}

impl Amounts {
    /// Starts the thread, for the rest of the program.
    pub(crate) fn start(self, connector: &Connector) -> anyhow::Result<()> {
        Ok(Listening::new(connector.clone(), Watched::NodeTopologies, AGAIN, self).start("amounts")?)
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

impl Listener for Amounts {
    fn heard(&mut self, event: ObjectEvent) -> ControlFlow<()> {
        match event {
            ObjectEvent::Listing => {}
            ObjectEvent::Is(object) => {
                let name = object.name().to_owned();
                self.is(&name, object.into_json());
            }
            ObjectEvent::Gone { id: name, .. } => self.is_gone(&name),
            ObjectEvent::Complete { .. } => {
                self.outlook.lock().heard.amounts = true;
                self.conditions.heard(WHAT);
            }
        }
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &ClusterError) {
        if matches!(error, ClusterError::NotFound(_)) {
            // Without a publisher of amounts the kind need not be installed.
            self.outlook.lock().heard.amounts = true;
        } else {
            self.conditions.unheard(WHAT, &error.to_string());
        }
    }
}
