//! All nodes for people: a request lists them, at most one every two seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster_node::{Clock, Connector};
use cluster_overview::{ClusterObjects, ClusterOverview};
use jiff::Timestamp;
use parking_lot::Mutex;

/// For how long the nodes are shown as they were.
const FRESH: Duration = Duration::from_secs(2);

/// The nodes as they were listed last.
pub(crate) struct Overviews {
    connector: Connector,
    last: Mutex<Option<(Instant, Arc<ClusterOverview>)>>,
    /// Held by who lists them.
    listing: Mutex<()>,
}

impl Overviews {
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, last: Mutex::default(), listing: Mutex::default() }
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        self.connector.clock()
    }

    fn last(&self, within: Duration) -> Option<Arc<ClusterOverview>> {
        let last = self.last.lock();
        let (at, overview) = last.as_ref()?;
        let age = self.clock().now().saturating_duration_since(*at);
        (age < within).then(|| overview.clone())
    }

    /// The nodes now, or as they were while another thread lists them.
    ///
    /// # Errors
    /// The API server is not reached, or nodes may not be listed.
    pub(crate) fn now(&self) -> Result<Arc<ClusterOverview>, String> {
        if let Some(fresh) = self.last(FRESH) {
            return Ok(fresh);
        }
        let _listing = match self.listing.try_lock() {
            Some(listing) => listing,
            None => match self.last(Duration::MAX) {
                Some(former) => return Ok(former),
                None => self.listing.lock(),
            },
        };
        if let Some(fresh) = self.last(FRESH) {
            return Ok(fresh);
        }
        let seconds = i64::try_from(self.clock().since_1970().as_secs()).ok();
        let now = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_default();
        let listed = self.connector.connect().and_then(|cluster| ClusterObjects::listed(&cluster, None, now));
        let objects = listed.map_err(|error| format!("the nodes cannot be listed: {error}"))?;
        let overview = Arc::new(ClusterOverview::new(&objects));
        *self.last.lock() = Some((self.clock().now(), overview.clone()));
        Ok(overview)
    }
}
