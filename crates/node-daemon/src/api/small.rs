//! A small node, for tests.

use std::num::NonZeroUsize;
use std::sync::Arc;

use node_agent::Owner;
use node_input::{LoadedMachine, LoadedNode, MachineSource, PINNED, RulesSource};

use crate::shared::{Mode, Shared};

/// Pods that others may ask about at once.
pub(super) const EXPLAINED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

/// What readers share of it.
pub(super) fn shared() -> Arc<Shared> {
    let parts = || -> anyhow::Result<_> {
        let machine = LoadedMachine::load(&MachineSource::named("xeon-cxl-4node"))?;
        let node = LoadedNode::on(
            &machine,
            &RulesSource { config: Some(PINNED.to_owned()), ..RulesSource::default() },
            None,
        )?;
        let ledger = node.empty_ledger();
        let snapshot = Owner::new(node.node.clone(), &ledger, []).snapshot();
        crate::shared(node, &machine, snapshot, Mode::Serve, Vec::new(), Arc::default())
    };
    Arc::new(parts().unwrap_or_else(|error| panic!("{error:#}")))
}

/// Its routes when its owner has stopped: what is well-formed comes as far as that.
#[cfg(test)]
pub(super) fn routes() -> axum::Router {
    let (owner, _) = crossbeam::channel::bounded(1);
    super::router(shared(), Some(owner), EXPLAINED)
}
