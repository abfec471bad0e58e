//! The Node object at the API server: registers it, updates its status and renews its Lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{
    Cluster, ClusterError, Connector, NodeLease, Pace, Publication, Published, Publisher, RegisteredNode,
    RegistrationError, Woken, in_seconds,
};
use crossbeam::channel::{self, Receiver, Sender};
use device_manager::Moment;
use kubelet_status::{
    ContainerReports, HostFacts, NodeFacts, Readiness, Reported, has_conditions, node_status,
    without_heartbeat,
};
use node_view::{Message, News, NodeCondition, NodeView};
use serde_json::Value;

use super::bound;
use super::holder;
use super::sending::{Gate, Recorders};
use super::statuses::Statuses;

/// Changes are looked for every second.
const PACE: Pace =
    Pace { least: Duration::from_secs(1), resync: Some(Duration::ZERO), again: Duration::from_secs(7) };
/// Events of the watch that may wait for the thread that handles them.
const WAITING: usize = 1024;
/// The container runtime in the node's status.
const RUNTIME: &str = concat!("topolet://", env!("CARGO_PKG_VERSION"));

/// The threads for pods, which start once the node is registered.
pub(super) struct PodReports {
    pub(super) addresses: Vec<String>,
    pub(super) containers: ContainerReports,
    pub(super) owner: Sender<Message>,
    pub(super) news: Arc<News>,
    pub(super) woken: Receiver<()>,
}

/// Publishes the Node object and its Lease.
pub(super) struct NodeObject {
    pub(super) node: String,
    pub(super) connector: Connector,
    pub(super) cluster: Cluster,
    pub(super) holder: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) host: HostFacts,
    pub(super) view: NodeView,
    pub(super) moment: Box<dyn Fn() -> Moment + Send>,
    /// `None`: the node is registered.
    pub(super) pod_reports: Option<PodReports>,
    pub(super) known: KnownObject,
}

/// The object as it was sent and read last.
#[derive(Default)]
pub(super) struct KnownObject {
    uid: String,
    /// The status that was sent last, and when.
    sent: Value,
    sent_at: Option<Instant>,
    /// When the sent status was last compared with the API server's.
    compared: Option<Instant>,
    renewed: Option<Instant>,
}

impl Publication for NodeObject {
    fn publish(&mut self, _: Woken, now: Instant) -> Published {
        if self.pod_reports.is_some()
            && let Err(failed) = self.register(now)
        {
            return failed;
        }
        let renewed = self.renew(now);
        let reported = self.report(now);
        renewed.and(reported).err().unwrap_or(Published::Written)
    }

    fn wait(&mut self, _: Instant, within: Duration) -> Option<Woken> {
        self.connector.clock().sleep(within);
        None
    }

    fn reconnect(&mut self, cluster: Cluster) {
        self.cluster = cluster;
    }
}

impl NodeObject {
    /// Publishes for the rest of the program.
    pub(super) fn start(self) -> anyhow::Result<()> {
        self.view.conditions.member_waits(NodeCondition::Registered, "it has just started");
        let connector = self.connector.clone();
        Ok(Publisher::new(self, connector, PACE).start("node-object")?)
    }

    /// Registers the node, then starts the threads for its pods.
    fn register(&mut self, now: Instant) -> Result<(), Published> {
        let readiness = self.readiness();
        let registered = self.with_facts(|facts| self.cluster.register_node(facts, &readiness, &self.holder));
        match registered {
            Ok(RegisteredNode { uid, status }) => {
                (self.known.uid, self.known.sent, self.known.sent_at) = (uid, status, Some(now));
                self.known.compared = Some(now);
            }
            Err(RegistrationError::Taken(other)) => {
                let why = holder::taken(&self.node, &other);
                self.view.conditions.member_fails(NodeCondition::Registered, &why);
                return Err(Published::Failed);
            }
            Err(RegistrationError::Cluster(error)) => {
                return Err(self.fails(NodeCondition::Registered, &error));
            }
        }
        tracing::info!(node = self.node, server = self.cluster.server(), "node is registered");
        if let Some(pod_reports) = self.pod_reports.take()
            && let Err(error) = self.begin(pod_reports)
        {
            self.view.conditions.member_fails(NodeCondition::PodsWatched, &format!("{error:#}"));
        }
        self.view.conditions.member_works(NodeCondition::Registered);
        Ok(())
    }

