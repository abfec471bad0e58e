//! What agents publish of their nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context as _;
use cluster_node::{Connector, ObjectEvent, Watched};
use cluster_overview::{ReadState, StateReader};
use node_config::DecidedBy;
use pod_spec::PodUid;
use scheduler_extender::{NodeFacts, StateVersion};
use serde_json::Value;

use crate::conditions::ServiceCondition::StateReadable;
use crate::conditions::ServiceConditions;
use crate::listening::{self, Subject};
use crate::metrics::Metrics;
use crate::outlook::Outlook;
use crate::room::FirstPods;

const STATES: Subject = Subject { thread: "states", what: "states of nodes", watched: Watched::NodeStates };

/// Whose state is known exactly: what others publish of these nodes does not count.
pub(crate) type ExactNodes = Arc<parking_lot::Mutex<BTreeSet<String>>>;

/// Listens to them.
pub(crate) struct States {
    pub(crate) outlook: Arc<Outlook>,
    pub(crate) exact: ExactNodes,
    pub(crate) reading: Reading,
    pub(crate) deciders: Deciders,
    pub(crate) conditions: Arc<ServiceConditions>,
    pub(crate) first: FirstPods,
}

/// Which program decides on each node whose state is read.
pub(crate) struct Deciders {
    metrics: Arc<Metrics>,
    programs: BTreeMap<String, Option<DecidedBy>>,
}

impl Deciders {
    pub(crate) const fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, programs: BTreeMap::new() }
    }

    fn is(&mut self, node: &str, program: Option<DecidedBy>) {
        self.is_gone(node);
        self.programs.insert(node.to_owned(), program);
        self.metrics.decides(program);
    }

    fn is_gone(&mut self, node: &str) {
        if let Some(program) = self.programs.remove(node) {
            self.metrics.decides_no_more(program);
        }
    }
}

/// What makes states quick to read.
#[derive(Default)]
pub(crate) struct Reading {
    states: StateReader,
    /// How often all states have been listed.
    listings: u64,
}

impl States {
    /// Starts the thread, for the rest of the program.
    pub(crate) fn start(mut self, connector: &Connector) -> anyhow::Result<()> {
        let conditions = self.conditions.clone();
        let heard = move |event| self.hear(event);
        listening::start(STATES, &conditions, connector, heard)
    }

    fn hear(&mut self, event: ObjectEvent) {
        match event {
            ObjectEvent::Listing => self.reading.listings += 1,
            ObjectEvent::Is(object) => {
                let name = object.name().to_owned();
                self.is(&name, object.into_json());
            }
            ObjectEvent::Gone { id: name, .. } => self.is_gone(&name),
            ObjectEvent::Complete { known } => {
                self.outlook.lock().heard.states = true;
                tracing::info!(nodes = known, "states of nodes are known");
            }
        }
    }

    fn is(&mut self, name: &str, object: Value) {
        match self.reading.read(object) {
            Ok((state, program)) => {
                self.deciders.is(name, program);
                self.conditions.readable(name);
                if self.exact.lock().insert(name.to_owned())
                    && let NodeFacts::Exact { ledger, .. } = &state.facts
                {
                    self.first.learn(&mut self.outlook.lock().view, ledger);
                }
                self.outlook.update(name, state);
            }
            Err(why) => {
                let why = format!("{why:#}");
                if self.conditions.fails(StateReadable, name, why.clone()).is_some() {
                    tracing::warn!("the state of node {name} cannot be read, and every pod passes it: {why}");
                }
                self.is_gone(name);
            }
        }
    }

    fn is_gone(&mut self, name: &str) {
        self.exact.lock().remove(name);
        self.deciders.is_gone(name);
        self.outlook.lock().view.remove(name);
    }
}

impl Reading {
    fn read(&mut self, object: Value) -> anyhow::Result<(scheduler_extender::NodeState, Option<DecidedBy>)> {
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let change = version.parse().with_context(|| format!("metadata.resourceVersion {version:?}"))?;
        let version = StateVersion { run: self.listings, change };
        let ReadState { state, node, ledger } = self.states.read(object)?;
        let told = state.holdings.refused.iter().map(|refusal| PodUid::new(&refusal.uid)).collect();
        let facts = NodeFacts::Exact { node, ledger };
        Ok((scheduler_extender::NodeState { version, facts, told }, state.node.decided_by()?))
    }
}
