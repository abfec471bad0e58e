#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | node-object | registers the node, then keeps its status and its Lease (`node_object`) |
//! | bound | watches the pods that are bound to the node (`bound`) |
//! | statuses | has them admitted and released, and patches their statuses (`statuses`) |
//!
//! The ledger on disk decides. A pod in the ledger is admitted, whatever its status at the API server; any other pod is
//! decided on, unless it has ended. So a daemon that is killed continues where it was, and the status of each pod is computed
//! anew and compared with the one at the API server. Only the process knows the exit codes of containers: after a restart they
//! are known only if the API server has them.
//!
//! # Where things are
//!
//! - How a node is a member of a cluster in the place of a kubelet: `crates/node-member/src/lib.rs` names its threads;
//!   `crates/kubelet-status/src/step.rs` decides what happens next to a pod, `draft.rs` beside it writes the pod's
//!   status, `resources.rs` says what the pod was given, and `terminate.rs` ends its containers.

mod host;
mod holder;
mod bound;
mod bound_pod;
mod claims;
mod sending;
mod statuses;
mod patches;
mod node_object;

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use cluster_node::{Cluster, Connector};
use crossbeam::channel::{self, Sender};
use device_manager::Moment;
use node_view::{Message, News, NodeView};

use self::node_object::{KnownObject, NodeObject, PodReports};
use node_observe::{Membership, PodSources};

/// A node that can register: no other agent renews its Lease.
pub struct Candidate {
    node: String,
    membership: Membership,
    connector: Connector,
    cluster: Cluster,
    /// The holder identity for the node's Lease.
    holder: String,
}

/// The node that the sources name; `None`: it is a member of no cluster.
///
/// # Errors
/// The address or the credentials of the API server cannot be read, or another agent renews the Lease of this node.
pub fn candidate(pods: &PodSources, root: &Path) -> anyhow::Result<Option<Candidate>> {
    let (Some(node), Some(membership)) = (pods.cluster.clone(), pods.membership.clone()) else {
        return Ok(None);
    };
    let connector = Connector::from(node.access);
    let cluster = connector.connect()?;
    let node = node.node;
    let holder = holder::of(root, &node)?;
    // An API server that does not answer is tried again later.
    if let Ok(Some(other)) = cluster.other_holder(&node, &holder) {
        bail!("{}", holder::taken(&node, &other));
    }
    Ok(Some(Candidate { node, membership, connector, cluster, holder }))
}

impl Candidate {
    /// Registers the node and reports its pods, for the rest of the program.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        self,
        view: NodeView,
        news: Arc<News>,
        owner: Sender<Message>,
        clock: impl Fn() -> Moment + Send + 'static,
    ) -> anyhow::Result<()> {
        let Self { node, membership, connector, cluster, holder } = self;
        let host = host::read(cluster.server());
        let (wake, woken) = channel::bounded(1);
        news.set_listener(wake);
        let changed = news.clone();
        view.snapshots.subscribe(move || changed.wake());
        let pod_reports = PodReports {
            addresses: host.addresses.clone(),
            containers: membership.containers,
            owner,
            news,
            woken,
        };
        NodeObject {
            node,
            connector,
            cluster,
            holder,
            labels: membership.labels,
            host,
            view,
            moment: Box::new(clock),
            pod_reports: Some(pod_reports),
            known: KnownObject::default(),
        }
        .start()
    }
}