    /// Starts the threads for pods.
    fn begin(&self, pod_reports: PodReports) -> anyhow::Result<()> {
        let PodReports { addresses, containers, owner, news, woken } = pod_reports;
        let (to, pod_events) = channel::bounded(WAITING);
        self.view.conditions.member_waits(NodeCondition::PodsWatched, "they have just been asked for");
        bound::start(self.connector.clone(), self.node.clone(), self.view.conditions.clone(), to)?;
        let view = self.view.clone();
        let (pods, listing) = (BTreeMap::new(), Some(BTreeSet::new()));
        let gate = Gate::open();
        Statuses {
            // Each user of the API server has its own connection.
            cluster: self.connector.connect()?,
            recorders: Recorders::new(&self.connector, &self.node)?,
            connector: self.connector.clone(),
            node: self.node.clone(),
            owner,
            reported: Reported::by(view.node().config(), view.node().node.pod_level()),
            view,
            news,
            addresses,
            containers,
            pod_events,
            woken,
            pods,
            listing,
            gate,
        }
        .start()
    }

    /// Sends the status if it has changed, if its period is over, or if another client has changed it.
    fn report(&mut self, now: Instant) -> Result<(), Published> {
        let is_overwritten = self.is_overwritten(now)?;
        let status = self.status_after(&self.known.sent);
        let period = self.view.node().config().reporting.status_report_period();
        if !is_due(self.known.sent_at, period, now)
            && !is_overwritten
            && without_heartbeat(&status) == without_heartbeat(&self.known.sent)
        {
            return Ok(());
        }
        match self.cluster.patch_node_status(&self.node, &status) {
            Ok(()) => {
                (self.known.sent, self.known.sent_at) = (status, Some(now));
                self.view.conditions.member_works(NodeCondition::NodeStatusSent);
                Ok(())
            }
            Err(error @ ClusterError::NotFound(_)) => {
                let why = format!(
                    "another client has deleted the Node object: {error}; restart topolet to register it again"
                );
                self.view.conditions.member_fails(NodeCondition::NodeStatusSent, &why);
                Err(Published::Failed)
            }
            Err(error) => Err(self.fails(NodeCondition::NodeStatusSent, &error)),
        }
    }

    /// Whether another client has changed the conditions: the node lifecycle controller does when the Lease is not renewed.
    /// Transition times then count from what it wrote.
    fn is_overwritten(&mut self, now: Instant) -> Result<bool, Published> {
        let period = self.view.node().config().reporting.status_update_period();
        if !is_due(self.known.compared, period, now) {
            return Ok(false);
        }
        self.known.compared = Some(now);
        match self.cluster.node_object(&self.node) {
            Ok(Some(object)) if !has_conditions(&object["status"], &self.known.sent) => {
                self.known.sent["conditions"] = object["status"]["conditions"].clone();
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(error) => Err(self.fails(NodeCondition::NodeStatusSent, &error)),
        }
    }

    /// Sets the condition to failed.
    fn fails(&self, of: NodeCondition, error: &ClusterError) -> Published {
        self.view.conditions.member_fails(of, &error.to_string());
        Published::failed(error)
    }

    /// Renews the Lease if it is due.
    fn renew(&mut self, now: Instant) -> Result<(), Published> {
        let reporting = &self.view.node().config().reporting;
        if !is_due(self.known.renewed, reporting.lease_renewal_period(), now) {
            return Ok(());
        }
        let lease = NodeLease {
            node: self.node.clone(),
            node_uid: self.known.uid.clone(),
            holder: self.holder.clone(),
            duration: reporting.lease_duration(),
        };
        match self.cluster.renew_lease(&lease) {
            Ok(None) => {
                self.known.renewed = Some(now);
                self.view.conditions.member_works(NodeCondition::LeaseRenewed);
                Ok(())
            }
            Ok(Some(other)) => {
                let why = holder::taken(&self.node, &other);
                self.view.conditions.member_fails(NodeCondition::LeaseRenewed, &why);
                Err(Published::Failed)
            }
            Err(error) => Err(self.fails(NodeCondition::LeaseRenewed, &error)),
        }
    }

    /// The status as it is now; `before` is the one that was sent last.
    fn status_after(&self, before: &Value) -> Value {
        let now = in_seconds(self.connector.clock().since_1970());
        self.with_facts(|facts| node_status(facts, &self.readiness(), before, &now))
    }

    fn readiness(&self) -> Readiness {
        match self.view.conditions.why_behind() {
            None => Readiness::Ready,
            Some(why) => Readiness::NotReady { why: vec![why] },
        }
    }

    fn with_facts<T>(&self, make: impl FnOnce(&NodeFacts<'_>) -> T) -> T {
        let node = self.view.node();
        let snapshot = self.view.snapshot();
        let (capacity, allocatable) = node.reported_amounts(&snapshot.ledger, (self.moment)());
        make(&NodeFacts {
            name: &self.node,
            labels: &self.labels,
            taints: &node.config().reporting.register_with_taints,
            host: &self.host,
            kubelet_version: &node.line.rules_of,
            runtime: RUNTIME,
            capacity,
            allocatable,
        })
    }
}

/// Whether the period has passed since then; `None`: it is due.
fn is_due(since: Option<Instant>, period: Duration, now: Instant) -> bool {
    since.is_none_or(|since| now.saturating_duration_since(since) >= period)
}
