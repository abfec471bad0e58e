//! A source of a kubelet's pods: what it can be asked, and which there may be.

use std::fmt;
use std::time::Duration;

use pods_api::{Event, PodsError};

#[cfg(feature = "kubernetes")]
use cluster_node::NodeInCluster;

/// The sources of a kubelet's pods beside its pods API. Without feature `kubernetes` there are none.
#[derive(Clone, Debug, Default)]
pub struct PodSources {
    /// What the kubelet calls its node, as the names of its static pods end; empty: not known.
    pub node_name: String,
    /// An API server, which also gets an event for each refusal.
    #[cfg(feature = "kubernetes")]
    pub cluster: Option<NodeInCluster>,
    /// What the node brings with it where it is a member of that server's cluster, without a kubelet; `None`: it is not
    /// to be one.
    #[cfg(feature = "kubernetes")]
    pub membership: Option<Membership>,
    /// The kubelet's HTTPS endpoint.
    #[cfg(feature = "kubernetes")]
    pub kubelet: Option<cluster_node::KubeletAccess>,
}

/// What a node brings with it that is a member of a cluster by itself, without a kubelet.
#[cfg(feature = "kubernetes")]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Membership {
    /// Labels of the node beside a kubelet's.
    pub labels: std::collections::BTreeMap<String, String>,
    /// Who starts containers.
    pub containers: kubelet_status::ContainerReports,
}

/// Why a source has no events.
#[derive(Debug)]
pub(super) enum Silence {
    /// No process listens there, as before kubelet 1.37.
    NotServed(String),
    /// The kubelet is starting.
    Starting(String),
    /// The source has stopped.
    Ended(String),
    /// Something is wrong.
    Failed(String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NotServed(text) | Self::Starting(text) | Self::Ended(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

impl From<PodsError> for Silence {
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

/// A source that can be asked.
pub(super) trait Source: Send {
    /// As a log names it.
    fn name(&self) -> &'static str;

    /// Whether it may be worth asking.
    fn may_be_there(&self) -> bool;

    /// All pods, and then each change.
    fn watch(&self) -> Result<Box<dyn Telling>, Silence>;
}

/// A stream of a source's events.
pub(super) trait Telling {
    /// The next event; `None`: nothing has happened within that time. The pods that there are come first, then
    /// [`Event::Complete`].
    fn next(&mut self, within: Duration) -> Result<Option<Event>, Silence>;
}
