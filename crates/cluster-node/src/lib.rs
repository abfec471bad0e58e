#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! [`Cluster`] is a connection; each user has one, and its calls wait for their answer. [`PodWatch`] gives the pods of a
//! node in the form in which a kubelet's pods API does, so that either can be listened to. [`EventRecorder`] writes
//! events on pods, no more than [`EventPace`] lets through. [`Cluster::ask_agent`] asks the agent of another node.
//! [`TopologyWriter`] writes what schedulers read of the node.
//!
//! Who owns a node has [`BoundPods`], which it has to run, [`Cluster::patch_pod_status`] and [`Cluster::finalise_pod`] for
//! what becomes of them, [`Cluster::register_node`] and [`Cluster::patch_node_status`] for the node's object, and
//! [`Cluster::renew_lease`], by which the cluster knows that it lives. Who simulates many nodes has [`Cluster::bound_pods`] and
//! [`Cluster::overwrite_topology`].
//!
//! [`Cluster::write_state`] publishes what a node is and what its pods hold, for schedulers that decide as the node does;
//! they have [`Cluster::node_states`], [`Cluster::node_topologies`] [`Cluster::pending_pods`] and
//! [`Cluster::pod_ends`].

mod clock;
mod backoff;
mod connection;
mod connector;
mod bounded;
mod error;
mod watch;
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
mod topology;
mod state;
mod publisher;

pub use agent::{AgentAnswer, AgentPod};
pub use backoff::Backoff;
pub use bound::{BoundPodEvent, BoundPods, EndingPod, FailedPod, PodEnd, PodEnds, PodFailures};
pub use clock::{Clock, Pause, SystemClock};
pub use connection::{Access, Cluster, KubectlAccess, RequestBody, Woken};
pub use connector::Connector;
pub use error::ClusterError;
pub use events::{EventRecorder, EventType, PodReference, Reporter};
pub use kubelet::{KubeletAccess, KubeletPods};
pub use lease::{NodeLease, OtherHolder, in_seconds};
pub use look::{BoundPod, PodName};
pub use pace::EventPace;
pub use pods::PodWatch;
pub use publisher::{Pace, Publication, Published, Publisher};
pub use registration::{RegisteredNode, RegistrationError};
pub use state::{Found, NodeObjects, StateError, StatePart, WatchedObject};
pub use topology::{ApplyError, FieldConflict, OthersFields, TopologyWriter, Written};

// The crates whose types are in the signatures here.
pub use kubelet_status;
pub use pods_api;
