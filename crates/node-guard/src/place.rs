//! Where the parts of a node are.

use std::path::PathBuf;

/// A node, by the paths at which this process sees it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The root of the node's files: `/`, or where it is mounted. Configurations of runtimes and `/proc` are below it.
    pub root: PathBuf,
    /// The kubelet's folder.
    pub kubelet: PathBuf,
    /// The hierarchy of cgroups; `None`: that of the running kernel.
    pub cgroups: Option<PathBuf>,
    /// The NRI socket of the runtime.
    pub socket: PathBuf,
}

impl Place {
    /// The `/proc` that knows when the machine started.
    pub(crate) fn proc(&self) -> PathBuf {
        self.root.join("proc")
    }
}
