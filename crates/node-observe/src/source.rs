//! The interface to sources of a kubelet's pods, and the settings that choose them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use cluster_node::{KubeletAccess, NodeInCluster};
use kubelet_status::ContainerReports;
use pods_api::{Event, PodsError};

/// The sources of a kubelet's pods beside its pods API.
#[derive(Clone, Debug, Default)]
pub struct PodSources {
    /// The kubelet's name for its node, which ends the names of its static pods; empty: not known.
    pub node_name: String,
    /// An API server, which also gets an event for each refusal.
    pub cluster: Option<NodeInCluster>,
    /// Settings of a node that is a member of that server's cluster in the place of a kubelet; `None`: it is not a member.
    pub membership: Option<Membership>,
    /// The kubelet's HTTPS endpoint.
    pub kubelet: Option<KubeletAccess>,
}

/// Settings of a node that is a member of a cluster in the place of a kubelet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Membership {
    /// Labels of the node beside a kubelet's.
    pub labels: BTreeMap<String, String>,
    /// Which program starts containers and reports them.
    pub containers: ContainerReports,
}

/// Why a source gives no events.
#[derive(Debug)]
pub(super) enum SourceError {
    /// No process serves it, as before kubelet 1.37.
    NotServed(String),
    /// The kubelet is starting.
    Starting(String),
    /// The source has stopped.
    Ended(String),
    /// A call failed.
    Failed(String),
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NotServed(text) | Self::Starting(text) | Self::Ended(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

impl From<PodsError> for SourceError {
    fn from(error: PodsError) -> Self {
        let text = error.to_string();
        match error {
            PodsError::NotServed(_) => Self::NotServed(text),
            PodsError::Starting(_) => Self::Starting(text),
            PodsError::Ended => Self::Ended(text),
            _ => Self::Failed(text),
        }
    }
}

/// A source of a kubelet's pods.
pub(super) trait Source: Send {
    /// Its name in the log.
    fn name(&self) -> &'static str;

    /// Whether a process listens there, so that a watch may succeed.
    fn may_be_there(&self) -> bool;

    /// All pods, and then each change.
    fn watch(&self) -> Result<Box<dyn PodEvents>, SourceError>;
}

/// A stream of a source's events.
pub(super) trait PodEvents {
    /// The next event; `None`: nothing has happened within that time. The pods that there are come first, then
    /// [`Event::Complete`].
    fn next(&mut self, within: Duration) -> Result<Option<Event>, SourceError>;
}
