//! What all threads share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{Clock, Connector, in_seconds};
use kubelet_status::{ContainerReports, HostFacts, Reported, Surroundings};
use node_input::{LoadedNode, NodeDescription};
use parking_lot::Mutex;

use crate::conditions::{FleetConditions, Work};
use crate::fleet::Published;
use crate::fleet_node::{FleetNode, PublicationState};
use crate::job::{Job, Jobs, NodeNumber};
use crate::kind::{Counters, Kind};

/// Between two writes of what schedulers read of a node.
const PACE: Duration = Duration::from_secs(1);

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) connector: Connector,
    pub(crate) kind: Kind,
    pub(crate) published: Published,
    pub(crate) nodes: Vec<Mutex<FleetNode>>,
    by_name: HashMap<String, NodeNumber>,
    pub(crate) jobs: Jobs,
    pub(crate) conditions: FleetConditions,
    pub(crate) addresses: Vec<String>,
}

impl Shared {
    pub(crate) fn new(
        connector: Connector,
        node: LoadedNode,
        published: Published,
        names: impl IntoIterator<Item = String>,
        jobs: Jobs,
    ) -> Self {
        let reported = Reported::by(node.config(), node.node.pod_level());
        let description = NodeDescription::of(&node);
        let kind = Kind { node, reported, description, counters: Counters::default() };
        let nodes: Vec<Mutex<FleetNode>> =
            names.into_iter().map(|name| Mutex::new(FleetNode::new(name, &kind))).collect();
        let by_name = nodes.iter().enumerate().map(|(at, node)| (node.lock().name.clone(), at)).collect();
        Self {
            connector,
            kind,
            published,
            nodes,
            by_name,
            jobs,
            conditions: FleetConditions::default(),
            addresses: vec!["127.0.0.1".to_owned()],
        }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.connector.clock()
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock().now()
    }

    /// The node of that name; `None`: it is none of the fleet.
    pub(crate) fn node_of(&self, name: &str) -> Option<NodeNumber> {
        self.by_name.get(name).copied()
    }

    /// Looks at a pod, and has sent what follows.
    pub(crate) fn act(&self, at: NodeNumber, node: &mut FleetNode, uid: &str) {
        let time = in_seconds(self.clock().since_1970());
        let around =
            Surroundings { addresses: &self.addresses, containers: ContainerReports::Awaited, time: &time };
        let before = node.ledger.version();
        let acted = node.act(uid, &self.kind, around, self.now());
        for uid in acted.news {
            self.jobs.add(Job::Pod(at, uid));
        }
        for (due, uid) in acted.due {
            self.jobs.add_at(due, Job::Look(at, uid));
        }
        if node.ledger.version() != before {
            self.changed(at, node);
        }
    }

    /// What schedulers read of a node is to be written, soon and not too often.
    pub(crate) fn changed(&self, at: NodeNumber, node: &mut FleetNode) {
        if self.published == Published::default() {
            return;
        }
        let now = self.now();
        node.changed.get_or_insert(now);
        node.publication = match node.publication {
            PublicationState::Same => {
                self.write_again(at, node);
                PublicationState::Queued
            }
            PublicationState::Queued => PublicationState::Queued,
            PublicationState::Sending | PublicationState::Outdated => PublicationState::Outdated,
        };
    }

    /// It is written when its time has come.
    pub(crate) fn write_again(&self, at: NodeNumber, node: &FleetNode) {
        let now = self.now();
        let from = node.written.map_or(now, |written| (written + PACE).max(now));
        self.jobs.add_at(from, Job::Publish(at));
    }

    /// What a simulated host is.
    pub(crate) fn host(&self, node: &str) -> HostFacts {
        HostFacts {
            machine_id: node.to_owned(),
            system_uuid: String::new(),
            boot_id: node.to_owned(),
            kernel: "simulated".to_owned(),
            os_image: "simulated".to_owned(),
            architecture: architecture().to_owned(),
            addresses: self.addresses.clone(),
        }
    }

    /// A call of the API server has failed.
    pub(crate) fn fails(&self, work: Work, why: &str) {
        Counters::add(&self.kind.counters.failures);
        self.conditions.fails(work, why, self.now());
    }
}

/// As Go calls what this program was built for: pods of this host's images are bound to it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    }
}
