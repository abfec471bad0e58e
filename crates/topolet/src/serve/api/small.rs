//! The routes of a small node, for tests.

use std::num::NonZeroUsize;
use std::sync::mpsc;

use axum::Router;
use clap::Parser as _;
use node_agent::Owner;

use super::router;
use crate::arguments::{Arguments, Command};
use crate::node::{LoadedMachine, LoadedNode};
use crate::serve::shared::{Mode, Notes};

/// Pods that others may ask about at once.
pub(super) const EXPLAINED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

/// A node whose owner has stopped: what is well-formed comes as far as that.
pub(super) fn routes() -> Router {
    let words = ["topolet", "admit", "-f", "-", "--machine", "xeon-cxl-4node", "--config", "pinned"];
    let Ok(Arguments { command: Command::Admit(admit), .. }) = Arguments::try_parse_from(words) else {
        panic!("the arguments are right");
    };
    let parts = || -> anyhow::Result<_> {
        let machine = LoadedMachine::load(&admit.pods.machine)?;
        let node = LoadedNode::on(&machine, &admit.pods.rules, None)?;
        let ledger = node.empty_ledger();
        let snapshot = Owner::new(node.node.clone(), &ledger, []).snapshot();
        crate::serve::shared(node, &machine, snapshot, Mode::Serve, Notes::default())
    };
    let shared = parts().unwrap_or_else(|error| panic!("{error:#}"));
    let (owner, _) = mpsc::sync_channel(1);
    router(std::sync::Arc::new(shared), Some(owner), EXPLAINED)
}
