//! The node's object at the API server: registered, kept up to date, and proved alive by its Lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cluster_node::{Cluster, ClusterError, NodeLease, RegisteredNode, RegistrationError, now_in_seconds};
use crossbeam::channel::{self, Receiver, Sender};
use device_manager::Moment;
use kubelet_status::{
    ContainerReports, HostFacts, NodeFacts, Readiness, Reported, has_conditions, node_status,
    without_heartbeat,
};
use node_view::{Message, News, NodeCondition, NodeView};
use serde_json::Value;

use super::backoff::Backoff;
use super::bound::{self, Heard};
use super::holder;
use super::sending::{Gate, Recorders};
use super::statuses::Statuses;
use crate::api_server::NodeInCluster;

/// How often it is looked whether something has changed, or is due.
const LOOK: Duration = Duration::from_secs(1);
/// The longest pause between two tries to register.
const PAUSE: Duration = Duration::from_secs(7);
/// Events about pods that may wait for the thread that takes them.
const WAITING: usize = 1024;
/// What runs containers, as nodes report it.
const RUNTIME: &str = concat!("topolet://", env!("CARGO_PKG_VERSION"));

/// What is started once the node is registered.
pub(super) struct Starting {
    pub(super) addresses: Vec<String>,
    pub(super) containers: ContainerReports,
    pub(super) owner: Sender<Message>,
    pub(super) news: Arc<News>,
    pub(super) woken: Receiver<()>,
}

/// The thread that keeps the node's object.
pub(super) struct Keeping {
    node: NodeInCluster,
    cluster: Cluster,
    holder: String,
    labels: BTreeMap<String, String>,
    host: HostFacts,
    view: NodeView,
    clock: Box<dyn Fn() -> Moment + Send>,
    /// What was sent last.
    sent: Value,
    sent_at: Instant,
    /// When the API server was asked last whether it has it so.
    compared: Instant,
    renewed: Option<Instant>,
    /// The UID of the object.
    uid: String,
}

impl Keeping {
    pub(super) fn new(
        node: NodeInCluster,
        cluster: Cluster,
        holder: String,
        labels: BTreeMap<String, String>,
        host: HostFacts,
        view: NodeView,
        clock: Box<dyn Fn() -> Moment + Send>,
    ) -> Self {
        let (sent, sent_at) = (Value::Null, Instant::now());
        Self {
            node,
            cluster,
            holder,
            labels,
            host,
            view,
            clock,
            sent,
            sent_at,
            compared: sent_at,
            renewed: None,
            uid: String::new(),
        }
    }

    pub(super) fn start(self, starting: Starting) -> anyhow::Result<()> {
        self.view.conditions.member_waits(NodeCondition::Registered, "it has just started");
        thread::Builder::new().name("node-object".to_owned()).spawn(move || self.run(starting))?;
        Ok(())
    }

    fn run(mut self, starting: Starting) {
        let mut backoff = Backoff::up_to(PAUSE);
        while let Err(why) = self.register() {
            match why {
                RegistrationError::Taken(other) => {
                    let why = holder::taken(&self.node.node, &other);
                    self.view.conditions.member_fails(NodeCondition::Registered, &why);
                }
                RegistrationError::Cluster(error) => self.fails(NodeCondition::Registered, &error),
            }
            thread::sleep(backoff.pause());
        }
        tracing::info!(node = self.node.node, server = self.cluster.server(), "node is registered");
        if let Err(error) = self.begin(starting) {
            self.view.conditions.member_fails(NodeCondition::PodsWatched, &format!("{error:#}"));
        }
        self.view.conditions.member_works(NodeCondition::Registered);
        loop {
            self.renew();
            self.report();
            thread::sleep(LOOK);
        }
    }

    /// Pods are run from now on.
    fn begin(&self, starting: Starting) -> anyhow::Result<()> {
        let Starting { addresses, containers, owner, news, woken } = starting;
        let (to, heard) = channel::bounded::<Heard>(WAITING);
        self.view.conditions.member_waits(NodeCondition::PodsWatched, "they have just been asked for");
        bound::start(self.node.clone(), self.view.conditions.clone(), to)?;
        let view = self.view.clone();
        let (pods, listing) = (BTreeMap::new(), Some(BTreeSet::new()));
        let gate = Gate::open();
        Statuses {
            // Each user of the API server has its own connection.
            cluster: Cluster::new(&self.node.access)?,
            recorders: Recorders::new(&self.node)?,
            node: self.node.clone(),
            owner,
            reported: Reported::by(view.node().config(), view.node().node.pod_level()),
            view,
            news,
            addresses,
            containers,
            heard,
            woken,
            pods,
            listing,
            gate,
        }
        .start()
    }

