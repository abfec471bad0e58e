#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! [`Cluster`] is a connection; each user has one, and its calls wait for their answer. A [`Connector`] makes connections, and
//! has the [`Clock`] of whatever uses them. What goes on for the rest of a program is one of two:
//!
//! - [`Listening`] hears of the objects that are [`Watched`], after each break anew.
//! - A [`Publisher`] keeps something written that changes.
//!
//! Both go step by step, take time and randomness from the clock, and try again after the pauses of a [`Backoff`].
//!
//! [`PodWatch`] gives the pods of a node in the form in which a kubelet's pods API does, so that either can be listened to.
//! [`EventRecorder`] writes events on pods, no more than [`EventPace`] lets through. [`Cluster::ask_agent`] asks the agent of
//! another node. [`TopologyWriter`] and [`Cluster::write_state`] write what schedulers read of the node,
//! [`Cluster::overwrite_topology`] what they read of many. [`Cluster::claim_lists`] lists what decides on claims of devices,
//! [`Cluster::claims_of_node`] what an agent needs to know which devices the claims of its node have.
//!
//! Who owns a node has [`Cluster::patch_pod_status`] and [`Cluster::finalise_pod`] for what becomes of its pods,
//! [`Cluster::register_node`] and [`Cluster::patch_node_status`] for the node's object, and [`Cluster::renew_lease`], by which
//! the cluster knows that it lives.
//!
//! - How long a publisher waits after a failure, and how all of them work: `crates/cluster-node/src/publisher.rs` with
//!   `backoff.rs` beside it; the one loop that lists and watches: `listening.rs`.

mod clock;
mod backoff;
mod connection;
mod connector;
mod bounded;
mod error;
mod object;
mod watch;
mod listening;
mod pods;
mod bound;
mod node;
mod lease;
mod registration;
mod kubelet;
mod events;
mod pace;
mod agent;
mod look;
mod lists;
mod claims;
mod claims_of_node;
mod topology;
mod state;
mod publisher;

pub use agent::{AgentAnswer, AgentPod};
pub use backoff::Backoff;
pub use claims::{ClaimKind, ClaimListError, ClaimLists, MissingRight};
pub use clock::{Clock, HandClock, Pause, SystemClock};
pub use connection::{Access, Cluster, KubectlAccess, RequestBody, Woken};
pub use connector::{Connector, NodeInCluster};
pub use error::ClusterError;
pub use events::{EventRecorder, EventType, PodReference, Reporter};
pub use kubelet::{KubeletAccess, KubeletPods};
pub use lease::{NodeLease, OtherHolder, in_seconds};
pub use listening::{Listener, Listening, ObjectEvent};
pub use lists::ListedKind;
pub use look::{BoundPod, PodName};
pub use object::WatchedObject;
pub use pace::EventPace;
pub use pods::PodWatch;
pub use publisher::{Pace, Publication, Published, Publisher};
pub use registration::{RegisteredNode, RegistrationError};
pub use state::{Found, StateError, StatePart};
pub use topology::{ApplyError, FieldConflict, OthersFields, TopologyWriter, Written};
pub use watch::Watched;

// The crates whose types are in the signatures here.
pub use kubelet_status;
pub use pods_api;
