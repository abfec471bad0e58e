//! The arguments of `cluster_arguments.rs` for a build that has no client for API servers: none.

use clap::Args;
use node_input::ObjectText;

use crate::screen::Screen;

/// No API server is asked.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimServerArguments {}

impl ClaimServerArguments {
    /// None is asked.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with the feature")]
    pub(crate) fn listed(&self, _: Screen) -> anyhow::Result<Vec<ObjectText>> {
        Ok(Vec::new())
    }

    /// There are none.
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn given(&self) -> Option<&'static str> {
        None
    }
}
