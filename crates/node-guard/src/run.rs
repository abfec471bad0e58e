//! The guard as a program: its files, its cgroups, and the connection to the runtime.

use std::path::PathBuf;

use cgroup_cpuset::{Cgroups, Kernel, NotUsable};
use nri_plugin::{IdentityError, OwnDeadline, Plugin, RunError, Stop};

use crate::guard::{Guard, Settings};
use crate::handler::GuardHandler;
use crate::place::Place;
use crate::records::{self, Shared};
use crate::report::Report;
use crate::state_view::StateFiles;

/// What a runtime calls it.
const NAME: &str = "topolet-guard";
/// An answer is given before; a kernel that holds up a write for so long makes the creation fail, and the kubelet tries
/// again.
const OWN_DEADLINE: OwnDeadline = OwnDeadline::Percent(90);

/// Where a guard finds what, and how it behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node.
    pub node: Place,
    /// Its index among the plugins, up to 99: a later one sees what those before it have set.
    pub index: u8,
    /// Where it reports.
    pub report: PathBuf,
    /// How it behaves.
    pub settings: Settings,
}

/// Why a guard does not run, or does not run any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// There are no cgroups that it can write.
    #[error("CPUs of containers cannot be changed")]
    Cgroups(#[source] Box<NotUsable>),
    /// Whether state files are of this boot is not known.
    #[error("{}/stat does not say when the machine started", .0.display())]
    NoBoot(PathBuf),
    /// Its index is none.
    #[error("the plugin cannot be called so")]
    Identity(#[from] IdentityError),
    /// The runtime refuses it.
    #[error("the runtime does not take the plugin")]
    Run(#[from] RunError),
}

/// Runs a guard until it is stopped; `begun` gets the handle that does so. Where no runtime listens it waits for one.
///
/// # Errors
/// There is nothing that it could write, or the runtime refuses it.
pub fn run(options: &Options, begun: impl FnOnce(Stop)) -> Result<(), GuardError> {
    let Place { kubelet, cgroups, socket, .. } = &options.node;
    let cgroups = match cgroups {
        None => Cgroups::live(),
        Some(root) => Cgroups::on(Kernel, root),
    };
    let cgroups = cgroups.map_err(|error| GuardError::Cgroups(Box::new(error)))?;
    let proc = options.node.proc();
    let booted = kubelet_process::boot_time(&proc).ok_or(GuardError::NoBoot(proc))?;
    let before = match Report::read(&options.report) {
        Ok(before) => before,
        Err(error) => {
            tracing::warn!("what an earlier guard took from containers is not known: {error}");
            None
        }
    };
    let state = StateFiles::new(kubelet, booted);
    tracing::info!("{}", StateFiles::new(kubelet, booted).read());
    let shared = Shared::new(Guard::new(state, cgroups, options.settings, before));
    let plugin = Plugin::new(NAME, options.index)?.socket(socket).own_deadline(OWN_DEADLINE);
    let stop = plugin.stop();
    begun(stop.clone());
    plugin.run_with(GuardHandler(&shared), |updater| {
        records::run(&shared, updater, kubelet, &options.report, &stop);
    })?;
    Ok(())
}
