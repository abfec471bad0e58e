//! `topolet scheduler`: an extender of kube-scheduler.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use node_daemon::cluster_node::Access;
use node_daemon::{Log, in_small_pages};
use scheduler_service::Setup;

use super::serve::{Level, LogFormat};
use crate::outcome::Outcome;
use crate::render::Screen;

#[derive(Args, Debug)]
pub(crate) struct SchedulerArguments {
    /// How the API server is reached. It needs to list and watch pods, `nodestates` of `topolet.dev` and
    /// `noderesourcetopologies` of `topology.node.k8s.io`.
    #[arg(long, value_name = "FILE", required_unless_present = "in_cluster", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The same, as the service account of the pod that this runs in.
    #[arg(long, conflicts_with = "kubeconfig")]
    in_cluster: bool,
    /// Where kube-scheduler asks, as `extenders: [{urlPrefix: http://ADDRESS:PORT}]` of its configuration says: a loopback
    /// address.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10270")]
    address: SocketAddr,
    /// How many threads decide on nodes.
    #[arg(long, value_name = "COUNT", default_value = "2")]
    threads: NonZeroUsize,
    /// How long an answer may take, in milliseconds; nodes that have not been looked at by then are told. Less than the
    /// extender's `httpTimeout`.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    within: u64,
    /// How the log on standard error is written.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    logging_format: LogFormat,
    /// The least that a line of the log must matter.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: Level,
}

pub(super) fn run(arguments: &SchedulerArguments, screen: Screen) -> anyhow::Result<Outcome> {
    in_small_pages();
    let log = Log::start(arguments.logging_format.into(), arguments.log_level.into())?;
    let setup = Setup {
        access: arguments.kubeconfig.clone().map_or(Access::InCluster, Access::Kubeconfig),
        address: arguments.address,
        threads: arguments.threads,
        within: Duration::from_millis(arguments.within),
    };
    match scheduler_service::run(&setup) {
        Ok(()) => Ok(Outcome::Done),
        Err(error) => {
            log.end_with(move || screen.error(&error));
            Ok(Outcome::Failed)
        }
    }
}
