//! Schedulers: how they are built, and their configurations.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use local_cluster::{Cluster, Extender, RELEASE};
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
    /// Kubernetes' own with `topolet scheduler` as its extender, which filters and scores nothing.
    TopoletFilter,
    /// The same with its score as it is deployed, in ten steps.
    Topolet,
    /// The same with the score in a hundred steps, by which room counts too.
    TopoletRoom,
}

impl Scheduler {
    pub(crate) const ALL: [Self; 6] = [
        Self::Default,
        Self::TopologyMatch,
        Self::TopologyMatchReserve,
        Self::TopoletFilter,
        Self::Topolet,
        Self::TopoletRoom,
    ];

    /// It is Kubernetes' own as it is released.
    const fn is_released(self) -> bool {
        !matches!(self, Self::TopologyMatch | Self::TopologyMatchReserve)
    }

    /// Starts the extender that it asks.
    pub(super) fn extender(self, cluster: &Cluster, program: &Path) -> anyhow::Result<Option<Extender>> {
        match self {
            Self::Default | Self::TopologyMatch | Self::TopologyMatchReserve => Ok(None),
            Self::TopoletFilter | Self::Topolet => Extender::start(cluster, program).map(Some),
            Self::TopoletRoom => Extender::start_with(cluster, program, &["--best-score=100"]).map(Some),
        }
    }

    /// What its `KubeSchedulerConfiguration` has, with what is deployed for the extender.
    pub(crate) fn configuration(self, extender: Option<&Extender>) -> anyhow::Result<String> {
        let Some(extender) = extender else { return Ok(self.own_configuration().to_owned()) };
        let deployed = extender.configuration();
        let (what, instead) = match self {
            Self::TopoletFilter => ("  prioritizeVerb: prioritize\n", ""),
            Self::TopoletRoom => ("  weight: 10\n", "  weight: 1\n"),
            _ => return Ok(deployed),
        };
        ensure!(deployed.contains(what), "the extender's configuration lacks {what:?}");
        Ok(deployed.replace(what, instead))
    }

    /// Builds it, unless it is built.
    pub(crate) fn build(self) -> anyhow::Result<()> {
        if self.is_released() {
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
        if self.is_released() {
            Release(RELEASE).program("kube-scheduler")
        } else {
            folder().join("bin/kube-scheduler")
        }
    }

    /// What its `KubeSchedulerConfiguration` has without an extender, as its documentation does it.
    const fn own_configuration(self) -> &'static str {
        match self {
            Self::Default | Self::TopoletFilter | Self::Topolet | Self::TopoletRoom => "",
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
            Self::TopoletFilter => {
                write!(f, "kube-scheduler {RELEASE} with the filter of `topolet scheduler` alone")
            }
            Self::Topolet => write!(f, "kube-scheduler {RELEASE} with `topolet scheduler`"),
            Self::TopoletRoom => {
                write!(f, "kube-scheduler {RELEASE} with `topolet scheduler --best-score 100`")
            }
        }
    }
}

fn folder() -> PathBuf {
    target().join("kubernetes").join(format!("scheduler-plugins-{PLUGINS}"))
}
