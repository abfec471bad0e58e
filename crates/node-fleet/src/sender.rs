//! A thread that sends what nodes have to say.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use cluster_node::{
    ApplyError, Cluster, ClusterError, Found, NodeLease, OtherHolder, PodReference, RegisteredNode,
    RegistrationError, StateError, StatePart, in_seconds,
};
use crossbeam::channel::Receiver;
use kubelet_status::{NodeFacts, PodObject, Readiness, Step, node_status};
use node_input::NodeHoldings;
use node_resource_topology::NodeResourceTopology;
use serde_json::Value;
use thiserror::Error;
use topology_admission::Ledger;

use crate::fleet_node::{FleetNode, PublicationState};
use crate::fleet_pod::Sending;
use crate::job::{Job, NodeNumber, Tried};
use crate::kind::Counters;
use crate::state::Shared;

/// Until a pod is looked at again whose object still differs from what was sent.
const REST: Duration = Duration::from_secs(10);
/// What runs containers, as nodes report it.
const RUNTIME: &str = concat!("topolet://", env!("CARGO_PKG_VERSION"));

/// Why something was not sent.
#[derive(Debug, Error)]
enum SendError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Amounts(#[from] ApplyError),
    #[error(transparent)]
    State(#[from] StateError),
    /// Another agent renews the node's Lease: a kubelet, or another fleet.
    #[error(
        "node {node} is alive already: {holder} has renewed its Lease; stop that agent, or give the fleet another --name"
    )]
    Taken { node: String, holder: String },
}

impl SendError {
    /// Whether the credentials are not accepted.
    const fn is_of_credentials(&self) -> bool {
        matches!(
            self,
            Self::Cluster(ClusterError::Unauthorized { .. })
                | Self::Amounts(ApplyError::Cluster(ClusterError::Unauthorized { .. }))
                | Self::State(StateError::Cluster(ClusterError::Unauthorized { .. }))
        )
    }
}

/// A thread that sends.
pub(crate) struct Sender {
    pub(crate) shared: Arc<Shared>,
    pub(crate) cluster: Cluster,
    pub(crate) due: Receiver<Tried>,
}

impl Sender {
    /// Starts it, for the rest of the program.
    pub(crate) fn start(mut self, number: usize) -> anyhow::Result<()> {
        thread::Builder::new().name(format!("sender-{number}")).spawn(move || {
            while let Ok(tried) = self.due.recv() {
                self.send(tried);
            }
        })?;
        Ok(())
    }

    /// Does a job, which is done again later if it fails.
    fn send(&mut self, mut tried: Tried) {
        let sent = match &tried.job {
            Job::Register(at) => self.register(*at),
            Job::Lease(at) => self.lease(*at),
            Job::Status(at) => self.status(*at),
            Job::Publish(at) => self.publish(*at),
            Job::Look(at, uid) => {
                self.look(*at, uid);
                Ok(())
            }
            Job::Pod(at, uid) => self.pod(*at, uid),
        };
        if let Err(error) = sent {
            if error.is_of_credentials()
                && let Ok(renewed) = self.shared.connector.connect()
            {
                self.cluster = renewed;
            }
            self.shared.fails(tried.job.work(), &error.to_string());
            let again = tried.pause(self.shared.clock().random());
            self.shared.jobs.add_at(self.shared.now() + again, tried);
        }
    }

    fn register(&self, at: NodeNumber) -> Result<(), SendError> {
        let Some(node) = self.shared.nodes.get(at) else { return Ok(()) };
        let (name, ledger) = {
            let node = node.lock();
            (node.name.clone(), node.ledger.clone())
        };
        let RegisteredNode { uid, status } = self
            .with_facts(&name, &ledger, |facts| {
                self.cluster.register_node(facts, &Readiness::Ready, &holder(&name))
            })
            .map_err(|error| match error {
                RegistrationError::Taken(other) => taken(&name, other),
                RegistrationError::Cluster(error) => error.into(),
            })?;
        if self.shared.published.state {
            self.cluster.write_state(&name, StatePart::Node, &self.shared.kind.description)?;
        }
        let config = &self.shared.kind.node.config().reporting;
        let now = self.shared.now();
        let mut node = node.lock();
        (node.uid, node.status) = (uid, status);
        self.shared.jobs.add(Job::Lease(at));
        self.shared.jobs.add_at(now + config.status_report_period(), Job::Status(at));
        self.shared.changed(at, &mut node);
        Ok(())
    }

    fn lease(&self, at: NodeNumber) -> Result<(), SendError> {
        let Some(node) = self.shared.nodes.get(at) else { return Ok(()) };
        let config = &self.shared.kind.node.config().reporting;
        let lease = {
            let node = node.lock();
            NodeLease {
                node: node.name.clone(),
                node_uid: node.uid.clone(),
                holder: holder(&node.name),
                duration: config.lease_duration(),
            }
        };
        if let Some(other) = self.cluster.renew_lease(&lease)? {
            return Err(taken(&lease.node, other));
        }
        self.shared.jobs.add_at(self.shared.now() + config.lease_renewal_period(), Job::Lease(at));
        Ok(())
    }

    fn status(&self, at: NodeNumber) -> Result<(), SendError> {
        let Some(node) = self.shared.nodes.get(at) else { return Ok(()) };
        let (name, status) = {
            let node = node.lock();
            (node.name.clone(), self.status_after(&node, &node.status))
        };
        self.cluster.patch_node_status(&name, &status)?;
        node.lock().status = status;
        let period = self.shared.kind.node.config().reporting.status_report_period();
        self.shared.jobs.add_at(self.shared.now() + period, Job::Status(at));
        Ok(())
    }

