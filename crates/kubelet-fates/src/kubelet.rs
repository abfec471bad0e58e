//! The kubelet of a node: its rules, machine and configuration.

use node_config::KubeletConfiguration;
use topology_admission::{Node, Searches};
use topology_model::KubeletView;

/// A kubelet of which something is asked.
#[derive(Clone, Copy)]
pub struct Kubelet<'a> {
    /// Its rules.
    pub node: &'a Node,
    /// The machine.
    pub view: &'a KubeletView,
    /// Its configuration.
    pub config: &'a KubeletConfiguration,
}

impl<'a> Kubelet<'a> {
    /// The kubelet that decides on a node; `None`: another program does, or the node was not
    /// [started](Node::start) from a machine and a configuration.
    #[must_use]
    pub fn of(node: &'a Node) -> Option<Self> {
        let origin = node.origin()?;
        let decides = node.compat().searches == Searches::AsTheKubelet;
        decides.then_some(Self { node, view: &origin.view, config: &origin.config })
    }
}
