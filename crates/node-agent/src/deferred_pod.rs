//! A pod that waits for device plugins.

use std::sync::Arc;

use node_state::Source;
use pod_spec::Pod;
use topology_admission::Deferral;

/// A pod that waits for device plugins which are not back yet.
#[derive(Clone, Debug)]
pub struct DeferredPod {
    /// The pod as it was asked for.
    pub pod: Arc<Pod>,
    /// The request or the file that asked for it.
    pub source: Source,
    /// What it waits for.
    pub deferral: Deferral,
}
