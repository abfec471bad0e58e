//! The sources of a kubelet's pods: the kubelet's pods API, else an API server, else the kubelet's HTTPS endpoint.
//!
//! Without any of them the manifests of static pods give names to some pods (`static_pods` beside this), and nothing else.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use node_view::clock::Clock;
use pods_api::{Event, PodsClient, SOCKET, Watch};

use super::source::{PodEvents, PodSources, Source, SourceError};

mod cluster;

/// How long a kubelet may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The sources for a kubelet's root folder, the best first.
pub(super) fn all(root: &Path, given: &PodSources, clock: &Arc<dyn Clock>) -> Vec<Box<dyn Source>> {
    let mut all: Vec<Box<dyn Source>> = vec![Box::new(PodsApi(root.join(SOCKET)))];
    all.extend(cluster::all(given, clock));
    all
}

/// The kubelet's pods API, from 1.37 on: its socket.
struct PodsApi(PathBuf);

impl Source for PodsApi {
    fn name(&self) -> &'static str {
        "the kubelet"
    }

    fn may_be_there(&self) -> bool {
        PodsClient::connect(&self.0, ANSWER).is_ok()
    }

    fn watch(&self) -> Result<Box<dyn PodEvents>, SourceError> {
        Ok(Box::new(PodsClient::connect(&self.0, ANSWER).and_then(PodsClient::watch)?))
    }
}

impl PodEvents for Watch {
    fn next(&mut self, within: Duration) -> Result<Option<Event>, SourceError> {
        Ok(Self::next(self, within)?)
    }
}
