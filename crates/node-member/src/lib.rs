#![doc = include_str!("../README.md")]
//!
//! # Threads
//!
//! | thread | does |
//! |---|---|
//! | node-object | registers the node, then keeps its status and its Lease (`node_object`) |
//! | bound | hears which pods are bound to the node (`bound`) |
//! | statuses | has them admitted and released, and patches their statuses (`statuses`) |
//!
//! What is on disk decides. A pod that is in the ledger is admitted, whatever the API server has heard of it; one that is
//! not is decided on, unless it has ended. So a daemon that is killed goes on where it was, and a status that an API server
//! misses while it is away is worked out anew and compared with what it has. How a container ended is known to the process
//! alone: after a restart it is not known, unless the API server has heard of it.
//!
//! # Where things are
//!
//! - How a node is a member of a cluster in the place of a kubelet: `crates/node-member/src/lib.rs` names its threads;
//!   `crates/kubelet-status/src/step.rs` decides what happens next to a pod, `draft.rs` beside it writes the pod's
//!   status, `resources.rs` says what the pod was given, and `terminate.rs` ends its containers.

mod host;
mod holder;
mod bound;
mod one_pod;
mod sending;
mod statuses;
mod telling;
mod node_object;

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use cluster_node::{Cluster, Connector};
use crossbeam::channel::{self, Sender};
use device_manager::Moment;
use node_view::{Message, News, NodeView};

use self::node_object::{Keeping, KnownObject, Starting};
use node_observe::{Membership, PodSources};

/// A node that may be a member: nobody else is it.
pub struct Candidate {
    node: String,
    membership: Membership,
    connector: Connector,
    cluster: Cluster,
    /// Who renews the node's Lease.
    holder: String,
}

/// The node that is asked for; `None`: it is of no cluster.
///
/// # Errors
/// The way to the API server cannot be read, or another agent of that name lives.
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
    /// Makes it a member, for the rest of the program.
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
        let starting = Starting {
            addresses: host.addresses.clone(),
            containers: membership.containers,
            owner,
            news,
            woken,
        };
        Keeping {
            node,
            connector,
            cluster,
            holder,
            labels: membership.labels,
            host,
            view,
            moment: Box::new(clock),
            starting: Some(starting),
            known: KnownObject::default(),
        }
        .start()
    }
}