    fn register(&mut self) -> Result<(), RegistrationError> {
        let readiness = self.readiness();
        let RegisteredNode { uid, status } =
            self.with_facts(|facts| self.cluster.register_node(facts, &readiness, &self.holder))?;
        (self.uid, self.sent, self.sent_at) = (uid, status, Instant::now());
        Ok(())
    }

    /// Sends the status if it has changed, has not been sent for long, or is another at the API server.
    fn report(&mut self) {
        let is_overwritten = self.is_overwritten();
        let status = self.status_after(&self.sent);
        let is_due = self.sent_at.elapsed() >= self.view.node().config().reporting.status_report_period();
        if !is_due && !is_overwritten && without_heartbeat(&status) == without_heartbeat(&self.sent) {
            return;
        }
        match self.cluster.patch_node_status(&self.node.node, &status) {
            Ok(()) => {
                (self.sent, self.sent_at) = (status, Instant::now());
                self.view.conditions.member_works(NodeCondition::NodeStatusSent);
            }
            Err(error @ ClusterError::NotFound(_)) => {
                let why = format!("somebody has deleted the node: {error}; a restart registers it again");
                self.view.conditions.member_fails(NodeCondition::NodeStatusSent, &why);
            }
            Err(error) => self.fails(NodeCondition::NodeStatusSent, &error),
        }
    }

    /// Whether somebody has written other conditions: the API server's controllers do when a node is not heard of for long.
    /// Transitions are dated from what they wrote.
    fn is_overwritten(&mut self) -> bool {
        if self.compared.elapsed() < self.view.node().config().reporting.status_update_period() {
            return false;
        }
        self.compared = Instant::now();
        match self.cluster.node_object(&self.node.node) {
            Ok(Some(object)) if !has_conditions(&object["status"], &self.sent) => {
                self.sent["conditions"] = object["status"]["conditions"].clone();
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.fails(NodeCondition::NodeStatusSent, &error);
                false
            }
        }
    }

    /// Says so; credentials that are not accepted are read again.
    fn fails(&mut self, of: NodeCondition, error: &ClusterError) {
        self.view.conditions.member_fails(of, &error.to_string());
        if let ClusterError::Unauthorized { .. } = error
            && let Ok(renewed) = Cluster::new(&self.node.access)
        {
            self.cluster = renewed;
        }
    }

    /// Renews the Lease if it is due.
    fn renew(&mut self) {
        let reporting = &self.view.node().config().reporting;
        if self.renewed.is_some_and(|at| at.elapsed() < reporting.lease_renewal_period()) {
            return;
        }
        let lease = NodeLease {
            node: self.node.node.clone(),
            node_uid: self.uid.clone(),
            holder: self.holder.clone(),
            duration: reporting.lease_duration(),
        };
        match self.cluster.renew_lease(&lease) {
            Ok(None) => {
                self.renewed = Some(Instant::now());
                self.view.conditions.member_works(NodeCondition::LeaseRenewed);
            }
            Ok(Some(other)) => {
                self.view
                    .conditions
                    .member_fails(NodeCondition::LeaseRenewed, &holder::taken(&self.node.node, &other));
            }
            Err(error) => self.fails(NodeCondition::LeaseRenewed, &error),
        }
    }

    /// The status as it is now; `before` is the one that was sent last.
    fn status_after(&self, before: &Value) -> Value {
        self.with_facts(|facts| node_status(facts, &self.readiness(), before, &now_in_seconds()))
    }

    fn readiness(&self) -> Readiness {
        match &self.view.snapshot().behind {
            None => Readiness::Ready,
            Some(why) => Readiness::NotReady { why: vec![format!("state is behind on disk: {why}")] },
        }
    }

    fn with_facts<T>(&self, make: impl FnOnce(&NodeFacts<'_>) -> T) -> T {
        let node = self.view.node();
        let snapshot = self.view.snapshot();
        let (capacity, allocatable) = node.reported_amounts(&snapshot.ledger, (self.clock)());
        make(&NodeFacts {
            name: &self.node.node,
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
