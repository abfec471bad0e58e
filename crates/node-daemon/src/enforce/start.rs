//! Who writes cgroups, and whether they can be written as it was asked for.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, bail};
use cgroup_cpuset::{Cgroups, Kernel};
use crossbeam::channel;

use super::isolation::{Isolation, kind_of};
use super::{CgroupRoot, Enforcer, Keeper, Orders, Shared, Unenforced, keep, run};

/// Who writes cgroups of `at`; if the host has none that can be written, that is said and nothing is, unless an option
/// needs them. What has to be known at the next start is in the folder `root`.
///
/// # Errors
/// Cgroups cannot be had, and they were asked for.
pub(crate) fn enforcer(
    at: &CgroupRoot,
    root: &Path,
    shared: &Arc<Shared>,
) -> anyhow::Result<Box<dyn Enforcer>> {
    let option = shared.node.options().partition;
    let kind = kind_of(option);
    let asked = format!("cgroup.partition: {}", option.name());
    if kind.is_some() && shared.node.node.cpus().is_none() {
        bail!("{asked} is of no use with cpuManagerPolicy: none, where no container has CPUs of its own");
    }
    let cgroups = match at {
        CgroupRoot::Off if kind.is_some() => bail!("{asked} needs cgroups, and --cgroup-root is off"),
        CgroupRoot::Off => {
            tracing::info!("CPUs of containers are not enforced, as it was asked for");
            return Ok(Box::new(Unenforced));
        }
        CgroupRoot::At(root) => Cgroups::on(Kernel, root)
            .with_context(|| format!("no containers can be kept on their CPUs below {}", root.display()))?,
        CgroupRoot::Usual => match Cgroups::live() {
            Ok(cgroups) => cgroups,
            Err(error) if kind.is_some() => return Err(error).context(format!("{asked} is not possible")),
            Err(error) => {
                tracing::warn!("CPUs of containers are not enforced: {error}");
                return Ok(Box::new(Unenforced));
            }
        },
    };
    if kind.is_some() {
        cgroups.can_partition().with_context(|| format!("{asked} is not possible"))?;
    }
    let isolation = Isolation::load(kind, root)
        .with_context(|| format!("failed to read the partitions of {}", root.display()))?;
    tracing::info!(root = %cgroups.root().display(), partition = option.name(), "CPUs of containers are enforced");
    let (sender, orders) = channel::unbounded();
    let shared = shared.clone();
    let mut keeper = Keeper::new(cgroups, isolation);
    if !keeper.isolation.is_off() {
        shared.metrics.counts_partition_faults();
    }
    thread::Builder::new().name("cgroups".to_owned()).spawn(move || {
        if !keeper.isolation.is_off() {
            // What ended meanwhile is let go before anybody gets its CPUs.
            keep(&mut keeper, &shared);
        }
        run(keeper, &orders, &shared);
    })?;
    Ok(Box::new(Orders(sender)))
}
