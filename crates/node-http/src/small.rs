//! A small node, for tests.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crossbeam::channel::Sender;
use node_agent::Owner;
use node_input::{LoadedMachine, LoadedNode, MachineSource, PINNED, RulesSource};
use node_view::clock::SystemClock;
use node_view::{Message, Mode, NodeConditions, NodeView, ServedNode};

use super::node::NodeControl;

/// Pods that others may ask about at once.
pub(super) const EXPLAINED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

/// What readers see of it.
pub(super) fn view() -> NodeView {
    let parts = || -> anyhow::Result<_> {
        let machine = LoadedMachine::load(&MachineSource::named("xeon-cxl-4node"))?;
        let node = LoadedNode::without_devices(
            &machine,
            &RulesSource { config: Some(PINNED.to_owned()), ..RulesSource::default() },
        )?;
        let ledger = node.empty_ledger();
        let snapshot = Owner::new(node.node.clone(), &ledger, []).snapshot();
        let served = ServedNode::new(node, &machine, Mode::Serve, Vec::new())?;
        Ok(NodeView::new(served, snapshot, Arc::new(NodeConditions::new(Arc::new(SystemClock)))).0)
    };
    parts().unwrap_or_else(|error| panic!("{error:#}"))
}

/// What changes it, through this owner.
pub(super) fn control(owner: Sender<Message>) -> NodeControl {
    NodeControl { owner, news: Arc::default(), cgroups: None }
}

/// Its routes when its owner has stopped: what is well-formed comes as far as that.
#[cfg(test)]
pub(super) fn routes() -> axum::Router {
    let (owner, _) = crossbeam::channel::bounded(1);
    super::router(view(), Some(control(owner)), EXPLAINED)
}