    fn publish(&self, at: NodeNumber) -> Result<(), SendError> {
        let Some(node) = self.shared.nodes.get(at) else { return Ok(()) };
        let (kind, published) = (&self.shared.kind, self.shared.published);
        let (name, amounts, holdings, changed) = {
            let mut node = node.lock();
            node.publication = PublicationState::Sending;
            node.written = Some(self.shared.now());
            let amounts = published.topology.then(|| node.amounts(kind));
            let holdings = published.state.then(|| node.holdings(kind));
            (node.name.clone(), amounts, holdings, node.changed.take())
        };
        let sent = self.write(&name, amounts.as_ref(), holdings.as_ref());
        let mut node = node.lock();
        if let Err(error) = sent {
            node.publication = PublicationState::Queued;
            node.changed = changed;
            return Err(error);
        }
        let counters = &kind.counters;
        Counters::add(&counters.publications);
        let delay = changed.map_or(0, |since| self.shared.now().saturating_duration_since(since).as_micros());
        counters.delay.fetch_add(u64::try_from(delay).unwrap_or(u64::MAX), Ordering::Relaxed);
        if node.publication == PublicationState::Outdated {
            node.publication = PublicationState::Queued;
            self.shared.write_again(at, &node);
        } else {
            node.publication = PublicationState::Same;
        }
        Ok(())
    }

    fn write(
        &self,
        name: &str,
        amounts: Option<&NodeResourceTopology>,
        holdings: Option<&NodeHoldings>,
    ) -> Result<(), SendError> {
        if let Some(amounts) = amounts {
            self.cluster.overwrite_topology(name, amounts)?;
        }
        if let Some(holdings) = holdings
            && self.cluster.write_state(name, StatePart::Holdings, holdings)? == Found::Missing
        {
            self.cluster.write_state(name, StatePart::Node, &self.shared.kind.description)?;
        }
        Ok(())
    }

    fn look(&self, at: NodeNumber, uid: &str) {
        if let Some(node) = self.shared.nodes.get(at) {
            self.shared.act(at, &mut node.lock(), uid);
        }
    }

    fn pod(&self, at: NodeNumber, uid: &str) -> Result<(), SendError> {
        let Some(node) = self.shared.nodes.get(at) else { return Ok(()) };
        let Some((reference, patch)) = told_of(&node.lock(), uid) else {
            if let Some(pod) = node.lock().pods.get_mut(uid) {
                pod.sending = Sending::Idle;
            }
            return Ok(());
        };
        let answer = match &patch {
            Some(patch) => self.cluster.patch_pod_status(&reference, patch).map(PodObject::new),
            None => self.cluster.finalise_pod(&reference).map(|()| None),
        };
        let is = match answer {
            Ok(is) => is,
            // The object is gone; the watch reports it.
            Err(ClusterError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Counters::add(&self.shared.kind.counters.pods);
        let mut node = node.lock();
        let Some(pod) = node.pods.get_mut(uid) else { return Ok(()) };
        let Some(is) = is else {
            // It is going: the watch tells when.
            self.shared.jobs.add_at(self.shared.now() + REST, Job::Pod(at, uid.to_owned()));
            return Ok(());
        };
        pod.is(is);
        if pod.has_news() && pod.step != Step::Finalise {
            // The server has made something else of it.
            self.shared.jobs.add_at(self.shared.now() + REST, Job::Pod(at, uid.to_owned()));
        } else {
            pod.sending = Sending::Idle;
            self.shared.act(at, &mut node, uid);
        }
        Ok(())
    }

    fn status_after(&self, node: &FleetNode, before: &Value) -> Value {
        self.with_facts(&node.name, &node.ledger, |facts| {
            node_status(facts, &Readiness::Ready, before, &in_seconds(self.shared.clock().since_1970()))
        })
    }

    fn with_facts<T>(&self, name: &str, ledger: &Ledger, make: impl FnOnce(&NodeFacts<'_>) -> T) -> T {
        let kind = &self.shared.kind.node;
        // Devices of no plugin are there from the start.
        let (capacity, allocatable) = kind.reported_amounts(ledger, device_manager::Moment(Duration::ZERO));
        make(&NodeFacts {
            name,
            labels: &std::collections::BTreeMap::new(),
            taints: &kind.config().reporting.register_with_taints,
            host: &self.shared.host(name),
            kubelet_version: &kind.line.rules_of,
            runtime: RUNTIME,
            capacity,
            allocatable,
        })
    }
}

/// Who renews the Lease of a node. After a restart it is the same, so that the fleet goes on at once.
fn holder(node: &str) -> String {
    format!("topolet-fleet_{node}")
}

/// Another agent has a node of that name; its object is not touched.
fn taken(node: &str, other: OtherHolder) -> SendError {
    SendError::Taken { node: node.to_owned(), holder: other.holder }
}

/// What is to be sent of a pod: a patch of its status, or without one the deletion of its object.
fn told_of(node: &FleetNode, uid: &str) -> Option<(PodReference, Option<Value>)> {
    let pod = node.pods.get(uid)?;
    let patch = pod.history.patch(pod.object.as_ref()?, pod.step);
    (patch.is_some() || pod.step == Step::Finalise).then_some((pod.reference()?, patch))
}
