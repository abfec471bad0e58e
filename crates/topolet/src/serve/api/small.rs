//! A small node, for tests.

use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::Parser as _;
use node_agent::Owner;

use crate::arguments::{Arguments, Command};
use crate::node::{LoadedMachine, LoadedNode};
use crate::serve::shared::{Mode, Notes, Shared};

/// Pods that others may ask about at once.
pub(super) const EXPLAINED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

/// What readers share of it.
pub(super) fn shared() -> Arc<Shared> {
    let words = ["topolet", "admit", "-f", "-", "--machine", "xeon-cxl-4node", "--config", "pinned"];
    let Ok(Arguments { command: Command::Admit(admit), .. }) = Arguments::try_parse_from(words) else {
        panic!("the arguments are right");
    };
    let parts = || -> anyhow::Result<_> {
        let machine = LoadedMachine::load(&admit.pods.machine)?;
        let node = LoadedNode::on(&machine, &admit.pods.rules, None)?;
        let ledger = node.empty_ledger();
        let snapshot = Owner::new(node.node.clone(), &ledger, []).snapshot();
        crate::serve::shared(node, &machine, snapshot, Mode::Serve, Notes::default(), Arc::default())
    };
    Arc::new(parts().unwrap_or_else(|error| panic!("{error:#}")))
}

/// Its routes when its owner has stopped: what is well-formed comes as far as that.
#[cfg(test)]
pub(super) fn routes() -> axum::Router {
    let (owner, _) = crossbeam::channel::bounded(1);
    super::router(shared(), Some(owner), EXPLAINED)
}
