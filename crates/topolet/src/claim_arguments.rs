//! By which objects and gates claims of devices are decided.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueHint};
use dra_model::Features;
use node_input::{ClaimsBeside, ObjectText, scheduler_features};

use crate::cluster_arguments::ClaimServerArguments;
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
