//! The arguments of `cluster_arguments.rs` for a build that has no client for API servers: none.

use clap::Args;
use node_input::ObjectText;
#[cfg(feature = "serve")]
use {node_daemon::PodSources, node_input::IdentitySource};

use crate::screen::Screen;

/// No API server, and no endpoint of a kubelet.
#[cfg(feature = "serve")]
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PodSourceArguments {}

#[cfg(feature = "serve")]
impl PodSourceArguments {
    /// None.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with the feature")]
    pub(crate) fn sources(&self, identity: &IdentitySource) -> anyhow::Result<PodSources> {
        let name = identity.node_name.clone().or_else(crate::arguments::host_name);
        Ok(PodSources { node_name: name.unwrap_or_default() })
    }

    /// There is none.
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn joins(&self) -> bool {
        false
    }

    /// There is none.
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn has_cluster(&self) -> bool {
        false
    }
}

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
