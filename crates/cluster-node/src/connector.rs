//! How a connection to an API server is made, and made again: credentials are renewed in files.

use std::fmt;
use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::connection::{Access, Cluster};
use crate::error::ClusterError;

type Connect = dyn Fn() -> Result<Cluster, ClusterError> + Send + Sync;

/// A node as an API server knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeInCluster {
    /// How the API server is reached.
    pub access: Access,
    /// The node's name there.
    pub node: String,
}

/// Makes connections to an API server, for callers that have to make them again.
#[derive(Clone)]
pub struct Connector {
    connect: Arc<Connect>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

impl From<Access> for Connector {
    fn from(access: Access) -> Self {
        Self::new(Arc::new(SystemClock), move || Cluster::new(&access))
    }
}

impl Connector {
    /// One that calls a function for each connection; `clock` is for what uses these.
    pub fn new(
        clock: Arc<dyn Clock>,
        connect: impl Fn() -> Result<Cluster, ClusterError> + Send + Sync + 'static,
    ) -> Self {
        Self { connect: Arc::new(connect), clock }
    }

    /// A connection by what is in the files now. Nothing is sent yet.
    ///
    /// # Errors
    /// As of [`Cluster::new`].
    pub fn connect(&self) -> Result<Cluster, ClusterError> {
        (self.connect)()
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
