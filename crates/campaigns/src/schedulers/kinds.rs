//! Schedulers: how they are built, and their configurations.

use std::fmt;
use std::path::PathBuf;

use local_cluster::RELEASE;
use workspace_tools::kubernetes::{Cache, GoModule, Release};
use workspace_tools::workspace::target;

/// The release of the scheduler plugins.
const PLUGINS: &str = "0.34.7";
/// The release of Kubernetes that they are built on.
const KUBERNETES: &str = "1.34.7";
const MODULE: &str = "sigs.k8s.io/scheduler-plugins";

/// A scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Scheduler {
    /// Kubernetes' own, which knows sums.
    Default,
    /// That of the scheduler plugins with `NodeResourceTopologyMatch`, which reads the objects as they are.
    TopologyMatch,
    /// The same with its cache: what it has sent to a node counts there until the node's object tells so.
    TopologyMatchReserve,
    /// Kubernetes' own with `topolet scheduler` as its extender.
    Topolet,
}

impl Scheduler {
    pub(crate) const ALL: [Self; 4] =
        [Self::Default, Self::TopologyMatch, Self::TopologyMatchReserve, Self::Topolet];

    /// Builds it, unless it is built.
    pub(crate) fn build(self) -> anyhow::Result<()> {
        if matches!(self, Self::Default | Self::Topolet) {
            return Release(RELEASE).build("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler");
        }
        // Its module names a patch release of a library of volumes that module proxies do not all have.
        let published =
            |line: &str| line.replace("csi-translation-lib v0.34.7", "csi-translation-lib v0.34.5");
        let module = GoModule { folder: folder(), path: MODULE, version: PLUGINS, cache: Cache::OfUser };
        module.build(
            &format!("{MODULE}/cmd/scheduler"),
            &self.program(),
            &Release(KUBERNETES).variables(),
            published,
        )
    }

    /// The program that [`Self::build`] has built.
    pub(crate) fn program(self) -> PathBuf {
        match self {
            Self::Default | Self::Topolet => Release(RELEASE).program("kube-scheduler"),
            Self::TopologyMatch | Self::TopologyMatchReserve => folder().join("bin/kube-scheduler"),
        }
    }

    /// What its `KubeSchedulerConfiguration` has, as its documentation does it; beside that of an extender.
    pub(crate) const fn configuration(self) -> &'static str {
        match self {
            Self::Default | Self::Topolet => "",
            Self::TopologyMatch => {
                "profiles:\n- schedulerName: default-scheduler\n  plugins:\n    multiPoint:\n      enabled:\n      - name: \
                 NodeResourceTopologyMatch\n    reserve:\n      disabled:\n      - name: NodeResourceTopologyMatch\n  \
                 pluginConfig:\n  - name: NodeResourceTopologyMatch\n    args:\n      scoringStrategy: {type: \
                 LeastAllocated}\n"
            }
            Self::TopologyMatchReserve => {
                "profiles:\n- schedulerName: default-scheduler\n  plugins:\n    multiPoint:\n      enabled:\n      - name: \
                 NodeResourceTopologyMatch\n  pluginConfig:\n  - name: NodeResourceTopologyMatch\n    args:\n      \
                 scoringStrategy: {type: LeastAllocated}\n      cacheResyncPeriodSeconds: 5\n"
            }
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "kube-scheduler {RELEASE}"),
            Self::TopologyMatch => write!(f, "scheduler-plugins {PLUGINS}"),
            Self::TopologyMatchReserve => write!(f, "scheduler-plugins {PLUGINS}, with its cache"),
            Self::Topolet => write!(f, "kube-scheduler {RELEASE} with `topolet scheduler`"),
        }
    }
}

fn folder() -> PathBuf {
    target().join("kubernetes").join(format!("scheduler-plugins-{PLUGINS}"))
}
