//! The next start of a kubelet on a machine that has changed since its last one.

use std::sync::Arc;

use node_config::KubeletConfiguration;
use topology_admission::{Compat, Node};
use topology_model::{KubeletView, MachineInfo};

/// What the machine as it is now makes of a node at its kubelet's next start.
#[derive(Clone)]
pub(crate) struct NextStart {
    /// That the machine has changed, as text to be shown.
    pub(crate) note: String,
    /// The node that starts, or why it does not.
    pub(crate) node: Result<Arc<Node>, String>,
}

/// The node with which a kubelet of this configuration starts on a machine.
///
/// # Errors
/// The kubelet's error.
pub(crate) fn started(machine: &MachineInfo, config: &KubeletConfiguration) -> Result<Arc<Node>, String> {
    let view = KubeletView::new(machine).map_err(|error| error.to_string())?;
    let node = Node::start_as(&view, config, Compat::KUBELET).map_err(|error| error.to_string())?;
    Ok(Arc::new(node))
}
