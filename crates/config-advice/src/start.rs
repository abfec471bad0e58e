//! Whether a kubelet starts with a configuration.

use node_config::KubeletConfiguration;
use topology_admission::{Compat, Node};
use topology_model::KubeletView;

/// Whether a kubelet starts with it.
pub(crate) fn starts(config: &KubeletConfiguration, view: &KubeletView) -> bool {
    config.validate().is_empty() && Node::start_as(view, config, Compat::KUBELET).is_ok()
}
