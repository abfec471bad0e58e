//! By which objects and gates claims of devices are decided.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueHint};
use dra_model::Features;
use node_input::{ClaimsBeside, ObjectText, scheduler_features};
#[cfg(feature = "kubernetes")]
use {
    admission_report::Notice,
    node_daemon::cluster_node::{Access, ClaimKind, Cluster, KubectlAccess},
    node_input::Listener as _,
};

use crate::screen::Screen;

/// How claims of devices are decided.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimArguments {
    /// Feature gates of kube-scheduler by which claims of devices are decided, beside its defaults: NAME=true,NAME=false.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    pub(crate) feature_gates: Vec<String>,
    #[command(flatten)]
    pub(crate) server: ClaimServerArguments,
}

/// Which slices and device classes a node has.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimsBesideArguments {
    /// Slices and device classes, as `kubectl get resourceslices,deviceclasses -o yaml` prints them, beside those of a node file:
    /// reports a CPU driver beside a static CPU manager, and a device class for a resource that a device plugin has too. Can
    /// be given more than once.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) claims: Vec<PathBuf>,
    /// What slices call the node; without it the one node that they name.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
}

impl ClaimsBesideArguments {
    /// Reads them.
    pub(crate) fn read(&self) -> anyhow::Result<ClaimsBeside> {
        ClaimsBeside::of_files(&self.claims, self.node_name.clone())
    }
}

/// Where the slices, classes and claims of a cluster are listed.
#[cfg(feature = "kubernetes")]
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimServerArguments {
    /// Takes slices, device classes, claims and templates of claims from the API server that this file names, beside those of
    /// files, which replace objects of the same name. It needs the rights of deploy/claims/rights.yaml.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The same with this context of the kubeconfig. Without --kubeconfig it is one of KUBECONFIG, else of ~/.kube/config.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
}

/// No API server is asked.
#[cfg(not(feature = "kubernetes"))]
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimServerArguments {}

impl ClaimArguments {
    /// The gates that are on.
    pub(crate) fn features(&self) -> anyhow::Result<Features> {
        let features = scheduler_features(self.feature_gates.iter().map(String::as_str));
        features.context("--feature-gates")
    }

    /// What the API server has, as texts; nothing if none is named.
    pub(crate) fn listed(&self, screen: Screen) -> anyhow::Result<Vec<ObjectText>> {
        self.server.listed(screen)
    }

    /// The first of these options that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let own = (!self.feature_gates.is_empty()).then_some("--feature-gates");
        own.or_else(|| self.server.given())
    }
}

#[cfg(feature = "kubernetes")]
impl ClaimServerArguments {
    pub(crate) fn listed(&self, screen: Screen) -> anyhow::Result<Vec<ObjectText>> {
        if self.given().is_none() {
            return Ok(Vec::new());
        }
        let Self { kubeconfig, context } = self.clone();
        let cluster = Cluster::new(&Access::Kubectl(KubectlAccess { kubeconfig, context }))?;
        let server = cluster.server();
        let lists = screen.during(&format!("reading claims of {server}"), || cluster.claim_lists())?;
        if let Some(error) = lists.without_taint_rules {
            screen.warn(Notice::warning(format!(
                "devicetaintrules of {server} are not looked at: {error}; kube-scheduler decides otherwise where a rule taints \
                 a device"
            )));
        }
        let text = |(kind, list): (ClaimKind, _)| {
            ObjectText::of_list(format!("{} of {server}", kind.resource()), &list)
        };
        lists.pages.into_iter().map(text).collect()
    }

    pub(crate) fn given(&self) -> Option<&'static str> {
        let kubeconfig = self.kubeconfig.as_ref().map(|_| "--kubeconfig");
        kubeconfig.or_else(|| self.context.as_ref().map(|_| "--context"))
    }
}

#[cfg(not(feature = "kubernetes"))]
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
