//! Starts the thread that writes cgroups, if this host has cgroups that the configuration needs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, bail};
use cgroup_cpuset::{Cgroups, Files, Kernel};
use crossbeam::channel;
use node_config::CpuPartition;
use node_input::LoadedNode;
use node_view::clock::Clock;

use super::isolation::{self, CgroupCpus, Isolation, kind_of};
use super::keeper::Keeper;
use super::quiet::Quiet;
use super::watched::{PATIENCE, Watched, end};
use super::{CgroupRoot, EnforcedNode, Enforcer, Orders, Unenforced, round, run};

/// The cgroups at `at` that containers of a node are kept in. `None`: they are switched off, or this host has none that can be
/// written; the log has the reason.
///
/// # Errors
/// The named folder has no cgroups, or they lack what the node's options need.
pub fn open(at: &CgroupRoot, node: &LoadedNode) -> anyhow::Result<Option<Cgroups<Kernel>>> {
    let option = node.options().partition;
    let is_needed = option != CpuPartition::None;
    let asked = format!("cgroup.partition: {}", option.name());
    if is_needed && node.node.cpus().is_none() {
        bail!("{asked} has no effect with cpuManagerPolicy: none: no container gets exclusive CPUs");
    }
    let cgroups = match at {
        CgroupRoot::Off if is_needed => bail!("{asked} needs cgroups, and --cgroup-root is off"),
        CgroupRoot::Off => {
            tracing::info!("CPUs of containers are not enforced, as it was asked for");
            return Ok(None);
        }
        CgroupRoot::At(root) => {
            let none = || format!("no containers can be kept on their CPUs below {}", root.display());
            Cgroups::on(Kernel, root).with_context(|| if is_needed { impossible(&asked) } else { none() })?
        }
        CgroupRoot::Usual => match Cgroups::live() {
            Ok(cgroups) => cgroups,
            Err(error) if is_needed => return Err(error).context(impossible(&asked)),
            Err(error) => {
                tracing::warn!("CPUs of containers are not enforced: {error}");
                return Ok(None);
            }
        },
    };
    if is_needed {
        cgroups.can_partition().with_context(|| impossible(&asked))?;
    }
    Ok(Some(cgroups))
}

fn impossible(asked: &str) -> String {
    format!("{asked} is not possible on this host")
}

/// Starts the thread that writes these cgroups, of the kernel whose `/proc` is at `proc`. Partitions and moved interrupts are
/// recorded in the folder `root`, for the next start.
///
/// # Errors
/// The records of an earlier start cannot be read.
pub fn enforcer(
    cgroups: Option<Cgroups<Kernel>>,
    root: &Path,
    proc: &Path,
    kept: EnforcedNode,
) -> anyhow::Result<Box<dyn Enforcer>> {
    let options = kept.served.node.options();
    let no_partitions = || format!("failed to read the partitions of {}", root.display());
    let at = cgroups.as_ref().map(Cgroups::root);
    let isolation = at.map(|at| Isolation::load(kind_of(options.partition), root, at, kept.clock.clone()));
    let isolation = isolation.transpose().with_context(no_partitions)?;
    let kernel = Watched::start(Kernel, PATIENCE, end)?;
    let was_elsewhere =
        release_elsewhere(kernel.clone(), root, at, &kept.clock).with_context(no_partitions)?;
    let mut quiet = Quiet::load(kernel.clone(), proc, options.interrupts, root)
        .with_context(|| format!("failed to read the moved interrupts of {}", root.display()))?;
    let (Some(cgroups), Some(isolation)) = (cgroups, isolation) else {
        quiet.give_back();
        return Ok(Box::new(Unenforced));
    };
    if was_elsewhere && let Err(error) = isolation.keep() {
        tracing::warn!("failed to write the partitions to {}: {error}", root.display());
    }
    tracing::info!(root = %cgroups.root().display(), "CPUs of containers are enforced");
    let (sender, orders) = channel::unbounded();
    let cgroups = Cgroups::on(kernel, cgroups.root()).context("cgroups are gone")?;
    let mut keeper = Keeper::new(cgroups, isolation, quiet, kept.clock.clone());
    if !keeper.is_off() {
        kept.metrics.counts_partitions();
    }
    thread::Builder::new().name("cgroups".to_owned()).spawn(move || {
        // Partitions of containers that have ended or moved since are released before their CPUs go to others.
        round(&mut keeper, Vec::new(), &kept);
        run(keeper, &orders, &kept);
    })?;
    Ok(Box::new(Orders(sender)))
}

/// Releases the partitions that an earlier start made below another root of cgroups than `now`; `None`: cgroups are off now.
/// The log names those that cannot be released. Returns whether there were any.
///
/// # Errors
/// The file of partitions in `folder` cannot be read.
pub(super) fn release_elsewhere<F: Files>(
    files: F,
    folder: &Path,
    now: Option<&Path>,
    clock: &Arc<dyn Clock>,
) -> io::Result<bool> {
    let Some(earlier) = Isolation::made_below(folder)?.filter(|earlier| now != Some(earlier)) else {
        return Ok(false);
    };
    match Cgroups::on(files, &earlier) {
        Ok(cgroups) => {
            let mut isolation = Isolation::load(None, folder, &earlier, clock.clone())?;
            let (problems, kept) = isolation.release(&cgroups, &CgroupCpus::new());
            problems.iter().for_each(isolation::PartitionProblem::log);
            if kept.is_empty() {
                tracing::info!(root = %earlier.display(), "partitions of an earlier start are released");
            }
        }
        Err(error) => tracing::error!("partitions of an earlier start are not released: {error}"),
    }
    Ok(true)
}
