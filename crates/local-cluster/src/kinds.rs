//! Kinds of objects that a cluster has to be given first.

use crate::Cluster;

/// A kind of `deploy/crd`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// What NUMA-aware schedulers read.
    NodeResourceTopology,
    /// What `topolet scheduler` reads.
    NodeState,
}

impl Kind {
    const fn definition(self) -> &'static str {
        match self {
            Self::NodeResourceTopology => {
                include_str!("../../../deploy/crd/topology.node.k8s.io_noderesourcetopologies.yaml")
            }
            Self::NodeState => include_str!("../../../deploy/crd/topolet.dev_nodestates.yaml"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::NodeResourceTopology => "crd/noderesourcetopologies.topology.node.k8s.io",
            Self::NodeState => "crd/nodestates.topolet.dev",
        }
    }
}

impl Cluster {
    /// Installs kinds, and waits until the API server takes objects of them.
    ///
    /// # Errors
    /// kubectl fails, with what it says.
    pub fn define(&self, kinds: &[Kind]) -> anyhow::Result<()> {
        for kind in kinds {
            self.apply(kind.definition())?;
            self.kubectl(&["wait", "--for=condition=Established", kind.name(), "--timeout=30s"])?;
        }
        Ok(())
    }
}
